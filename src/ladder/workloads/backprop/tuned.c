/* Blocks of patterns from the first product to the changes of the weights, with vectors and register tiles. A block's
   activations and deltas, the weights and a thread's changes stay in the L2 cache; patterns are read in place, once
   from memory. */
#include "network.h"
#include "tile.h"
#include "logistic.h"
#include <omp.h>
#include <string.h>

/* Elements of a cache line. */
#define LINE (64 / (long)sizeof(REAL))
/* The minimum number of blocks of a part, except the last: fewer would not amortise its sums. */
#define MIN_BLOCKS 4L

/* A layer with weights, on rows of whole vectors. */
typedef struct {
    long fan_in, fan_out, stride;  /* of a row of fan_out numbers */
    REAL *w, *back;                /* shared: the weights (fan_in + 1, stride), and their transpose without the bias */
    REAL *out, *delta;             /* private to a thread: (block, stride) */
    REAL *changes;                 /* a part's sums over its patterns, of the shape of w */
} Layer;

static inline long max(long a, long b)
{
    return a > b ? a : b;
}

/* The range of a part, in blocks. */
typedef struct {
    long begin, end;
} Part;

/* Partition the blocks of patterns into parts, which threads take dynamically; returns the number of parts. As in
   guided scheduling, each round gives every thread a part of half of the remaining blocks, so that a slow thread takes
   fewer parts. The partition is deterministic, and every part has sums of its own: results don't depend on which thread
   takes which part. */
static long partition(const Network *net, long block, Part *parts)
{
    const long blocks = (net->count + block - 1) / block, halves = net->threads > 1 ? 2 : 1;
    long count = 0;
    for (long begin = 0, size = 0; begin < blocks; count++) {
        if (count % net->threads == 0)
            size = max(MIN_BLOCKS, (blocks - begin + halves * net->threads - 1) / (halves * net->threads));
        const long end = min(blocks, begin + size);
        if (parts)
            parts[count] = (Part){begin, end};
        begin = end;
    }
    return count;
}

/* The elements of all layers' `w` and `back`. */
static long shared_size(const Network *net)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++) {
        const long below = net->widths[layer - 1], above = net->widths[layer];
        size += (below + 1) * padded(above) + above * padded(below);
    }
    return size;
}

/* The elements of all layers' `out` and `delta`. */
static long thread_size(const Network *net, long block)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++)
        size += 2 * block * padded(net->widths[layer]);
    return size;
}

/* The elements of all layers' `changes`. */
static long part_size(const Network *net)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++)
        size += (net->widths[layer - 1] + 1) * padded(net->widths[layer]);
    return size;
}

/* The number of elements that `sums` must hold. */
long workspace(const Network *net, long block)
{
    return shared_size(net) + net->threads * thread_size(net, block) + partition(net, block, NULL) * part_size(net);
}

/* Take `count` elements from an arena that begins at `*free`. */
static REAL *arena_take(REAL **free, long count)
{
    REAL *const first = *free;
    *free += count;
    return first;
}

/* Point layers (net->layers + 1) to what all threads share and to what one thread has in `sums`. */
static void lay_out(Layer *layers, const Network *net, long block, long thread)
{
    REAL *shared = net->sums, *of_thread = shared + shared_size(net) + thread * thread_size(net, block);
    for (long layer = 1; layer <= net->layers; layer++) {
        const long below = net->widths[layer - 1], above = net->widths[layer], stride = padded(above);
        layers[layer] = (Layer){
            .fan_in = below,
            .fan_out = above,
            .stride = stride,
            .w = arena_take(&shared, (below + 1) * stride),
            .back = arena_take(&shared, above * padded(below)),
            .out = arena_take(&of_thread, block * stride),
            .delta = arena_take(&of_thread, block * stride),
        };
    }
}

/* Point the layers' `changes` to those of a part. */
static void lay_out_part(Layer *layers, const Network *net, long block, long part)
{
    REAL *sums = net->sums + shared_size(net) + net->threads * thread_size(net, block) + part * part_size(net);
    for (long layer = 1; layer <= net->layers; layer++)
        layers[layer].changes = arena_take(&sums, (layers[layer].fan_in + 1) * layers[layer].stride);
}

/* Copy the weights (fan_in + 1, fan_out) to `w` (fan_in + 1, stride) and, without the bias, transposed to `back`
   (fan_out, padded fan_in), rows padded with zeros. */
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

/* The output's deltas (count, stride), padded with zeros, for the rows chosen (count) of targets; returns twice the
   block's error. */
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

/* The addresses, rows (count), of a block's rows of a layer: patterns in place by their numbers chosen (count), or
   activations. */
static void find_rows(const REAL **rows, const Network *net, const Layer *layers, long layer, const long *chosen,
                      long count)
{
    for (long p = 0; p < count; p++)
        rows[p] = layer ? layers[layer].out + p * layers[layer].stride : net->out[0] + chosen[p] * net->widths[0];
}

