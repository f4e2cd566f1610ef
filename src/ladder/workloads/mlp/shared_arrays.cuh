// What the parts of the persistent training share: the network, a block's units, and its arrays in shared memory.
#pragma once
#include "first_layer.cuh"
#include "grid.cuh"

// MAX_LAYERS counts the input as layer 0: a network has at most MAX_LAYERS - 1 layers of weights.
constexpr int CLASSES = 10, MAX_LAYERS = 8;

// The layers of weights are numbered from 1 to `layers`; layer l has widths[l - 1] inputs and widths[l] units, of which
// the block has units[l] from first_unit[l] on if it is hidden, and no block has more than max_units[l].
struct Network {
  int layers, is_relu, widths[MAX_LAYERS], first_unit[MAX_LAYERS], units[MAX_LAYERS], max_units[MAX_LAYERS];

  __device__ Network(const int *all_widths, int layers, int is_relu) : layers(layers), is_relu(is_relu) {
    for (int layer = 0; layer <= layers; ++layer) {
      const long long width = widths[layer] = all_widths[layer];
      first_unit[layer] = width * blockIdx.x / gridDim.x;
      units[layer] = width * (blockIdx.x + 1) / gridDim.x - first_unit[layer];
      max_units[layer] = (width + gridDim.x - 1) / gridDim.x;
    }
  }

  __device__ __forceinline__ REAL activate(REAL z) const { return is_relu ? max(z, REAL(0)) : 1 / (1 + exp(-z)); }
  // The derivative of the activation, from its value.
  __device__ __forceinline__ REAL slope(REAL a) const { return is_relu ? REAL(a > 0) : a * (1 - a); }
};

// Raise a word in shared memory, 0 at first, to the largest value that any thread of the block passes. All of them call
// this; after the next __syncthreads(), they agree on the word.
__device__ __forceinline__ void block_atomic_max(unsigned *word, unsigned value) {
  value = __reduce_max_sync(~0u, value);
  if (threadIdx.x % WARP == 0) atomicMax(word, value);
}

// Consecutive arrays in memory, each aligned to 16 bytes.
struct Allocator {
  char *memory;
  long long bytes;

  template <class Type>
  __device__ __forceinline__ Type *take(long long count) {
    Type *array = reinterpret_cast<Type *>(memory + bytes);
    bytes += (count * (long long)sizeof(Type) + 15) / 16 * 16;
    return array;
  }
};

// A block's arrays in shared memory; `chunk_rows` is the number of rows that it processes at once, `u` that of its
// units of a layer. Rows of activations and deltas have UNITS elements, the last of which are 0 if the block has fewer
// units.
struct SharedArrays {
  // Two buffers of the ImageStream, each with four words of padding, and the indices of their images.
  unsigned *images;    // (2, chunk_rows * IMAGE_WORDS + 4)
  int *image_indices;  // (2, chunk_rows)
  // Digits of the first layer's weights, and of its deltas of a chunk's rows: a plane per column of operand B
  // (first_layer.cuh).
  unsigned *weight_planes;  // (PLANES, WEIGHT_PLANE_WORDS)
  unsigned *delta_planes;   // (PLANES, delta_plane_words)
  REAL *partial_sums;       // (2, chunk_rows, UNITS), of the first layer: see multiply_images()
  REAL *team_sums;          // (BLOCK), of the logits: see send_deltas()
  REAL *warp_sums;          // (WARPS, (UNITS + 1) * CLASSES + UNITS), of the gradients: see backward_last()
  REAL *last_deltas;        // (chunk_rows, CLASSES)
  REAL *activations[MAX_LAYERS], *deltas[MAX_LAYERS];  // of hidden layers: (batch, UNITS)
  REAL *bias[MAX_LAYERS];                              // of hidden layers (u), of the last layer (CLASSES)
  REAL *weight_columns[MAX_LAYERS];  // of hidden layers from 2 on: (fan_in, u)
  REAL *weight_rows[MAX_LAYERS];     // of layers from 2 on: (u of the layer before, fan_out)
  unsigned *magnitudes;   // (2): the largest magnitude_bits() of the weights, and of the deltas, of the first layer
  int delta_plane_words;  // of a plane of deltas
  long long bytes;        // of all arrays

