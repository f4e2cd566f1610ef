/* The loops of contiguous.c, with row pointers and temporaries. network.h documents the functions and shapes. */
#include "rows.h"

void products(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long p = 0; p < net->count; p++) {
        const long row = net->ranpat[p];
        weighted_sums(net->out[layer] + row * fan_out, net->out[layer - 1] + row * fan_in, net->w[layer], fan_in,
                      fan_out);
    }
}

void activations(const Network *net, long layer)
{
    const long width = net->widths[layer];
    for (long p = 0; p < net->count; p++)
        apply_sigmoid(net->out[layer] + net->ranpat[p] * width, width);
}

void output_error(const Network *net)
{
    const long last = net->layers, width = net->widths[last];
    REAL error = 0;
    for (long p = 0; p < net->count; p++) {
        const long first = net->ranpat[p] * width;
        const REAL *restrict target = net->targets + first, *restrict out = net->out[last] + first;
        REAL *restrict delta = net->delta[last] + first;
        for (long k = 0; k < width; k++) {
            const REAL o = out[k], residual = target[k] - o;
            error += (REAL)0.5 * residual * residual;
            delta[k] = residual * o * (1 - o);
        }
    }
    *net->error = error;
}

void deltas(const Network *net, long layer)
{
    const long width = net->widths[layer], next_width = net->widths[layer + 1];
    for (long p = 0; p < net->count; p++) {
        const long row = net->ranpat[p];
        backpropagate(net->delta[layer] + row * width, net->out[layer] + row * width,
                      net->delta[layer + 1] + row * next_width, net->w[layer + 1], width, next_width);
    }
}

void weight_change(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    scale(net->dw[layer], net->momentum, weight_count(net, layer));
    for (long p = 0; p < net->count; p++) {
        const long row = net->ranpat[p];
        add_outer_product(net->dw[layer], net->out[layer - 1] + row * fan_in, net->delta[layer] + row * fan_out,
                          net->rate, fan_in, fan_out);
    }
}

void update(const Network *net, long layer)
{
    add(net->w[layer], net->dw[layer], weight_count(net, layer));
}
