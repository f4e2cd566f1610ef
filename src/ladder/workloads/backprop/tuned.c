/* Blocks of patterns from the first product to the changes of the weights, on vectors and tiles of registers. A block's
   activations and deltas, the weights and a thread's own changes stay in the second cache; patterns are read where
   they lie, once from memory. */
#include "network.h"
#include "tile.h"
#include "logistic.h"
#include <omp.h>

/* Numbers of a line of the caches. */
#define LINE (64 / (long)sizeof(REAL))

/* A layer with weights, on rows of whole vectors. */
typedef struct {
    long fan_in, fan_out, stride;  /* of a row of fan_out numbers */
    REAL *w, *back;                /* of all threads: the weights, and without the bias transposed, fan_out rows */
    REAL *out, *delta;             /* a thread's, of a block */
    REAL *changes;                 /* a thread's sums over its patterns, as w */
} Layer;

static long shared_size(const Network *net)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++) {
        const long below = net->widths[layer - 1], above = net->widths[layer];
        size += (below + 1) * padded(above) + above * padded(below);
    }
    return size;
}

static long own_size(const Network *net, long block)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++)
        size += (net->widths[layer - 1] + 1 + 2 * block) * padded(net->widths[layer]);
    return size;
}

/* How many numbers `sums` must hold. */
long workspace(const Network *net, long block)
{
    return shared_size(net) + net->threads * own_size(net, block);
}

static REAL *taken(REAL **free, long count)
{
    REAL *const first = *free;
    *free += count;
    return first;
}

static void lay_out(Layer *layers, const Network *net, long block, long thread)
{
    REAL *shared = net->sums, *own = shared + shared_size(net) + thread * own_size(net, block);
    for (long layer = 1; layer <= net->layers; layer++) {
        const long below = net->widths[layer - 1], above = net->widths[layer], stride = padded(above);
        layers[layer] = (Layer){
            .fan_in = below,
            .fan_out = above,
            .stride = stride,
            .w = taken(&shared, (below + 1) * stride),
            .back = taken(&shared, above * padded(below)),
            .out = taken(&own, block * stride),
            .delta = taken(&own, block * stride),
            .changes = taken(&own, (below + 1) * stride),
        };
    }
}

/* Copy the weights to padded rows, the padding 0. */
static void pack(const Network *net, const Layer *layers)
{
    for (long layer = 1; layer <= net->layers; layer++) {
        const Layer *at = layers + layer;
        const long back = padded(at->fan_in);
        for (long i = 0; i <= at->fan_in; i++)
            for (long j = 0; j < at->stride; j++)
                at->w[i * at->stride + j] = j < at->fan_out ? net->w[layer][i * at->fan_out + j] : 0;
        for (long j = 0; j < at->fan_out; j++)
            for (long i = 0; i < back; i++)
                at->back[j * back + i] = i < at->fan_in ? at->w[(i + 1) * at->stride + j] : 0;
    }
}

static inline long least(long a, long b)
{
    return a < b ? a : b;
}

/* The output's deltas, padded with 0; twice the block's error. */
static REAL output(const Network *net, const Layer *at, const long *chosen, long count)
{
    REAL error = 0;
    for (long p = 0; p < count; p++) {
        const REAL *target = net->targets + chosen[p] * at->fan_out, *out = at->out + p * at->stride;
        REAL *delta = at->delta + p * at->stride;
        for (long k = 0; k < at->stride; k++) {
            const REAL off = k < at->fan_out ? target[k] - out[k] : 0;
            error += off * off;
            delta[k] = off * out[k] * (1 - out[k]);
        }
    }
    return error;
}

/* The addresses of a block's rows below a layer: patterns where they lie, or activations. */
static void find_rows(const REAL **rows, const Network *net, const Layer *layers, long layer, const long *chosen,
                      long count)
{
    for (long p = 0; p < count; p++)
        rows[p] = layer ? layers[layer].out + p * layers[layer].stride : net->out[0] + chosen[p] * net->widths[0];
}

