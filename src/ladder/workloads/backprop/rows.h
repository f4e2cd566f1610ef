/* The loops over one pattern's units, on rows without aliases, with loop invariants in variables. SIMD is the
   tuning `simd` of openmp.py, undefined and hence 0 in other programs. */
#pragma once
#include "network.h"

#if SIMD
#define OMP_SIMD _Pragma("omp simd")
#else
#define OMP_SIMD /* the compiler decides */
#endif

/* z (fan_out) = W (fan_in + 1, fan_out)^T activation (fan_in), with the bias in row 0 of W. */
static inline void weighted_sums(REAL *restrict z, const REAL *restrict activation, const REAL *restrict w,
                                 long fan_in, long fan_out)
{
    OMP_SIMD
    for (long j = 0; j < fan_out; j++)
        z[j] = w[j];
    for (long i = 0; i < fan_in; i++) {
        const REAL x = activation[i], *restrict row = w + (i + 1) * fan_out;
        OMP_SIMD
        for (long j = 0; j < fan_out; j++)
            z[j] += x * row[j];
    }
}

/* z (width) <- sigmoid(z). */
static inline void apply_sigmoid(REAL *restrict z, long width)
{
    OMP_SIMD
    for (long j = 0; j < width; j++)
        z[j] = sigmoid(z[j]);
}

/* delta_below (fan_in) = W delta (fan_out), times o (1 - o) for each element o of out (fan_in); W (fan_in + 1, fan_out)
   without row 0. */
static inline void backpropagate(REAL *restrict delta_below, const REAL *restrict out, const REAL *restrict delta,
                                 const REAL *restrict w, long fan_in, long fan_out)
{
    for (long i = 0; i < fan_in; i++) {
        const REAL *restrict row = w + (i + 1) * fan_out, o = out[i];
        REAL total = 0;
        for (long j = 0; j < fan_out; j++)
            total += delta[j] * row[j];
        delta_below[i] = total * o * (1 - o);
    }
}

/* rows (end - first, fan_out), from row `first` of dW on, += these rows of activation delta^T; row 0 of dW is that of
   the bias. */
static inline void add_outer_product_rows(REAL *restrict rows, const REAL *restrict activation,
                                          const REAL *restrict delta, long first, long end, long fan_out)
{
    for (long i = first; i < end; i++) {
        const REAL x = i ? activation[i - 1] : 1;
        REAL *restrict row = rows + (i - first) * fan_out;
        OMP_SIMD
        for (long j = 0; j < fan_out; j++)
            row[j] += x * delta[j];
    }
}

/* dW (fan_in + 1, fan_out) += factor activation (fan_in) delta (fan_out)^T. */
static inline void add_outer_product(REAL *restrict dw, const REAL *restrict activation, const REAL *restrict delta,
                                     REAL factor, long fan_in, long fan_out)
{
    for (long i = 0; i <= fan_in; i++) {
        const REAL x = factor * (i ? activation[i - 1] : 1);
        REAL *restrict row = dw + i * fan_out;
        OMP_SIMD
        for (long j = 0; j < fan_out; j++)
            row[j] += x * delta[j];
    }
}

/* values (count) <- factor values. */
static inline void scale(REAL *restrict values, REAL factor, long count)
{
    OMP_SIMD
    for (long i = 0; i < count; i++)
        values[i] *= factor;
}

/* values (count) <- values + increments (count). */
static inline void add(REAL *restrict values, const REAL *restrict increments, long count)
{
    OMP_SIMD
    for (long i = 0; i < count; i++)
        values[i] += increments[i];
}

/* The number of a layer's weights, with the bias. */
static inline long weight_count(const Network *net, long layer)
{
    return (net->widths[layer - 1] + 1) * net->widths[layer];
}
