/* One pattern from the first product to the deltas, while its rows stay in the L1 cache; then the changes layer by
   layer, whose rows would evict these. With FACTORED, factors are moved out of the sums: the error is halved once, and
   the output's deltas are multiplied by the rate, which they pass on to every change. */
#include "rows.h"

/* The forward and backward pass of pattern `at`, row `at` of out, delta and targets (patterns, width); its error, with
   FACTORED twice that. */
static inline REAL pattern(const Network *net, long at)
{
    const long last = net->layers, outputs = net->widths[last];
    const REAL rate = FACTORED ? net->rate : 1, half = FACTORED ? 1 : (REAL)0.5;
    for (long layer = 1; layer <= last; layer++) {
        const long above = net->widths[layer], below = net->widths[layer - 1];
        REAL *out = net->out[layer] + at * above;
        weighted_sums(out, net->out[layer - 1] + at * below, net->w[layer], below, above);
        squashed(out, above);
    }
    const REAL *restrict target = net->targets + at * outputs, *restrict out = net->out[last] + at * outputs;
    REAL *restrict delta = net->delta[last] + at * outputs, error = 0;
    for (long k = 0; k < outputs; k++) {
        const REAL o = out[k], off = target[k] - o;
        error += half * off * off;
        delta[k] = rate * off * o * (1 - o);
    }
    for (long layer = last - 1; layer > 0; layer--) {
        const long width = net->widths[layer], above = net->widths[layer + 1];
        sent_back(net->delta[layer] + at * width, net->out[layer] + at * width, net->delta[layer + 1] + at * above,
                  net->w[layer + 1], width, above);
    }
    return error;
}

/* The pass of all visited patterns, and the error (1). */
void patterns(const Network *net)
{
    REAL error = 0;
    for (long p = 0; p < net->count; p++)
        error += pattern(net, net->ranpat[p]);
    *net->error = FACTORED ? (REAL)0.5 * error : error;
}

/* dw (fan_in + 1, fan_out) of a layer. */
void weight_change(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
    scaled(net->dw[layer], net->momentum, weights(net, layer));
    for (long p = 0; p < net->count; p++) {
        const long at = net->ranpat[p];
        added_changes(net->dw[layer], net->out[layer - 1] + at * below, net->delta[layer] + at * above,
                      FACTORED ? 1 : net->rate, below, above);
    }
}

/* w (fan_in + 1, fan_out) of a layer <- w + dw. */
void update(const Network *net, long layer)
{
    added(net->w[layer], net->dw[layer], weights(net, layer));
}