static void forward(const Layer *at, const REAL *const *below, long count)
{
    for (long p = 0; p < count; p++)
        for (long j = 0; j < at->stride; j++)
            at->out[p * at->stride + j] = at->w[j];
    multiply_add(at->out, below, at->w + at->stride, count, at->stride, at->fan_in);
    logistic(at->out, count * at->stride);
}

/* Deltas of the layer below, `to`. */
static void backward(const Layer *at, const Layer *to, const REAL **rows, long count)
{
    for (long p = 0; p < count; p++)
        rows[p] = at->delta + p * at->stride;
    for (long i = 0; i < count * to->stride; i++)
        to->delta[i] = 0;
    multiply_add(to->delta, rows, at->back, count, to->stride, at->fan_out);
    for (long i = 0; i < count * to->stride; i++)
        to->delta[i] *= to->out[i] * (1 - to->out[i]);
}

/* Meanwhile `ahead` rows that come next are fetched to the second cache, a line of each at a time. */
static void change(const Layer *at, const REAL *const *below, long count, const REAL *const *next, long ahead)
{
    for (long p = 0; p < count; p++)
        for (long j = 0; j < at->stride; j++)
            at->changes[j] += at->delta[p * at->stride + j];
    for (long i = 0; i < at->fan_in; i += LINE) {
        for (long p = 0; p < ahead; p++)
            __builtin_prefetch(next[p] + i, 0, 2);
        multiply_add_transposed(at->changes + (i + 1) * at->stride, below, i, at->delta, least(LINE, at->fan_in - i),
                                at->stride, count);
    }
}

/* Sums over all patterns: the error, and every thread's changes. The threads' errors are added up in their order, so
   that the last bit is the same in every run. */
void patterns(const Network *net, long block)
{
    REAL errors[net->threads];
#pragma omp parallel num_threads(net->threads)
    {
        REAL error = 0;
        const REAL *rows[block], *next[block];
        Layer layers[net->layers + 1];
        lay_out(layers, net, block, omp_get_thread_num());
#pragma omp single
        pack(net, layers);
        for (long layer = 1; layer <= net->layers; layer++)
            for (long i = 0; i < (layers[layer].fan_in + 1) * layers[layer].stride; i++)
                layers[layer].changes[i] = 0;
#pragma omp for schedule(static)
        for (long first = 0; first < net->count; first += block) {
            const long *chosen = net->ranpat + first;
            const long count = least(block, net->count - first);
            const long ahead = least(block, net->count - first - count);
            for (long layer = 1; layer <= net->layers; layer++) {
                find_rows(rows, net, layers, layer - 1, chosen, count);
                forward(layers + layer, rows, count);
            }
            error += output(net, layers + net->layers, chosen, count);
            for (long layer = net->layers; layer > 1; layer--)
                backward(layers + layer, layers + layer - 1, rows, count);
            find_rows(next, net, layers, 0, chosen + count, ahead);
            for (long layer = net->layers; layer > 0; layer--) {
                find_rows(rows, net, layers, layer - 1, chosen, count);
                change(layers + layer, rows, count, next, layer == 1 ? ahead : 0);
            }
        }
        errors[omp_get_thread_num()] = error;
    }
    *net->error = 0;
    for (long thread = 0; thread < net->threads; thread++)
        *net->error += (REAL)0.5 * errors[thread];
}

/* The threads' changes are added up, and become those of the weights. */
void update(const Network *net, long block)
{
    const long own = own_size(net, block);
#pragma omp parallel num_threads(net->threads)
    {
        Layer layers[net->layers + 1];
        lay_out(layers, net, block, 0);
        for (long layer = 1; layer <= net->layers; layer++) {
            const Layer *at = layers + layer;
#pragma omp for schedule(static) nowait
            for (long i = 0; i <= at->fan_in; i++)
                for (long j = 0; j < at->fan_out; j++) {
                    const long here = i * at->fan_out + j;
                    REAL sum = 0;
                    for (long thread = 0; thread < net->threads; thread++)
                        sum += at->changes[thread * own + i * at->stride + j];
                    net->dw[layer][here] = net->momentum * net->dw[layer][here] + net->rate * sum;
                    net->w[layer][here] += net->dw[layer][here];
                }
        }
    }
}
