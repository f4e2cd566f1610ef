/* The untuned program: the weight change alone has the loop over patterns innermost, so each iteration reads another
   row of activations and of deltas. `ranpat` lists the rows of the visited patterns (network.h). */
#include "untuned.h"

void weight_change(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    for (long j = 0; j < fan_out; j++) {
        net->dw[layer][j] *= net->momentum;
        for (long p = 0; p < net->count; p++)
            net->dw[layer][j] += net->rate * net->delta[layer][net->ranpat[p] * fan_out + j];
        for (long i = 0; i < fan_in; i++) {
            net->dw[layer][(i + 1) * fan_out + j] *= net->momentum;
            for (long p = 0; p < net->count; p++)
                net->dw[layer][(i + 1) * fan_out + j] += net->rate * net->out[layer - 1][net->ranpat[p] * fan_in + i] *
                                                       net->delta[layer][net->ranpat[p] * fan_out + j];
        }
    }
}
