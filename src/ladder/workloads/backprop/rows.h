/* The loops over one pattern's units, on rows without aliases, with loop invariants in variables. */
#pragma once
#include "network.h"

#if SIMD
#define VECTORISED _Pragma("omp simd")
#else
#define VECTORISED /* left to the compiler */
#endif

/* z (fan_out) = W (fan_in + 1, fan_out)^T activation (fan_in), with the bias in row 0 of W. */
static inline void weighted_sums(REAL *restrict z, const REAL *restrict below, const REAL *restrict w, long fan_in,
                                 long fan_out)
{
    VECTORISED
    for (long j = 0; j < fan_out; j++)
        z[j] = w[j];
    for (long i = 0; i < fan_in; i++) {
        const REAL x = below[i], *restrict row = w + (i + 1) * fan_out;
        VECTORISED
        for (long j = 0; j < fan_out; j++)
            z[j] += x * row[j];
    }
}

/* z (width) <- sigmoid(z). */
static inline void squashed(REAL *restrict z, long width)
{
    VECTORISED
    for (long j = 0; j < width; j++)
        z[j] = sigmoid(z[j]);
}

/* delta of the layer below (fan_in) = (W delta (fan_out)) o (1 - o), with o of out (fan_in) and W (fan_in + 1, fan_out)
   without row 0. */
static inline void sent_back(REAL *restrict below, const REAL *restrict out, const REAL *restrict delta,
                             const REAL *restrict w, long fan_in, long fan_out)
{
    for (long i = 0; i < fan_in; i++) {
        const REAL *restrict row = w + (i + 1) * fan_out, o = out[i];
        REAL total = 0;
        for (long j = 0; j < fan_out; j++)
            total += delta[j] * row[j];
        below[i] = total * o * (1 - o);
    }
}

/* Rows first to end - 1 of dW (fan_in + 1, fan_out) += activation delta^T; row 0 is that of the bias. */
static inline void added_rows(REAL *restrict rows, const REAL *restrict below, const REAL *restrict delta, long first,
                              long end, long fan_out)
{
    for (long i = first; i < end; i++) {
        const REAL x = i ? below[i - 1] : 1;
        REAL *restrict row = rows + (i - first) * fan_out;
        VECTORISED
        for (long j = 0; j < fan_out; j++)
            row[j] += x * delta[j];
    }
}

/* dW (fan_in + 1, fan_out) += factor activation (fan_in) delta (fan_out)^T. */
static inline void added_changes(REAL *restrict dw, const REAL *restrict below, const REAL *restrict delta, REAL factor,
                                 long fan_in, long fan_out)
{
    for (long i = 0; i <= fan_in; i++) {
        const REAL x = factor * (i ? below[i - 1] : 1);
        REAL *restrict row = dw + i * fan_out;
        VECTORISED
        for (long j = 0; j < fan_out; j++)
            row[j] += x * delta[j];
    }
}

/* values (count) <- factor values. */
static inline void scaled(REAL *restrict values, REAL factor, long count)
{
    VECTORISED
    for (long i = 0; i < count; i++)
        values[i] *= factor;
}

/* values (count) <- values + others (count). */
static inline void added(REAL *restrict values, const REAL *restrict others, long count)
{
    VECTORISED
    for (long i = 0; i < count; i++)
        values[i] += others[i];
}

/* The number of a layer's weights, with the bias. */
static inline long weights(const Network *net, long layer)
{
    return (net->widths[layer - 1] + 1) * net->widths[layer];
}
