// An epoch of the training in one cooperative launch: a block keeps its units' weights on the chip for all batches.
//
// Shapes: pixels (images, 784), labels and order (images), loss (batches), widths (layers + 1) from the inputs to the
// outputs; bytes (2); parameters (2 * layers), pointers to the weights (fan_in, fan_out) and the bias (fan_out) of each
// layer in turn; workspace as in Exchange; counters (4) of GridBarrier and count_launch(). The last two are 0 before
// the first launch.
//
// Of B blocks, block b has the units from n b / B to n (b + 1) / B of each hidden layer of n units. Of the first layer
// it keeps their Weights in registers, and digits of these in shared memory; of the layers between hidden layers its
// units' columns of the weights, and of all layers from the second on the rows of its units of the layer before. So
// weights between two hidden layers are kept, and updated, twice.
//
// A batch has two exchanges of flagged values with the other blocks, between which a block computes the losses and the
// last deltas of some rows of the batch, and two barriers of the grid for each hidden layer after the first. All deltas
// include the factor -rate.
//
// Launch: for all kernels the same grid, at most as many blocks as run at once; block BLOCK, and for `measure` 1;
// dynamic shared memory for the others as `measure` says.
#include "hidden_layers.cuh"
#include "image_stream.cuh"
#include "last_layer.cuh"

// Read or write a block's parameters: call function(its place on the chip, its place in global memory).
template <class Function>
__device__ __forceinline__ void for_each_parameter(const SharedArrays &shared, Weights &weights,
                                                   REAL *const *parameters, const Network &network, Function function) {
  const int first = network.first_unit[1], width = network.widths[1];
  weights.for_each(network.units[1], [&](REAL &value, int pixel, int unit) {
    function(value, parameters[0][size_t(pixel) * width + first + unit]);
  });
  for (int layer = 1; layer < network.layers; ++layer) {
    const int units = network.units[layer], first_unit = network.first_unit[layer], columns = network.widths[layer];
    const int width_above = network.widths[layer + 1];
    for (int i = threadIdx.x; i < units; i += BLOCK)
      function(shared.bias[layer][i], parameters[2 * layer - 1][first_unit + i]);
    for (int i = threadIdx.x; i < units * width_above; i += BLOCK)
      function(shared.weight_rows[layer + 1][i], parameters[2 * layer][size_t(first_unit) * width_above + i]);
    if (layer > 1)
      for (int i = threadIdx.x; i < network.widths[layer - 1] * units; i += BLOCK)
        function(shared.weight_columns[layer][i],
                 parameters[2 * layer - 2][size_t(i / units) * columns + first_unit + i % units]);
  }
}

// Write the digits of the first layer's weights to shared memory; returns the inverse of their scale.
__device__ __forceinline__ REAL write_weights(const SharedArrays &shared, const Weights &weights) {
  block_atomic_max(shared.magnitudes, weights.magnitude());
  __syncthreads();
  const int exponent = exponent_of(shared.magnitudes[0]);
  weights.write(shared.weight_planes, power_of_two(BITS - exponent));
  return power_of_two(exponent - BITS);
}

// The first layer's activations of a chunk's rows.
__device__ __forceinline__ void forward_first(const SharedArrays &shared, const Network &network, ImageStream &stream,
                                              const Chunk &chunk, REAL inverse_scale) {
  const int count = chunk.rows * UNITS;
  stream.begin_copy();
  multiply_images(shared.partial_sums, chunk.images, shared.weight_planes, chunk.rows, inverse_scale / 255,
                  [&] { stream.copy_vector(); });
  stream.end_copy();
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += BLOCK)
    shared.activations[1][chunk.first * UNITS + i] =
        i % UNITS < network.units[1]
            ? network.activate(shared.partial_sums[i] + shared.partial_sums[count + i] + shared.bias[1][i % UNITS])
            : REAL(0);
}

// Write the digits of the first layer's deltas of a chunk's rows to shared memory: 0 beyond these rows.
__device__ __forceinline__ void write_deltas(const SharedArrays &shared, const Chunk &chunk, REAL scale) {
  signed char *planes = reinterpret_cast<signed char *>(shared.delta_planes);
  for (int i = threadIdx.x; i < (chunk.rows + DEPTH - 1) / DEPTH * DEPTH * UNITS; i += BLOCK) {
    const int row = i / UNITS, unit = i % UNITS;
    unsigned words[DIGITS / 4] = {};
    if (row < chunk.rows) to_digits(words, shared.deltas[1][chunk.first * UNITS + i], scale);
#pragma unroll
    for (int s = 0; s < DIGITS; ++s) {
      const int plane = (unit / 4 * TILES + s / 2) * 8 + 2 * (unit % 4) + s % 2;
      planes[plane * shared.delta_plane_words * 4 + delta_position(row)] = words[s / 4] >> 8 * (s % 4);
    }
  }
}

// bytes = those of SharedArrays and of the workspace for batches of this size in chunks of chunk_rows rows.
extern "C" __global__ void measure(const int *widths, int layers, int batch, int chunk_rows, long long *bytes) {
  const Network network(widths, layers, 0);
  if (blockIdx.x) return;
  bytes[0] = SharedArrays(nullptr, network, batch, chunk_rows).bytes;
  bytes[1] = Exchange(nullptr, network, batch).bytes;
}

