// Eight functions, some in several versions, are the study's eleven kernels; cuda_kernels.py numbers these. All have
// the same arguments; `layer` is a layer with weights, a Layer, whose shapes layer.cuh documents. Below, (count, ...)
// are the `count` rows of such an array that ranpat lists. e numbers the results of a kernel, p the visited patterns, i
// the units of the layer below, j those of the layer.
//
// Launch, with blocks of whole warps and at most MAX_BLOCK_THREADS threads; excess threads do nothing:
//   *_tiled          grid ceil(rows / height) * ceil(columns / TILE) of the result, block (TILE, height), dynamic
//                    shared memory of height * (TILE + 1) + TILE * TILE elements
//   *_whole          as `others`, dynamic shared memory of (fan_in + 1) * (fan_out | 1) elements
//   bias_change      grid fan_out, dynamic shared memory of an element per warp
//   error_*          at least `count` threads along x; error_block also dynamic shared memory of an element per warp
//   others           at least as many threads along x as the result has elements
#include "flat.cuh"
#include "layer.cuh"
#include "warp.cuh"

// The weights of a layer, (fan_in + 1, fan_out), in global memory, or copied to shared memory with an odd stride, so
// that rows begin in different banks.
struct Weights {
  const REAL *elements;
  int stride;
  __device__ __forceinline__ REAL operator()(int i, int j) const { return elements[i * stride + j]; }
};

extern __shared__ REAL memory[];

template <class AnyLayer>
__device__ __forceinline__ Weights copy_to_shared_memory(const AnyLayer &layer) {
  const int stride = layer.fan_out | 1;
  for (int e = threadIdx.x; e < (layer.fan_in + 1) * layer.fan_out; e += blockDim.x)
    memory[e / layer.fan_out * stride + e % layer.fan_out] = layer.w[e];
  __syncthreads();  // all weights are copied
  return {memory, stride};
}

// Products: out (count, fan_out) = below (count, fan_in) W, with the bias in row 0, a thread per unit and pattern.
template <class AnyLayer>
__device__ __forceinline__ void weighted_sum(const AnyLayer &layer, const Weights w) {
  const unsigned e = linear_index(), p = e / layer.fan_out, j = e % layer.fan_out;
  if (p >= layer.count) return;
  const size_t row = layer.row(p);
  const REAL *x = layer.out_below + row * layer.fan_in;
  REAL z = w(0, j);
  for (int i = 0; i < layer.fan_in; ++i) z += x[i] * w(i + 1, j);
  layer.out[row * layer.fan_out + j] = z;
}
template <class AnyLayer>
__device__ void products_global(const AnyLayer &layer) {
  weighted_sum(layer, {layer.w, layer.fan_out});
}
template <class AnyLayer>
__device__ void products_whole(const AnyLayer &layer) {
  weighted_sum(layer, copy_to_shared_memory(layer));
}

// A block's tile of a matrix: blockDim.y rows and TILE columns, an element per thread.
constexpr int TILE = 16;
struct BlockTile {
  int rows, columns, top, left, row, column;
  __device__ __forceinline__ BlockTile(int rows, int columns) : rows(rows), columns(columns) {
    const int tile_columns = (columns + TILE - 1) / TILE;
    top = blockIdx.x / tile_columns * blockDim.y, left = blockIdx.x % tile_columns * TILE;
    row = top + threadIdx.y, column = left + threadIdx.x;
  }
  __device__ __forceinline__ bool is_inside() const { return row < rows && column < columns; }
};

// The sum over `terms` of a(row, term) b(term, column), functions of the indices, by tiles of both in shared memory.
// `b` is contiguous along columns; `a` is contiguous along terms if `along_terms`, else along rows.
template <bool along_terms, class A, class B>
__device__ __forceinline__ REAL tiled_sum(const BlockTile tile, int terms, A a, B b) {
  const int height = blockDim.y, thread = threadIdx.y * TILE + threadIdx.x;
  const int y = along_terms ? thread / TILE : thread % height, k = along_terms ? thread % TILE : thread / height;
  const int row = tile.top + y;
  REAL *const tile_a = memory, *const tile_b = memory + height * (TILE + 1);
  REAL sum = 0;
  for (int start = 0; start < terms; start += TILE) {
    tile_a[y * (TILE + 1) + k] = row < tile.rows && start + k < terms ? a(row, start + k) : REAL(0);
    for (int e = thread; e < TILE * TILE; e += height * TILE) {
      const int term = start + e / TILE, column = tile.left + e % TILE;
      tile_b[e] = term < terms && column < tile.columns ? b(term, column) : REAL(0);
    }
    __syncthreads();  // the tiles are complete
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum += tile_a[threadIdx.y * (TILE + 1) + k] * tile_b[k * TILE + threadIdx.x];
    __syncthreads();  // all threads have read the tiles
  }
  return sum;
}

