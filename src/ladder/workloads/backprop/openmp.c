/* The loops of associativity.c on threads, scheduled by OMP_SCHEDULE. The two sums over patterns, of the error and of
   the changes, have several versions. Shapes as in network.h: `patterns_*` compute out and delta (patterns, width) of
   all layers and the error (1), `weight_change_*` dw (fan_in + 1, fan_out) of a layer. */
#define FACTORED 1
#include "fused.h"
#include "rows.h"
#include <omp.h>

void patterns_reduction(const Network *net)
{
    REAL error = 0;
#pragma omp parallel for num_threads(net->threads) schedule(runtime) reduction(+ : error)
    for (long p = 0; p < net->count; p++)
        error += pattern(net, net->ranpat[p]);
    *net->error = (REAL)0.5 * error;
}

void patterns_atomic(const Network *net)
{
    REAL error = 0;
#pragma omp parallel for num_threads(net->threads) schedule(runtime)
    for (long p = 0; p < net->count; p++) {
        const REAL term = pattern(net, net->ranpat[p]);
#pragma omp atomic
        error += term;
    }
    *net->error = (REAL)0.5 * error;
}

/* Every product is added atomically. */
void weight_change_atomic(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
    REAL *dw = net->dw[layer];
    scaled(dw, net->momentum, weights(net, layer));
#pragma omp parallel for num_threads(net->threads) schedule(runtime)
    for (long p = 0; p < net->count; p++) {
        const long at = net->ranpat[p];
        const REAL *out = net->out[layer - 1] + at * below, *delta = net->delta[layer] + at * above;
        for (long i = 0; i <= below; i++) {
            const REAL x = i ? out[i - 1] : 1;
            for (long j = 0; j < above; j++) {
                const REAL change = x * delta[j];
#pragma omp atomic
                dw[i * above + j] += change;
            }
        }
    }
}

/* Every thread accumulates its patterns in a private array; then each thread adds its part of these arrays. */
void weight_change_accumulators(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1], count = weights(net, layer);
    REAL *dw = net->dw[layer];
#pragma omp parallel num_threads(net->threads)
    {
        REAL *partial = net->sums + omp_get_thread_num() * count;
        for (long at = 0; at < count; at++)
            partial[at] = 0;
#pragma omp for schedule(runtime)
        for (long p = 0; p < net->count; p++) {
            const long at = net->ranpat[p];
            added_changes(partial, net->out[layer - 1] + at * below, net->delta[layer] + at * above, 1, below, above);
        }
#pragma omp for schedule(static)
        for (long at = 0; at < count; at++) {
            REAL total = net->momentum * dw[at];
            for (int thread = 0; thread < omp_get_num_threads(); thread++)
                total += net->sums[thread * count + at];
            dw[at] = total;
        }
    }
}

/* Every thread owns some of the rows, and iterates over all patterns. */
void weight_change_owner(const Network *net, long layer)
{
    const long above = net->widths[layer], below = net->widths[layer - 1];
#pragma omp parallel num_threads(net->threads)
    {
        const long first = (below + 1) * omp_get_thread_num() / omp_get_num_threads();
        const long end = (below + 1) * (omp_get_thread_num() + 1) / omp_get_num_threads();
        REAL *rows = net->dw[layer] + first * above;
        scaled(rows, net->momentum, (end - first) * above);
        for (long p = 0; p < net->count; p++) {
            const long at = net->ranpat[p];
            added_rows(rows, net->out[layer - 1] + at * below, net->delta[layer] + at * above, first, end, above);
        }
    }
}
