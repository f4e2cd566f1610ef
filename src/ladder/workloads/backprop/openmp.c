/* The loops of associativity.c on OpenMP threads. OMP_SCHEDULE schedules the loops over patterns that threads share.
   The two sums over patterns, that of the error and that of the weight changes, have several versions. `patterns_*`
   compute out and delta (patterns, width) of all layers and the error (1); `weight_change_*` compute dw
   (fan_in + 1, fan_out) of a layer. fused.h explains FACTORED, network.h explains `ranpat`. */
#define FACTORED 1
#include "fused.h"
#include "rows.h"
#include <omp.h>

void patterns_reduction(const Network *net)
{
    REAL error = 0;
#pragma omp parallel for num_threads(net->threads) schedule(runtime) reduction(+ : error)
    for (long p = 0; p < net->count; p++)
        error += forward_backward(net, net->ranpat[p]);
    *net->error = (REAL)0.5 * error;
}

void patterns_atomic(const Network *net)
{
    REAL error = 0;
#pragma omp parallel for num_threads(net->threads) schedule(runtime)
    for (long p = 0; p < net->count; p++) {
        const REAL term = forward_backward(net, net->ranpat[p]);
#pragma omp atomic
        error += term;
    }
    *net->error = (REAL)0.5 * error;
}

/* Every product is added atomically. */
void weight_change_atomic(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
    REAL *dw = net->dw[layer];
    scale(dw, net->momentum, weight_count(net, layer));
#pragma omp parallel for num_threads(net->threads) schedule(runtime)
    for (long p = 0; p < net->count; p++) {
        const long row = net->ranpat[p];
        const REAL *out = net->out[layer - 1] + row * fan_in, *delta = net->delta[layer] + row * fan_out;
        for (long i = 0; i <= fan_in; i++) {
            const REAL x = i ? out[i - 1] : 1;
            for (long j = 0; j < fan_out; j++) {
                const REAL change = x * delta[j];
#pragma omp atomic
                dw[i * fan_out + j] += change;
            }
        }
    }
}

/* Every thread accumulates its patterns in an array of its own; then each sums its part of all these arrays into dw. */
void weight_change_accumulators(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1], count = weight_count(net, layer);
    REAL *dw = net->dw[layer];
#pragma omp parallel num_threads(net->threads)
    {
        REAL *partial = net->scratch + omp_get_thread_num() * count;
        for (long i = 0; i < count; i++)
            partial[i] = 0;
#pragma omp for schedule(runtime)
        for (long p = 0; p < net->count; p++) {
            const long row = net->ranpat[p];
            add_outer_product(partial, net->out[layer - 1] + row * fan_in, net->delta[layer] + row * fan_out, 1, fan_in,
                              fan_out);
        }
#pragma omp for schedule(static)
        for (long i = 0; i < count; i++) {
            REAL total = net->momentum * dw[i];
            for (int thread = 0; thread < omp_get_num_threads(); thread++)
                total += net->scratch[thread * count + i];
            dw[i] = total;
        }
    }
}

/* Every thread owns some of the rows of dw, and iterates over all patterns. */
void weight_change_owner(const Network *net, long layer)
{
    const long fan_out = net->widths[layer], fan_in = net->widths[layer - 1];
#pragma omp parallel num_threads(net->threads)
    {
        const long first = (fan_in + 1) * omp_get_thread_num() / omp_get_num_threads();
        const long end = (fan_in + 1) * (omp_get_thread_num() + 1) / omp_get_num_threads();
        REAL *rows = net->dw[layer] + first * fan_out;
        scale(rows, net->momentum, (end - first) * fan_out);
        for (long p = 0; p < net->count; p++) {
            const long row = net->ranpat[p];
            add_outer_product_rows(rows, net->out[layer - 1] + row * fan_in, net->delta[layer] + row * fan_out, first,
                                   end, fan_out);
        }
    }
}
