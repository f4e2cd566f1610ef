// A kernel per macro block (network.h), in two versions, which compute the index of each access by Walk or Offsets. All
// kernels have the same arguments; `layer` is a layer with weights. With its width fan_out and the width fan_in of the
// layer below, its part of `w` and `dw` is (fan_in + 1, fan_out), and its part of `out` and `delta` is (rows, fan_out).
// Kernels compute only the `count` rows that ranpat lists. e numbers the results of a kernel, p the visited patterns, i
// the units of the layer below or the rows of w, j the units of the layer.
//
// Shapes: ranpat (count), targets (rows, width of the last layer), error (1), widths (layers), starts (2 * layers);
// flat.cuh documents the others.
//
// Launch: a grid and a block of at most MAX_BLOCK_THREADS along x, no dynamic shared memory: at least count * fan_out
// threads for `products`, `activations` and `output_error`, count * fan_in for `deltas`, (fan_in + 1) * fan_out for
// `weight_change` and `update`. Excess threads do nothing.
#include "flat.cuh"

#define ARGUMENTS                                                                                                    \
  const long long *ranpat, FLAT_ARRAYS, const int *widths, const long long *starts, int rows, int layers, int count, \
      REAL rate, REAL momentum, int layer

// Sums the sizes of the layers below at each access.
struct Walk {
  const int *widths;
  const long long *starts;  // unused
  int rows, layers;

  __device__ __forceinline__ size_t unit(int layer, int row, int j) const {
    size_t start = 0;
    for (int l = 0; l < layer; ++l) start += size_t(rows) * widths[l];
    return start + size_t(row) * widths[layer] + j;
  }
  __device__ __forceinline__ size_t weight(int layer, int i, int j) const {
    size_t start = 0;
    for (int l = 1; l < layer; ++l) start += size_t(widths[l - 1] + 1) * widths[l];
    return start + size_t(i) * widths[layer] + j;
  }
};

// Looks up the start of the layer in a table, which holds the starts of all layers' units, then those of their weights.
struct Offsets {
  const int *widths;
  const long long *starts;
  int rows, layers;

  __device__ __forceinline__ size_t unit(int layer, int row, int j) const {
    return starts[layer] + size_t(row) * widths[layer] + j;
  }
  __device__ __forceinline__ size_t weight(int layer, int i, int j) const {
    return starts[layers + layer] + size_t(i) * widths[layer] + j;
  }
};

// z (count, fan_out) = activation (count, fan_in) W, with the bias in row 0 of W.
template <class Index>
__device__ void products(ARGUMENTS) {
  const Index index{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer], j = e % widths[layer];
  if (p >= count) return;
  const int row = ranpat[p];
  REAL z = w[index.weight(layer, 0, j)];
  for (int i = 0; i < widths[layer - 1]; ++i)
    z += out[index.unit(layer - 1, row, i)] * w[index.weight(layer, i + 1, j)];
  out[index.unit(layer, row, j)] = z;
}

// out (count, fan_out) <- sigmoid(out).
template <class Index>
__device__ void activations(ARGUMENTS) {
  const Index index{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer], j = e % widths[layer];
  if (p >= count) return;
  REAL &z = out[index.unit(layer, ranpat[p], j)];
  z = sigmoid(z);
}

// Deltas (count, fan_out) of the output layer; every thread adds to the error atomically.
template <class Index>
__device__ void output_error(ARGUMENTS) {
  const Index index{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer], j = e % widths[layer];
  if (p >= count) return;
  const int row = ranpat[p];
  const REAL o = out[index.unit(layer, row, j)], residual = targets[size_t(row) * widths[layer] + j] - o;
  atomicAdd(error, residual * residual / 2);
  delta[index.unit(layer, row, j)] = residual * slope(o);
}

// Deltas (count, fan_in) of the layer below.
template <class Index>
__device__ void deltas(ARGUMENTS) {
  const Index index{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer - 1], i = e % widths[layer - 1];
  if (p >= count) return;
  const int row = ranpat[p];
  REAL sum = 0;
  for (int j = 0; j < widths[layer]; ++j) sum += delta[index.unit(layer, row, j)] * w[index.weight(layer, i + 1, j)];
  delta[index.unit(layer - 1, row, i)] = sum * slope(out[index.unit(layer - 1, row, i)]);
}

// dw (fan_in + 1, fan_out): a thread per weight, over all patterns.
template <class Index>
__device__ void weight_change(ARGUMENTS) {
  const Index index{widths, starts, rows, layers};
  const unsigned e = linear_index(), i = e / widths[layer], j = e % widths[layer];
  if (i > widths[layer - 1]) return;
  REAL sum = 0;
  for (int p = 0; p < count; ++p) {
    const int row = ranpat[p];
    sum += (i ? out[index.unit(layer - 1, row, i - 1)] : REAL(1)) * delta[index.unit(layer, row, j)];
  }
  REAL &change = dw[index.weight(layer, i, j)];
  change = momentum * change + rate * sum;
}

// w (fan_in + 1, fan_out) <- w + dw.
template <class Index>
__device__ void update(ARGUMENTS) {
  const Index index{widths, starts, rows, layers};
  const unsigned e = linear_index(), i = e / widths[layer], j = e % widths[layer];
  if (i <= widths[layer - 1]) w[index.weight(layer, i, j)] += dw[index.weight(layer, i, j)];
}

#define KERNEL(macro_block, index, Index)                                                                              \
  extern "C" __global__ void __launch_bounds__(MAX_BLOCK_THREADS) macro_block##_##index(ARGUMENTS) {                   \
    macro_block<Index>(ranpat, targets, out, delta, w, dw, error, widths, starts, rows, layers, count, rate, momentum, \
                 layer);                                                                                               \
  }
#define KERNELS(index, Index)         \
  KERNEL(products, index, Index)      \
  KERNEL(activations, index, Index)   \
  KERNEL(output_error, index, Index)  \
  KERNEL(deltas, index, Index)        \
  KERNEL(weight_change, index, Index) \
  KERNEL(update, index, Index)
KERNELS(walk, Walk)
KERNELS(offsets, Offsets)
