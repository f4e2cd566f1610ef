/* Every macro block (a function of network.h) with the loop over patterns outermost, or, without one, that over rows:
   the innermost loops access contiguous memory. Indices are written out as in before.c. */
#include "network.h"

void products(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
    for (long p = 0; p < net->count; p++) {
        for (long j = 0; j < above; j++)
            net->out[layer][net->ranpat[p] * above + j] = net->w[layer][j];
        for (long i = 0; i < below; i++)
            for (long j = 0; j < above; j++)
                net->out[layer][net->ranpat[p] * above + j] +=
                    net->out[layer - 1][net->ranpat[p] * below + i] * net->w[layer][(i + 1) * above + j];
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
            const long at = net->ranpat[p] * width + k;
            *net->error +=
                (REAL)0.5 * (net->targets[at] - net->out[last][at]) * (net->targets[at] - net->out[last][at]);
            net->delta[last][at] =
                (net->targets[at] - net->out[last][at]) * net->out[last][at] * (1 - net->out[last][at]);
        }
}

void deltas(const Network *net, long layer)
{
    const long width = net->widths[layer], above = net->widths[layer + 1];
    for (long p = 0; p < net->count; p++)
        for (long i = 0; i < width; i++) {
            net->delta[layer][net->ranpat[p] * width + i] = 0;
            for (long j = 0; j < above; j++)
                net->delta[layer][net->ranpat[p] * width + i] +=
                    net->delta[layer + 1][net->ranpat[p] * above + j] * net->w[layer + 1][(i + 1) * above + j];
            net->delta[layer][net->ranpat[p] * width + i] *=
                net->out[layer][net->ranpat[p] * width + i] * (1 - net->out[layer][net->ranpat[p] * width + i]);
        }
}

void weight_change(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
    for (long i = 0; i <= below; i++)
        for (long j = 0; j < above; j++)
            net->dw[layer][i * above + j] *= net->momentum;
    for (long p = 0; p < net->count; p++) {
        for (long j = 0; j < above; j++)
            net->dw[layer][j] += net->rate * net->delta[layer][net->ranpat[p] * above + j];
        for (long i = 0; i < below; i++)
            for (long j = 0; j < above; j++)
                net->dw[layer][(i + 1) * above + j] += net->rate * net->out[layer - 1][net->ranpat[p] * below + i] *
                                                       net->delta[layer][net->ranpat[p] * above + j];
    }
}

void update(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
    for (long i = 0; i <= below; i++)
        for (long j = 0; j < above; j++)
            net->w[layer][i * above + j] += net->dw[layer][i * above + j];
}
