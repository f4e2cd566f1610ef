/* 1 / (1 + exp(-z)) on vectors, since without fast mathematics gcc calls no vector function of libm. exp(x) as in
   Cephes (https://netlib.org/cephes): x = n ln 2 + r with integer n and |r| <= ln 2 / 2, where ln 2 is split in two
   parts so that r is exact to the last bit; exp(r) is its Taylor polynomial, truncated where the remainder is below
   half a unit in the last place; and 2^n is written into the exponent's bits. */
#pragma once
#include "tile.h"

#if FLOAT64
typedef long Whole __attribute__((vector_size(VECTOR)));
#define MAX_EXPONENT 708
#define LN2_HIGH 0.693147180369123816490
#define LN2_LOW 1.90821492927058770002e-10
#define MANTISSA 52
#define BIAS 1023
#define DEGREE 13
#else
typedef int Whole __attribute__((vector_size(VECTOR)));
#define MAX_EXPONENT 87
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f
#define MANTISSA 23
#define BIAS 127
#define DEGREE 7
#endif

/* A vector whose elements all are `value`. */
static inline Vector all(REAL value)
{
    return value - (Vector){};
}

/* Select element by element: `first` where the mask `is_first` is set, else `second`. */
static inline Vector chosen(Whole is_first, Vector first, Vector second)
{
    return (Vector)((is_first & (Whole)first) | (~is_first & (Whole)second));
}

/* 1 / k! */
static const REAL TAYLOR[] = {1,
                              1,
                              1. / 2,
                              1. / 6,
                              1. / 24,
                              1. / 120,
                              1. / 720,
                              1. / 5040,
                              1. / 40320,
                              1. / 362880,
                              1. / 3628800,
                              1. / 39916800,
                              1. / 479001600,
                              1. / 6227020800};

/* The argument of exp is clamped, so that its result is a normal number. */
static inline Vector logistic_of(Vector z)
{
    const REAL max_exponent = MAX_EXPONENT, per_ln2 = 1.44269504088896340736;
    Vector x = -z;
    x = chosen(x > max_exponent, all(max_exponent), x);
    x = chosen(x < -max_exponent, all(-max_exponent), x);
    /* Round to nearest: the biased number is positive, so that the conversion's truncation rounds down. */
    const Whole n = __builtin_convertvector(x * per_ln2 + (REAL)(BIAS + 0.5), Whole) - BIAS;
    const Vector whole = __builtin_convertvector(n, Vector);
    const Vector rest = (x - whole * (REAL)LN2_HIGH) - whole * (REAL)LN2_LOW;
    Vector exponential = all(TAYLOR[DEGREE]);
#pragma GCC unroll 16
    for (int k = DEGREE - 1; k >= 0; k--)
        exponential = exponential * rest + TAYLOR[k];
    return 1 / (1 + exponential * (Vector)((n + BIAS) << MANTISSA));
}

/* The logistic function of values (count), in place: aligned, and a multiple of LANES. */
static inline void logistic(REAL *values, long count)
{
    for (Vector *each = (Vector *)values; each < (Vector *)(values + count); each++)
        *each = logistic_of(*each);
}
