/* Every macro block (a function of network.h) with the loop over patterns outermost, or, if it has none, the loop over
   rows, so innermost loops access contiguous memory. Indices are written out as in untuned.h. */
#include "network.h"

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

void weight_change(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long i = 0; i <= fan_in; i++)
        for (long j = 0; j < fan_out; j++)
            net->dw[layer][i * fan_out + j] *= net->momentum;
    for (long p = 0; p < net->count; p++) {
        for (long j = 0; j < fan_out; j++)
            net->dw[layer][j] += net->rate * net->delta[layer][net->ranpat[p] * fan_out + j];
        for (long i = 0; i < fan_in; i++)
            for (long j = 0; j < fan_out; j++)
                net->dw[layer][(i + 1) * fan_out + j] += net->rate * net->out[layer - 1][net->ranpat[p] * fan_in + i] *
                                                       net->delta[layer][net->ranpat[p] * fan_out + j];
    }
}

void update(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long i = 0; i <= fan_in; i++)
        for (long j = 0; j < fan_out; j++)
            net->w[layer][i * fan_out + j] += net->dw[layer][i * fan_out + j];
}