// An epoch of a network with this number of layers of weights; the other arguments are those of `train`.
__device__ __forceinline__ void train_layers(int layers, const unsigned char *pixels, const long long *labels,
                                             const long long *order, REAL *loss, REAL *const *parameters,
                                             const int *widths, void *workspace, int is_relu, int images, int batch,
                                             int chunk_rows, REAL rate, unsigned *counters) {
  extern __shared__ int4 memory[];
  const Network network(widths, layers, is_relu);
  const Exchange exchange(workspace, network, batch);
  const SharedArrays shared(memory, network, batch, chunk_rows);
  GridBarrier barrier = {counters};
  unsigned flag = __ldcg(counters + 2) * ((images + batch - 1) / batch);  // the number of steps of earlier launches
  const int chunks = (batch + chunk_rows - 1) / chunk_rows;
  ImageStream stream = {pixels, order, shared.images, shared.image_indices, images, batch, chunk_rows, chunks};
  Weights weights = {};

  stream.start();
  if (threadIdx.x < 2) shared.magnitudes[threadIdx.x] = 0;
  for_each_parameter(shared, weights, parameters, network, [](REAL &value, REAL &original) { value = original; });
  for (int i = threadIdx.x; i < CLASSES; i += BLOCK) shared.bias[layers][i] = parameters[2 * layers - 1][i];
  __syncthreads();
  REAL inverse_scale = write_weights(shared, weights);

  long long image = LossRows(min(batch, images)).image(0, order);  // loaded a step ahead
  for (int step = 0, first = 0; first < images; ++step, first += batch) {
    const int rows = min(batch, images - first), parity = step % 2, label = image < 0 ? 0 : labels[image];
    const LossRows loss_rows(rows);
    image = LossRows(min(batch, images - first - batch)).image(0, order + first + batch);
    ++flag;
    for (int use = 0; use < chunks; ++use)
      forward_first(shared, network, stream, stream.wait(step, use), inverse_scale);
    __syncthreads();
    if (threadIdx.x < 2) shared.magnitudes[threadIdx.x] = 0;
    for (int layer = 2; layer < layers; ++layer) {
      publish(exchange.activations[parity][layer - 1], shared.activations[layer - 1], network, layer - 1, rows);
      barrier.wait();
      forward_hidden(shared, exchange.activations[parity][layer - 1], network, layer, rows);
    }
    send_logits(exchange, shared, network, rows, flag);
    __syncthreads();
    send_deltas(exchange, shared, network, loss_rows, label, labels, order + first, rate, flag);
    backward_last(exchange, shared, network, rows, chunk_rows, flag);
    if (blockIdx.x == gridDim.x - 1) average_losses(loss + step, exchange, rows, flag);
    for (int layer = layers - 2; layer > 0; --layer) {
      publish(exchange.deltas[layer + 1], shared.deltas[layer + 1], network, layer + 1, rows);
      barrier.wait();
      backward_hidden(shared, exchange.deltas[layer + 1], exchange.activations[parity][layer], network, layer, rows);
    }

    const int exponent = exponent_of(shared.magnitudes[1]);
    Gradient gradient;
    for (int use = chunks; use < 2 * chunks; ++use) {
      const Chunk chunk = stream.wait(step, use);
      write_deltas(shared, chunk, power_of_two(BITS - exponent));
      __syncthreads();
      const bool is_copying = use > chunks;  // at the second use of the last chunk, both buffers are still needed
      if (is_copying) stream.begin_copy();
      gradient.add(chunk.images, shared.delta_planes, shared.delta_plane_words, chunk.rows, [&] {
        if (is_copying) stream.copy_vector();
      });
      if (is_copying) stream.end_copy();
    }
    gradient.update(weights, power_of_two(exponent - BITS) / 255);
    inverse_scale = write_weights(shared, weights);
  }
  for_each_parameter(shared, weights, parameters, network, [](REAL &value, REAL &original) { original = value; });
  if (blockIdx.x == 0)
    for (int i = threadIdx.x; i < CLASSES; i += BLOCK) parameters[2 * layers - 1][i] = shared.bias[layers][i];
  barrier.leave();
  count_launch(counters + 2);
}

#define KERNEL_PARAMETERS                                                                                  \
  const unsigned char *pixels, const long long *labels, const long long *order, REAL *loss,                \
      REAL *const *parameters, const int *widths, void *workspace, int layers, int is_relu, int images,    \
      int batch, int chunk_rows, REAL rate, unsigned *counters
#define ARGUMENTS \
  pixels, labels, order, loss, parameters, widths, workspace, is_relu, images, batch, chunk_rows, rate, counters

extern "C" __global__ void __launch_bounds__(BLOCK, 1) train(KERNEL_PARAMETERS) { train_layers(layers, ARGUMENTS); }

// For networks with one hidden layer: the number of layers is a constant, so that the compiler keeps arrays with an
// element per layer in registers.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) train_shallow(KERNEL_PARAMETERS) { train_layers(2, ARGUMENTS); }