/* out (count, stride) of a layer, from `below`, the addresses of count rows of fan_in activations. */
static void forward(const Layer *at, const REAL *const *below, long count)
{
    for (long p = 0; p < count; p++)
        for (long j = 0; j < at->stride; j++)
            at->out[p * at->stride + j] = at->w[j];
    multiply_add(at->out, below, at->w + at->stride, count, at->stride, at->fan_in);
    logistic(at->out, count * at->stride);
}

/* The deltas (count, stride) of the layer below, `to`; rows (count) is scratch. */
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

/* Add the gradient of `count` patterns, whose rows of activations are at below (count), to a layer's changes (fan_in +
   1, stride). Meanwhile the rows at next (ahead) are prefetched to the L2 cache, a line of each at a time. */
static void accumulate_gradients(const Layer *at, const REAL *const *below, long count, const REAL *const *next,
                                 long ahead)
{
    for (long p = 0; p < count; p++)
        for (long j = 0; j < at->stride; j++)
            at->changes[j] += at->delta[p * at->stride + j];
    for (long i = 0; i < at->fan_in; i += LINE) {
        for (long p = 0; p < ahead; p++)
            __builtin_prefetch(next[p] + i, 0, 2);
        multiply_add_transposed(at->changes + (i + 1) * at->stride, below, i, at->delta, min(LINE, at->fan_in - i),
                                at->stride, count);
    }
}

/* The forward and backward pass of one block, the rows chosen (count + ahead) of it and the next: adds to the changes,
   and returns twice the error. The next block has `ahead` rows. */
static REAL forward_backward(const Network *net, const Layer *layers, const long *chosen, long count, long ahead)
{
    const REAL *rows[count], *next[max(ahead, 1)];
    for (long layer = 1; layer <= net->layers; layer++) {
        find_rows(rows, net, layers, layer - 1, chosen, count);
        forward(layers + layer, rows, count);
    }
    const REAL error = output(net, layers + net->layers, chosen, count);
    for (long layer = net->layers; layer > 1; layer--)
        backward(layers + layer, layers + layer - 1, rows, count);
    find_rows(next, net, layers, 0, chosen + count, ahead);
    for (long layer = net->layers; layer > 0; layer--) {
        find_rows(rows, net, layers, layer - 1, chosen, count);
        accumulate_gradients(layers + layer, rows, count, next, layer == 1 ? ahead : 0);
    }
    return error;
}

/* Sums over all patterns: the error, and the changes by part. The parts' errors are added in order, so that the result
   is bitwise reproducible. */
void patterns(const Network *net, long block)
{
    const long count = partition(net, block, NULL);
    Part parts[count];
    REAL errors[count];
    partition(net, block, parts);
#pragma omp parallel num_threads(net->threads)
    {
        Layer layers[net->layers + 1];
        lay_out(layers, net, block, omp_get_thread_num());
#pragma omp single
        pack(net, layers);
#pragma omp for schedule(dynamic)
        for (long part = 0; part < count; part++) {
            const long end = min(net->count, parts[part].end * block);
            lay_out_part(layers, net, block, part);
            memset(layers[1].changes, 0, part_size(net) * sizeof(REAL));
            errors[part] = 0;
            for (long first = parts[part].begin * block; first < end; first += block) {
                const long here = min(block, end - first);
                const long ahead = min(block, end - first - here);
                errors[part] += forward_backward(net, layers, net->ranpat + first, here, ahead);
            }
        }
    }
    *net->error = 0;
    for (long part = 0; part < count; part++)
        *net->error += (REAL)0.5 * errors[part];
}

/* Add the parts' changes, and update the weights. */
void update(const Network *net, long block)
{
    const long count = partition(net, block, NULL), apart = part_size(net);
#pragma omp parallel num_threads(net->threads)
    {
        Layer layers[net->layers + 1];
        lay_out(layers, net, block, 0);
        lay_out_part(layers, net, block, 0);
        for (long layer = 1; layer <= net->layers; layer++) {
            const Layer *at = layers + layer;
#pragma omp for schedule(static) nowait
            for (long i = 0; i <= at->fan_in; i++) {
                REAL sums[at->stride];
                for (long j = 0; j < at->stride; j++)
                    sums[j] = 0;
                for (long part = 0; part < count; part++)
                    for (long j = 0; j < at->stride; j++)
                        sums[j] += at->changes[part * apart + i * at->stride + j];
                for (long j = 0; j < at->fan_out; j++) {
                    const long here = i * at->fan_out + j;
                    net->dw[layer][here] = net->momentum * net->dw[layer][here] + net->rate * sums[j];
                    net->w[layer][here] += net->dw[layer][here];
                }
            }
        }
    }
}