// Products by tiles of both operands in shared memory.
template <class AnyLayer>
__device__ void products_tiled(const AnyLayer &layer) {
  const auto x = [&](int p, int i) { return layer.out_below[layer.row(p) * layer.fan_in + i]; };
  const auto w = [&](int i, int j) { return layer.w[(i + 1) * layer.fan_out + j]; };
  const BlockTile tile(layer.count, layer.fan_out);
  const REAL sum = tiled_sum<true>(tile, layer.fan_in, x, w);
  if (tile.is_inside()) layer.out[layer.row(tile.row) * layer.fan_out + tile.column] = layer.w[tile.column] + sum;
}

// Deltas (count, fan_in) of the layer below, a thread per unit and pattern.
template <class AnyLayer>
__device__ __forceinline__ void hidden_delta(const AnyLayer &layer, const Weights w) {
  const unsigned e = linear_index(), p = e / layer.fan_in, i = e % layer.fan_in;
  if (p >= layer.count) return;
  const size_t row = layer.row(p), index = row * layer.fan_in + i;
  const REAL *delta = layer.delta + row * layer.fan_out;
  REAL sum = 0;
  for (int j = 0; j < layer.fan_out; ++j) sum += delta[j] * w(i + 1, j);
  layer.delta_below[index] = sum * slope(layer.out_below[index]);
}
template <class AnyLayer>
__device__ void hidden_deltas_global(const AnyLayer &layer) {
  hidden_delta(layer, {layer.w, layer.fan_out});
}
template <class AnyLayer>
__device__ void hidden_deltas_whole(const AnyLayer &layer) {
  hidden_delta(layer, copy_to_shared_memory(layer));
}

// out (count, fan_out) <- sigmoid(out).
template <class AnyLayer>
__device__ void activations(const AnyLayer &layer) {
  const unsigned e = linear_index(), p = e / layer.fan_out, j = e % layer.fan_out;
  if (p >= layer.count) return;
  REAL &z = layer.out[layer.row(p) * layer.fan_out + j];
  z = sigmoid(z);
}

// The error of this thread's pattern; 0 in threads without a pattern.
template <class AnyLayer>
__device__ __forceinline__ REAL error_of_pattern(const AnyLayer &layer) {
  const unsigned p = linear_index();
  if (p >= layer.count) return 0;
  const size_t first = layer.row(p) * layer.outputs;
  REAL sum = 0;
  for (int k = 0; k < layer.outputs; ++k) {
    const REAL residual = layer.targets[first + k] - layer.out[first + k];
    sum += residual * residual;
  }
  return sum / 2;
}

// An atomic addition by compare-and-swap, which is repeated until no other thread has interfered.
__device__ __forceinline__ void atomic_add_by_cas(float *to, float value) {
  int *const bits = reinterpret_cast<int *>(to);
  for (int old = *bits, assumed = ~old; old != assumed;)
    old = atomicCAS(bits, assumed = old, __float_as_int(__int_as_float(old) + value));
}
__device__ __forceinline__ void atomic_add_by_cas(double *to, double value) {
  auto *const bits = reinterpret_cast<unsigned long long *>(to);
  for (unsigned long long old = *bits, assumed = ~old; old != assumed;)
    old = atomicCAS(bits, assumed = old, __double_as_longlong(__longlong_as_double(old) + value));
}

// The sum of a value over a block's threads (whole warps), valid in its first thread.
__device__ __forceinline__ REAL sum_over_block(REAL value) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  value = sum_of_warp(value);
  if (lane == 0) memory[warp] = value;
  __syncthreads();  // the sums of all warps are complete
  return warp ? REAL(0) : sum_of_warp(lane < blockDim.x / WARP ? memory[lane] : REAL(0));
}

// error (1) += the errors of all patterns: atomically, by compare-and-swap, or atomically after a reduction by block.
template <class AnyLayer>
__device__ void error_atomic(const AnyLayer &layer) {
  if (linear_index() < layer.count) atomicAdd(layer.error, error_of_pattern(layer));
}
template <class AnyLayer>
__device__ void error_emulated(const AnyLayer &layer) {
  if (linear_index() < layer.count) atomic_add_by_cas(layer.error, error_of_pattern(layer));
}
template <class AnyLayer>
__device__ void error_block(const AnyLayer &layer) {
  const REAL sum = sum_over_block(error_of_pattern(layer));
  if (threadIdx.x == 0) atomicAdd(layer.error, sum);
}

