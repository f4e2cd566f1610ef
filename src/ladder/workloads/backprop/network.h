/* A network of sigmoid layers and its training patterns, which `in_c.py` passes; __init__.py defines the epoch. REAL is
   float or double. Layer 0 is the input: its `out` holds the images. Rows of `out`, `delta` and `targets` are patterns.

   A macro block is a function for the visited patterns and a layer of fan_out units over a layer of fan_in units:
     products(net, layer)       out (patterns, fan_out) = activation (patterns, fan_in) W, with the bias in row 0 of W
     activations(net, layer)    out (patterns, fan_out) <- sigmoid(out)
     output_error(net)          delta (patterns, fan_out) of the output layer, and the error (1)
     deltas(net, layer)         delta (patterns, fan_out) of a layer below the output, from the delta of layer + 1
     weight_change(net, layer)  dw (fan_in + 1, fan_out) <- momentum dw + rate activation^T delta, the bias in row 0
     update(net, layer)         w (fan_in + 1, fan_out) <- w + dw */
#pragma once
#include <math.h>

typedef struct {
    long layers;           /* the number of layers with weights, also the index of the output layer */
    const long *widths;    /* by layer, 0 to layers */
    long count;            /* the number of visited patterns */
    const long *ranpat;    /* their rows in out, delta and targets (count) */
    const REAL *targets;
    REAL **w, **dw;        /* by layer, (fan_in + 1, fan_out), the bias in row 0 */
    REAL **out, **delta;   /* by layer, (patterns, width) */
    REAL rate, momentum;
    REAL *error;
    long threads;
    REAL *scratch;         /* in openmp.c as many elements per thread as the largest layer has weights */
} Network;

/* The logistic function of one number. */
static inline REAL sigmoid(REAL z)
{
#if FLOAT64
    return 1 / (1 + exp(-z));
#else
    return 1 / (1 + expf(-z));
#endif
}
