/* A block of patterns is processed from the first product to its gradient, with vectors and register tiles. Its
   activations and deltas, the weights and a thread's gradient stay in the L2 cache; each pattern is read from memory
   once, in place. */
#include "network.h"
#include "tile.h"
#include "logistic.h"
#include <omp.h>
#include <string.h>

/* The number of elements of a cache line. */
#define CACHE_LINE (64 / (long)sizeof(REAL))
/* The minimum number of blocks of a part, except the last: fewer would not amortise adding the part's gradient. */
#define MIN_BLOCKS 4L

/* A layer with weights, on rows of whole vectors. */
typedef struct {
    long fan_in, fan_out, stride;  /* stride: fan_out rounded up to whole vectors */
    REAL *w, *w_transposed;        /* shared: the weights (fan_in + 1, stride), and their transpose without the bias */
    REAL *out, *delta;             /* private to a thread: (block, stride) */
    REAL *gradient;                /* of a part: the sum over its patterns, of the shape of w */
} Layer;

static inline long max(long a, long b)
{
    return a > b ? a : b;
}

/* The range of a part, in blocks. */
typedef struct {
    long begin, end;
} Part;

/* Partition the blocks of patterns into `parts`, or, if it is NULL, only count the parts; returns their number. Threads
   take parts dynamically. As in guided scheduling, each round makes one part per thread out of half of the remaining
   blocks, so a slow thread takes fewer parts; on one thread, one part has all blocks. The partition is deterministic,
   and every part has its own gradient and error: results don't depend on which thread takes which part. */
static long partition(const Network *net, long block, Part *parts)
{
    const long blocks = (net->count + block - 1) / block, divisor = net->threads > 1 ? 2 : 1;
    long count = 0;
    for (long begin = 0, size = 0; begin < blocks; count++) {
        if (count % net->threads == 0)
            size = max(MIN_BLOCKS, (blocks - begin + divisor * net->threads - 1) / (divisor * net->threads));
        const long end = min(blocks, begin + size);
        if (parts)
            parts[count] = (Part){begin, end};
        begin = end;
    }
    return count;
}

/* The number of elements of all layers' `w` and `w_transposed`. */
static long shared_size(const Network *net)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++) {
        const long fan_in = net->widths[layer - 1], fan_out = net->widths[layer];
        size += (fan_in + 1) * padded(fan_out) + fan_out * padded(fan_in);
    }
    return size;
}

/* The number of elements of all layers' `out` and `delta`. */
static long private_size(const Network *net, long block)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++)
        size += 2 * block * padded(net->widths[layer]);
    return size;
}

/* The number of elements of all layers' `gradient`. */
static long gradient_size(const Network *net)
{
    long size = 0;
    for (long layer = 1; layer <= net->layers; layer++)
        size += (net->widths[layer - 1] + 1) * padded(net->widths[layer]);
    return size;
}

/* The number of elements that `scratch` must hold. */
long scratch_size(const Network *net, long block)
{
    return shared_size(net) + net->threads * private_size(net, block) +
           partition(net, block, NULL) * gradient_size(net);
}

/* Take `count` elements from an arena whose free part begins at `*free`. */
static REAL *arena_take(REAL **free, long count)
{
    REAL *const first = *free;
    *free += count;
    return first;
}

/* Point layers (net->layers + 1) to the shared memory and to a thread's private memory in `scratch`. */
static void assign_memory(Layer *layers, const Network *net, long block, long thread)
{
    REAL *shared = net->scratch, *private = shared + shared_size(net) + thread * private_size(net, block);
    for (long layer = 1; layer <= net->layers; layer++) {
        const long fan_in = net->widths[layer - 1], fan_out = net->widths[layer], stride = padded(fan_out);
        layers[layer] = (Layer){
            .fan_in = fan_in,
            .fan_out = fan_out,
            .stride = stride,
            .w = arena_take(&shared, (fan_in + 1) * stride),
            .w_transposed = arena_take(&shared, fan_out * padded(fan_in)),
            .out = arena_take(&private, block * stride),
            .delta = arena_take(&private, block * stride),
        };
    }
}

