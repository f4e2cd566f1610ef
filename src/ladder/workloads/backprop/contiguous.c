/* Every macro block (a function of network.h) with the loop over patterns outermost, or, if it has none, the loop over
   rows, so innermost loops access contiguous memory. Indices are written out as in untuned.h. ranpat has the rows of
   the visited patterns (network.h). */
#include "backward.h"
#include "outer_patterns.h"

void products(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long p = 0; p < net->count; p++) {
        for (long j = 0; j < fan_out; j++)
            net->out[layer][net->ranpat[p] * fan_out + j] = net->w[layer][j];
        for (long i = 0; i < fan_in; i++)
            for (long j = 0; j < fan_out; j++)
                net->out[layer][net->ranpat[p] * fan_out + j] +=
                    net->out[layer - 1][net->ranpat[p] * fan_in + i] * net->w[layer][(i + 1) * fan_out + j];
    }
}

void activations(const Network *net, long layer)
{
    const long width = net->widths[layer];
    for (long p = 0; p < net->count; p++)
        for (long j = 0; j < width; j++)
            net->out[layer][net->ranpat[p] * width + j] = sigmoid(net->out[layer][net->ranpat[p] * width + j]);
}

void update(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long i = 0; i <= fan_in; i++)
        for (long j = 0; j < fan_out; j++)
            net->w[layer][i * fan_out + j] += net->dw[layer][i * fan_out + j];
}
