/* The loops of loop_order.c, with row pointers and temporaries. network.h has the functions and shapes. */
#include "rows.h"

void products(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
    for (long p = 0; p < net->count; p++) {
        const long at = net->ranpat[p];
        weighted_sums(net->out[layer] + at * above, net->out[layer - 1] + at * below, net->w[layer], below, above);
    }
}

void activations(const Network *net, long layer)
{
    const long width = net->widths[layer];
    for (long p = 0; p < net->count; p++)
        squashed(net->out[layer] + net->ranpat[p] * width, width);
}

void output_error(const Network *net)
{
    const long last = net->layers, width = net->widths[last];
    REAL error = 0;
    for (long p = 0; p < net->count; p++) {
        const long at = net->ranpat[p] * width;
        const REAL *restrict target = net->targets + at, *restrict out = net->out[last] + at;
        REAL *restrict delta = net->delta[last] + at;
        for (long k = 0; k < width; k++) {
            const REAL o = out[k], off = target[k] - o;
            error += (REAL)0.5 * off * off;
            delta[k] = off * o * (1 - o);
        }
    }
    *net->error = error;
}

void deltas(const Network *net, long layer)
{
    const long width = net->widths[layer], above = net->widths[layer + 1];
    for (long p = 0; p < net->count; p++) {
        const long at = net->ranpat[p];
        sent_back(net->delta[layer] + at * width, net->out[layer] + at * width, net->delta[layer + 1] + at * above,
                  net->w[layer + 1], width, above);
    }
}

void weight_change(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
    scaled(net->dw[layer], net->momentum, weights(net, layer));
    for (long p = 0; p < net->count; p++) {
        const long at = net->ranpat[p];
        added_changes(net->dw[layer], net->out[layer - 1] + at * below, net->delta[layer] + at * above, net->rate,
                      below, above);
    }
}

void update(const Network *net, long layer)
{
    added(net->w[layer], net->dw[layer], weights(net, layer));
}