/* Point the layers' `gradient` to that of a part. */
static void assign_gradients(Layer *layers, const Network *net, long block, long part)
{
    REAL *free = net->scratch + shared_size(net) + net->threads * private_size(net, block) + part * gradient_size(net);
    for (long layer = 1; layer <= net->layers; layer++)
        layers[layer].gradient = arena_take(&free, (layers[layer].fan_in + 1) * layers[layer].stride);
}

/* Copy the weights (fan_in + 1, fan_out) to `w` (fan_in + 1, stride) and, without the bias, to `w_transposed` (fan_out,
   padded fan_in), rows padded with zeros. */
static void pack(const Network *net, const Layer *layers)
{
    for (long l = 1; l <= net->layers; l++) {
        const Layer *layer = layers + l;
        const long padded_fan_in = padded(layer->fan_in);
        for (long i = 0; i <= layer->fan_in; i++)
            for (long j = 0; j < layer->stride; j++)
                layer->w[i * layer->stride + j] = j < layer->fan_out ? net->w[l][i * layer->fan_out + j] : 0;
        for (long j = 0; j < layer->fan_out; j++)
            for (long i = 0; i < padded_fan_in; i++)
                layer->w_transposed[j * padded_fan_in + i] =
                    i < layer->fan_in ? layer->w[(i + 1) * layer->stride + j] : 0;
    }
}

/* Compute the output layer's deltas (count, stride), padded with zeros, of the patterns in ranpat (count). Returns
   twice the block's error. */
static REAL output_deltas(const Network *net, const Layer *layer, const long *ranpat, long count)
{
    REAL error = 0;
    for (long p = 0; p < count; p++) {
        const REAL *target = net->targets + ranpat[p] * layer->fan_out, *out = layer->out + p * layer->stride;
        REAL *delta = layer->delta + p * layer->stride;
        for (long k = 0; k < layer->stride; k++) {
            const REAL residual = k < layer->fan_out ? target[k] - out[k] : 0;
            error += residual * residual;
            delta[k] = residual * out[k] * (1 - out[k]);
        }
    }
    return error;
}

/* Set rows (count) to the addresses of a block's rows of a layer: in layer 0 the images of the patterns in ranpat
   (count), else the activations. */
static void find_rows(const REAL **rows, const Network *net, const Layer *layers, long layer, const long *ranpat,
                      long count)
{
    for (long p = 0; p < count; p++)
        rows[p] = layer ? layers[layer].out + p * layers[layer].stride : net->out[0] + ranpat[p] * net->widths[0];
}

/* Compute out (count, stride) of a layer, from the addresses rows (count) of rows of fan_in activations. */
static void forward(const Layer *layer, const REAL *const *rows, long count)
{
    for (long p = 0; p < count; p++)
        for (long j = 0; j < layer->stride; j++)
            layer->out[p * layer->stride + j] = layer->w[j];
    multiply_add(layer->out, rows, layer->w + layer->stride, count, layer->stride, layer->fan_in);
    logistic(layer->out, count * layer->stride);
}

/* Compute the deltas (count, stride) of the layer `below` from those of `layer`; rows (count) is scratch. */
static void backward(const Layer *layer, const Layer *below, const REAL **rows, long count)
{
    for (long p = 0; p < count; p++)
        rows[p] = layer->delta + p * layer->stride;
    for (long i = 0; i < count * below->stride; i++)
        below->delta[i] = 0;
    multiply_add(below->delta, rows, layer->w_transposed, count, below->stride, layer->fan_out);
    for (long i = 0; i < count * below->stride; i++)
        below->delta[i] *= below->out[i] * (1 - below->out[i]);
}

/* Add the gradient of `count` patterns, with activations at the addresses rows (count), to a layer's gradient (fan_in +
   1, stride). Meanwhile prefetch the rows at next_rows (next_count) to the L2 cache, a line of each at a time. */
