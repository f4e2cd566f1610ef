/* A network of sigmoid layers and the patterns that it is trained on, as `in_c.py` passes it; see __init__.py. REAL is
   float or double. Layer 0 is the input, whose `out` are the images. Rows of `out`, `delta` and `targets` are
   patterns. */
#pragma once
#include <math.h>

typedef struct {
    long layers;           /* with weights, hence also the number of the output's layer */
    const long *widths;    /* of all layers */
    long count;            /* of patterns that are visited */
    const long *ranpat;    /* their rows */
    const REAL *targets;
    REAL **w, **dw;        /* by layer, (fan_in + 1) x fan_out, the bias in row 0 */
    REAL **out, **delta;   /* by layer, of every pattern and unit */
    REAL rate, momentum;
    REAL *error;
    long threads;
    REAL *sums;            /* for every thread as many numbers as the largest layer has weights */
} Network;

static inline REAL sigmoid(REAL z)
{
#if FLOAT64
    return 1 / (1 + exp(-z));
#else
    return 1 / (1 + expf(-z));
#endif
}
