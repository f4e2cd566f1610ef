/* The forward pass and the update of the untuned program, which loop_order.c shares; backward.h has the error and the
   deltas. Innermost loops run over the units of the layer below. A sum stays in memory while it grows, and every index
   is written out. network.h documents the shapes, and ranpat; `forward` is its `products` and `activations` in one. */
#pragma once
#include "backward.h"

/* out (patterns, fan_out) = sigmoid(activation (patterns, fan_in) W), a unit's sigmoid right after its sum; W is read
   by columns. */
void forward(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long p = 0; p < net->count; p++)
        for (long j = 0; j < fan_out; j++) {
            net->out[layer][net->ranpat[p] * fan_out + j] = net->w[layer][j];
            for (long i = 0; i < fan_in; i++)
                net->out[layer][net->ranpat[p] * fan_out + j] +=
                    net->out[layer - 1][net->ranpat[p] * fan_in + i] * net->w[layer][(i + 1) * fan_out + j];
            net->out[layer][net->ranpat[p] * fan_out + j] = sigmoid(net->out[layer][net->ranpat[p] * fan_out + j]);
        }
}

void update(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long j = 0; j < fan_out; j++)
        for (long i = 0; i <= fan_in; i++)
            net->w[layer][i * fan_out + j] += net->dw[layer][i * fan_out + j];
}