static void accumulate_gradients(const Layer *layer, const REAL *const *rows, long count, const REAL *const *next_rows,
                                 long next_count)
{
    for (long p = 0; p < count; p++)
        for (long j = 0; j < layer->stride; j++)
            layer->gradient[j] += layer->delta[p * layer->stride + j];
    for (long i = 0; i < layer->fan_in; i += CACHE_LINE) {
        for (long p = 0; p < next_count; p++)
            __builtin_prefetch(next_rows[p] + i, 0, 2);
        multiply_add_transposed(layer->gradient + (i + 1) * layer->stride, rows, i, layer->delta,
                                min(CACHE_LINE, layer->fan_in - i), layer->stride, count);
    }
}

/* Run the forward and backward pass of one block and add to the gradients; returns twice the error. ranpat (count +
   next_count) lists the patterns of this block and the next one. */
static REAL forward_backward(const Network *net, const Layer *layers, const long *ranpat, long count, long next_count)
{
    const REAL *rows[count], *next_rows[max(next_count, 1)];
    for (long layer = 1; layer <= net->layers; layer++) {
        find_rows(rows, net, layers, layer - 1, ranpat, count);
        forward(layers + layer, rows, count);
    }
    const REAL error = output_deltas(net, layers + net->layers, ranpat, count);
    for (long layer = net->layers; layer > 1; layer--)
        backward(layers + layer, layers + layer - 1, rows, count);
    find_rows(next_rows, net, layers, 0, ranpat + count, next_count);
    for (long layer = net->layers; layer > 0; layer--) {
        find_rows(rows, net, layers, layer - 1, ranpat, count);
        accumulate_gradients(layers + layer, rows, count, next_rows, layer == 1 ? next_count : 0);
    }
    return error;
}

/* Compute the error of all patterns, and the gradients by part. The parts' errors are added in order, so the result is
   bitwise reproducible. */
void patterns(const Network *net, long block)
{
    const long count = partition(net, block, NULL);
    Part parts[count];
    REAL errors[count];
    partition(net, block, parts);
#pragma omp parallel num_threads(net->threads)
    {
        Layer layers[net->layers + 1];
        assign_memory(layers, net, block, omp_get_thread_num());
#pragma omp single
        pack(net, layers);
#pragma omp for schedule(dynamic)
        for (long part = 0; part < count; part++) {
            const long end = min(net->count, parts[part].end * block);
            assign_gradients(layers, net, block, part);
            memset(layers[1].gradient, 0, gradient_size(net) * sizeof(REAL));
            errors[part] = 0;
            for (long first = parts[part].begin * block; first < end; first += block) {
                const long size = min(block, end - first);
                const long next_size = min(block, end - first - size);
                errors[part] += forward_backward(net, layers, net->ranpat + first, size, next_size);
            }
        }
    }
    *net->error = 0;
    for (long part = 0; part < count; part++)
        *net->error += (REAL)0.5 * errors[part];
}

/* Add the parts' gradients, and update the weights. */
void update(const Network *net, long block)
{
    const long parts = partition(net, block, NULL), gradient_stride = gradient_size(net);
#pragma omp parallel num_threads(net->threads)
    {
        Layer layers[net->layers + 1];
        assign_memory(layers, net, block, 0);
        assign_gradients(layers, net, block, 0);
        for (long l = 1; l <= net->layers; l++) {
            const Layer *layer = layers + l;
#pragma omp for schedule(static) nowait
            for (long i = 0; i <= layer->fan_in; i++) {
                REAL sums[layer->stride];
                for (long j = 0; j < layer->stride; j++)
                    sums[j] = 0;
                for (long part = 0; part < parts; part++)
                    for (long j = 0; j < layer->stride; j++)
                        sums[j] += layer->gradient[part * gradient_stride + i * layer->stride + j];
                for (long j = 0; j < layer->fan_out; j++) {
                    const long index = i * layer->fan_out + j;
                    net->dw[l][index] = net->momentum * net->dw[l][index] + net->rate * sums[j];
                    net->w[l][index] += net->dw[l][index];
                }
            }
        }
    }
}
