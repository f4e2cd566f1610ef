/* The macro blocks of the untuned program other than the weight change: pattern by pattern, unit by unit, with the
   innermost loop over the units of the layer below. A sum stays in memory while it grows, and every index is written
   out. network.h documents the shapes. */
#pragma once
#include "network.h"

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

void output_error(const Network *net)
{
    const long last = net->layers, width = net->widths[last];
    *net->error = 0;
    for (long p = 0; p < net->count; p++)
        for (long k = 0; k < width; k++) {
            const long i = net->ranpat[p] * width + k;
            *net->error +=
                (REAL)0.5 * (net->targets[i] - net->out[last][i]) * (net->targets[i] - net->out[last][i]);
            net->delta[last][i] =
                (net->targets[i] - net->out[last][i]) * net->out[last][i] * (1 - net->out[last][i]);
        }
}

void deltas(const Network *net, long layer)
{
    const long width = net->widths[layer], next_width = net->widths[layer + 1];
    for (long p = 0; p < net->count; p++)
        for (long i = 0; i < width; i++) {
            net->delta[layer][net->ranpat[p] * width + i] = 0;
            for (long j = 0; j < next_width; j++)
                net->delta[layer][net->ranpat[p] * width + i] +=
                    net->delta[layer + 1][net->ranpat[p] * next_width + j] *
                    net->w[layer + 1][(i + 1) * next_width + j];
            net->delta[layer][net->ranpat[p] * width + i] *=
                net->out[layer][net->ranpat[p] * width + i] * (1 - net->out[layer][net->ranpat[p] * width + i]);
        }
}

void update(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long j = 0; j < fan_out; j++)
        for (long i = 0; i <= fan_in; i++)
            net->w[layer][i * fan_out + j] += net->dw[layer][i * fan_out + j];
}
