// Every macro block with an index function at each access. Each kernel has two versions, one per index function. All
// have the same arguments; `layer` is the one whose weights are used, and also that of the units above them. With
// fan_in and fan_out the widths of the layers below and above, its part of `w` and `dw` is (fan_in + 1, fan_out), that
// of `out` and `delta` (rows, fan_out); of rows, the `count` that ranpat lists are computed.
//
// Shapes: ranpat (count), targets (rows, width of the last layer), error (1), widths (layers), starts (2 layers); see
// flat.cuh for the others.
//
// Launch: a grid and a block of at most MAX_THREADS along x, no dynamic shared memory: at least count * fan_out threads
// for `products`, `activations` and `output_error`, count * fan_in for `deltas`, (fan_in + 1) * fan_out for
// `weight_change` and `update`. Excess threads do nothing.
#include "flat.cuh"

#define ARGUMENTS                                                                                               \
  const long long *ranpat, FLAT_ARRAYS, const int *widths, const long long *starts, int rows, int layers, int count, \
      REAL rate, REAL momentum, int layer

// Walks through the layers below.
struct Walk {
  const int *widths;
  const long long *starts;  // unused
  int rows, layers;

  __device__ __forceinline__ size_t unit(int layer, int row, int j) const {
    size_t at = 0;
    for (int below = 0; below < layer; ++below) at += size_t(rows) * widths[below];
    return at + size_t(row) * widths[layer] + j;
  }
  __device__ __forceinline__ size_t weight(int layer, int i, int j) const {
    size_t at = 0;
    for (int above = 1; above < layer; ++above) at += size_t(widths[above - 1] + 1) * widths[above];
    return at + size_t(i) * widths[layer] + j;
  }
};

// Looks up the start of the layer in a table: first those of the units of all layers, then those of the weights.
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
  const Index at{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer], j = e % widths[layer];
  if (p >= count) return;
  const int row = ranpat[p];
  REAL z = w[at.weight(layer, 0, j)];
  for (int i = 0; i < widths[layer - 1]; ++i)
    z += out[at.unit(layer - 1, row, i)] * w[at.weight(layer, i + 1, j)];
  out[at.unit(layer, row, j)] = z;
}

// out (count, fan_out) <- sigmoid(out).
template <class Index>
__device__ void activations(ARGUMENTS) {
  const Index at{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer], j = e % widths[layer];
  if (p >= count) return;
  REAL &z = out[at.unit(layer, ranpat[p], j)];
  z = sigmoid(z);
}

// Deltas (count, fan_out) of the output layer; every thread adds to the error atomically.
template <class Index>
__device__ void output_error(ARGUMENTS) {
  const Index at{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer], j = e % widths[layer];
  if (p >= count) return;
  const int row = ranpat[p];
  const REAL o = out[at.unit(layer, row, j)], off = targets[size_t(row) * widths[layer] + j] - o;
  atomicAdd(error, off * off / 2);
  delta[at.unit(layer, row, j)] = off * slope(o);
}

// Deltas (count, fan_in) of the layer below.
template <class Index>
__device__ void deltas(ARGUMENTS) {
  const Index at{widths, starts, rows, layers};
  const unsigned e = linear_index(), p = e / widths[layer - 1], i = e % widths[layer - 1];
  if (p >= count) return;
  const int row = ranpat[p];
  REAL sum = 0;
  for (int j = 0; j < widths[layer]; ++j) sum += delta[at.unit(layer, row, j)] * w[at.weight(layer, i + 1, j)];
  delta[at.unit(layer - 1, row, i)] = sum * slope(out[at.unit(layer - 1, row, i)]);
}

// dw (fan_in + 1, fan_out): a thread per weight, over all patterns.
template <class Index>
__device__ void weight_change(ARGUMENTS) {
  const Index at{widths, starts, rows, layers};
  const unsigned e = linear_index(), i = e / widths[layer], j = e % widths[layer];
  if (i > widths[layer - 1]) return;
  REAL sum = 0;
  for (int p = 0; p < count; ++p) {
    const int row = ranpat[p];
    sum += (i ? out[at.unit(layer - 1, row, i - 1)] : REAL(1)) * delta[at.unit(layer, row, j)];
  }
  REAL &change = dw[at.weight(layer, i, j)];
  change = momentum * change + rate * sum;
}

// w (fan_in + 1, fan_out) <- w + dw.
template <class Index>
__device__ void update(ARGUMENTS) {
  const Index at{widths, starts, rows, layers};
  const unsigned e = linear_index(), i = e / widths[layer], j = e % widths[layer];
  if (i <= widths[layer - 1]) w[at.weight(layer, i, j)] += dw[at.weight(layer, i, j)];
}

#define KERNEL(block, index, Index)                                                                                \
  extern "C" __global__ void __launch_bounds__(MAX_THREADS) block##_##index(ARGUMENTS) {                           \
    block<Index>(ranpat, targets, out, delta, w, dw, error, widths, starts, rows, layers, count, rate, momentum,   \
                 layer);                                                                                           \
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
