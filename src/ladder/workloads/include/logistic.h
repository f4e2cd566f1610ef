/* The logistic function 1 / (1 + exp(-z)) on vectors: without -ffast-math gcc calls no vector function of libm. exp(x)
   is computed as in Cephes (https://netlib.org/cephes): x = n ln 2 + r with integer n and |r| <= ln 2 / 2, where ln 2
   is split in two parts so that r is exact to the last bit. exp(r) is its Taylor polynomial, truncated where the
   remainder is below half a unit in the last place, and 2^n is written into the exponent's bits. */
#pragma once
#include "tile.h"

#if FLOAT64
typedef long Integers __attribute__((vector_size(VECTOR)));
#define MAX_EXPONENT 708
#define LN2_HIGH 0.693147180369123816490
#define LN2_LOW 1.90821492927058770002e-10
#define MANTISSA_BITS 52
#define BIAS 1023
#define DEGREE 13 /* of the polynomial */
#else
typedef int Integers __attribute__((vector_size(VECTOR)));
#define MAX_EXPONENT 87
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f
#define MANTISSA_BITS 23
#define BIAS 127
#define DEGREE 7
#endif

/* A vector with `value` in all elements. */
static inline Vector broadcast(REAL value)
{
    return value - (Vector){};
}

/* Select element by element: `first` where the mask `is_first` is set, else `second`. */
static inline Vector blend(Integers is_first, Vector first, Vector second)
{
    return (Vector)((is_first & (Integers)first) | (~is_first & (Integers)second));
}

/* The coefficients of the Taylor polynomial: 1 / k! */
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

/* The logistic function of a vector. The argument of exp is clamped, so that its result is a normal number. */
static inline Vector logistic_of(Vector z)
{
    const REAL max_exponent = MAX_EXPONENT, inverse_ln2 = 1.44269504088896340736;
    Vector x = -z;
    x = blend(x > max_exponent, broadcast(max_exponent), x);
    x = blend(x < -max_exponent, broadcast(-max_exponent), x);
    /* Round to nearest: the biased number is positive, so that the conversion's truncation rounds down. */
    const Integers n = __builtin_convertvector(x * inverse_ln2 + (REAL)(BIAS + 0.5), Integers) - BIAS;
    const Vector real_n = __builtin_convertvector(n, Vector);
    const Vector r = (x - real_n * (REAL)LN2_HIGH) - real_n * (REAL)LN2_LOW;
    Vector exponential = broadcast(TAYLOR[DEGREE]);
#pragma GCC unroll 16
    for (int k = DEGREE - 1; k >= 0; k--)
        exponential = exponential * r + TAYLOR[k];
    return 1 / (1 + exponential * (Vector)((n + BIAS) << MANTISSA_BITS));
}

/* The logistic function of values (count) in place; they are aligned to vectors, and `count` is a multiple of LANES. */
static inline void logistic(REAL *values, long count)
{
    for (Vector *vector = (Vector *)values; vector < (Vector *)(values + count); vector++)
        *vector = logistic_of(*vector);
}