  __device__ SharedArrays(void *memory, const Network &network, int batch, int chunk_rows) {
    Allocator allocator = {static_cast<char *>(memory), 0};
    const int last = network.layers;
    // A digit is a byte, and a plane's rows are whole steps of DEPTH; 4 more words avoid bank conflicts, as in
    // WEIGHT_PLANE_WORDS.
    delta_plane_words = (chunk_rows + DEPTH - 1) / DEPTH * (DEPTH / 4) + 4;
    images = allocator.take<unsigned>(2 * (chunk_rows * IMAGE_WORDS + 4));
    image_indices = allocator.take<int>(2 * chunk_rows);
    weight_planes = allocator.take<unsigned>(PLANES * WEIGHT_PLANE_WORDS);
    delta_planes = allocator.take<unsigned>(PLANES * delta_plane_words);
    partial_sums = allocator.take<REAL>(2 * chunk_rows * UNITS);
    team_sums = allocator.take<REAL>(BLOCK);
    warp_sums = allocator.take<REAL>(WARPS * ((UNITS + 1) * CLASSES + UNITS));
    last_deltas = allocator.take<REAL>(chunk_rows * CLASSES);
    magnitudes = allocator.take<unsigned>(2);
    bias[last] = allocator.take<REAL>(CLASSES);
    for (int layer = 1; layer < last; ++layer) {
      const int count = network.max_units[layer];
      activations[layer] = allocator.take<REAL>(batch * UNITS);
      deltas[layer] = allocator.take<REAL>(batch * UNITS);
      bias[layer] = allocator.take<REAL>(count);
      weight_rows[layer + 1] = allocator.take<REAL>(count * network.widths[layer + 1]);
      if (layer > 1) weight_columns[layer] = allocator.take<REAL>(network.widths[layer - 1] * count);
    }
    bytes = allocator.bytes;
  }
};

// Arrays in global memory through which blocks exchange values; B is the number of blocks, w a hidden layer's width.
struct Exchange {
  // Flagged values (see grid.cuh), whose flag is the number of the step over all launches: each block's share of the
  // logits, without the bias (batch, B, CLASSES, VALUE_WORDS), the last layer's deltas (batch, CLASSES, VALUE_WORDS),
  // and losses (batch, VALUE_WORDS). One copy of each suffices, because nothing is overwritten before it has been read.
  // A block stores a step's logits only after it has read all deltas of the step before. Whoever wrote those deltas had
  // read this block's logits of that step. A block stores deltas and losses only after it has read logits of their step
  // from all blocks, which had read the deltas and losses of the step before.
  unsigned long long *logits, *last_deltas, *losses;
  // Of each hidden layer (batch, w), not used for the last one; twice, as a block may still read the previous batch's.
  REAL *activations[2][MAX_LAYERS];
  REAL *deltas[MAX_LAYERS];  // of each hidden layer (batch, w), not used for the first one

  long long bytes;         // of all arrays

  __device__ Exchange(void *workspace, const Network &network, int batch) {
    Allocator allocator = {static_cast<char *>(workspace), 0};
    logits = allocator.take<unsigned long long>((long long)batch * gridDim.x * CLASSES * VALUE_WORDS);
    last_deltas = allocator.take<unsigned long long>(batch * CLASSES * VALUE_WORDS);
    losses = allocator.take<unsigned long long>(batch * VALUE_WORDS);
    for (int layer = 1; layer < network.layers; ++layer) {
      const long long count = (long long)batch * network.widths[layer];
      activations[0][layer] = allocator.take<REAL>(count);
      activations[1][layer] = allocator.take<REAL>(count);
      deltas[layer] = allocator.take<REAL>(count);
    }
    bytes = allocator.bytes;
  }
};
