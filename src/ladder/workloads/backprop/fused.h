/* A pattern is processed from the first product to the deltas while its rows stay in the L1 cache. The weight changes
   follow layer by layer, because their rows would evict the pattern's. With FACTORED, factors leave the sums: the
   error is halved once, and the rate is part of the output's deltas, hence of all deltas and weight changes. */
#include "rows.h"

/* The forward and backward pass of the pattern in a row of out, delta and targets (patterns, width). Returns its error,
   with FACTORED twice its error. */
static inline REAL forward_backward(const Network *net, long row)
{
    const long last = net->layers, outputs = net->widths[last];
    const REAL delta_factor = FACTORED ? net->rate : 1, error_factor = FACTORED ? 1 : (REAL)0.5;
    for (long layer = 1; layer <= last; layer++) {
        const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
        REAL *out = net->out[layer] + row * fan_out;
        weighted_sums(out, net->out[layer - 1] + row * fan_in, net->w[layer], fan_in, fan_out);
        apply_sigmoid(out, fan_out);
    }
    const REAL *restrict target = net->targets + row * outputs, *restrict out = net->out[last] + row * outputs;
    REAL *restrict delta = net->delta[last] + row * outputs, error = 0;
    for (long k = 0; k < outputs; k++) {
        const REAL o = out[k], residual = target[k] - o;
        error += error_factor * residual * residual;
        delta[k] = delta_factor * residual * o * (1 - o);
    }
    for (long layer = last - 1; layer > 0; layer--) {
        const long width = net->widths[layer], next_width = net->widths[layer + 1];
        backpropagate(net->delta[layer] + row * width, net->out[layer] + row * width,
                      net->delta[layer + 1] + row * next_width, net->w[layer + 1], width, next_width);
    }
    return error;
}

/* The pass of all visited patterns, whose rows ranpat has (network.h), and the error (1). */
void patterns(const Network *net)
{
    REAL error = 0;
    for (long p = 0; p < net->count; p++)
        error += forward_backward(net, net->ranpat[p]);
    *net->error = FACTORED ? (REAL)0.5 * error : error;
}

/* dw (fan_in + 1, fan_out) of a layer. */
void weight_change(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    scale(net->dw[layer], net->momentum, weight_count(net, layer));
    for (long p = 0; p < net->count; p++) {
        const long row = net->ranpat[p];
        add_outer_product(net->dw[layer], net->out[layer - 1] + row * fan_in, net->delta[layer] + row * fan_out,
                          FACTORED ? 1 : net->rate, fan_in, fan_out);
    }
}

/* w (fan_in + 1, fan_out) of a layer <- w + dw. */
void update(const Network *net, long layer)
{
    add(net->w[layer], net->dw[layer], weight_count(net, layer));
}