// Deltas (count, outputs) of the output layer.
template <class AnyLayer>
__device__ void output_deltas(const AnyLayer &layer) {
  const unsigned e = linear_index(), p = e / layer.outputs, k = e % layer.outputs;
  if (p >= layer.count) return;
  const size_t index = layer.row(p) * layer.outputs + k;
  layer.delta[index] = (layer.targets[index] - layer.out[index]) * slope(layer.out[index]);
}

// dw[i][j] <- momentum dw[i][j] + rate sum.
template <class AnyLayer>
__device__ __forceinline__ void store_change(const AnyLayer &layer, int i, int j, REAL sum) {
  REAL &dw = layer.dw[i * layer.fan_out + j];
  dw = layer.momentum * dw + layer.rate * sum;
}

// dw (fan_in + 1, fan_out) without row 0: a thread per weight, over all patterns.
template <class AnyLayer>
__device__ void weight_change_global(const AnyLayer &layer) {
  const unsigned e = linear_index(), i = e / layer.fan_out, j = e % layer.fan_out;
  if (i >= layer.fan_in) return;
  REAL sum = 0;
  for (int p = 0; p < layer.count; ++p) {
    const size_t row = layer.row(p);
    sum += layer.out_below[row * layer.fan_in + i] * layer.delta[row * layer.fan_out + j];
  }
  store_change(layer, i + 1, j, sum);
}
// The same by tiles of both operands in shared memory.
template <class AnyLayer>
__device__ void weight_change_tiled(const AnyLayer &layer) {
  const auto x = [&](int i, int p) { return layer.out_below[layer.row(p) * layer.fan_in + i]; };
  const auto delta = [&](int p, int j) { return layer.delta[layer.row(p) * layer.fan_out + j]; };
  const BlockTile tile(layer.fan_in, layer.fan_out);
  const REAL sum = tiled_sum<false>(tile, layer.count, x, delta);
  if (tile.is_inside()) store_change(layer, tile.row + 1, tile.column, sum);
}

// Row 0 of dw (fan_in + 1, fan_out): a block per unit.
template <class AnyLayer>
__device__ void bias_change(const AnyLayer &layer) {
  REAL sum = 0;
  for (int p = threadIdx.x; p < layer.count; p += blockDim.x)
    sum += layer.delta[layer.row(p) * layer.fan_out + blockIdx.x];
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) store_change(layer, 0, blockIdx.x, sum);
}

// w (fan_in + 1, fan_out) <- w + dw.
template <class AnyLayer>
__device__ void update(const AnyLayer &layer) {
  const unsigned e = linear_index();
  if (e < (layer.fan_in + 1) * layer.fan_out) layer.w[e] += layer.dw[e];
}

#define KERNEL(name, scalars, tables)                                                                          \
  extern "C" __global__ void __launch_bounds__(MAX_BLOCK_THREADS) name##_##scalars##_##tables(ARGUMENTS) {     \
    name(Layer<scalars, tables>(ranpat, widths, targets, out, delta, w, dw, error, rows, count, outputs, rate, \
                                momentum, layer));                                                             \
  }
#define KERNELS(scalars, tables)                 \
  KERNEL(products_global, scalars, tables)       \
  KERNEL(products_tiled, scalars, tables)        \
  KERNEL(products_whole, scalars, tables)        \
  KERNEL(hidden_deltas_global, scalars, tables)  \
  KERNEL(hidden_deltas_whole, scalars, tables)   \
  KERNEL(activations, scalars, tables)           \
  KERNEL(error_atomic, scalars, tables)          \
  KERNEL(error_emulated, scalars, tables)        \
  KERNEL(error_block, scalars, tables)           \
  KERNEL(output_deltas, scalars, tables)         \
  KERNEL(weight_change_global, scalars, tables)  \
  KERNEL(weight_change_tiled, scalars, tables)   \
  KERNEL(bias_change, scalars, tables)           \
  KERNEL(update, scalars, tables)
KERNELS(argument, global)
KERNELS(argument, readonly)
KERNELS(argument, texture)
KERNELS(constant, global)
KERNELS(constant, readonly)
KERNELS(constant, texture)
