/* The macro blocks between the forward pass and the weight change that the untuned program and those with other loop
   orders share: pattern by pattern, every sum in memory, every index written out. network.h documents the arrays. */
#pragma once
#include "network.h"

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
