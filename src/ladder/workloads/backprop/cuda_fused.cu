// An epoch in three kernels. In `forward_backward`, a block computes the activations and deltas of all layers for BM
// patterns, all in its shared memory; it stores the deltas of the first layer, and the tile's gradients of all other
// weights. `accumulate_gradients` multiplies images by deltas for the first layer's gradient, each block for some of
// the patterns. `update` adds the partial gradients of all blocks, in a fixed order, and updates the weights.
//
// Shapes: images (rows, 784), targets (rows, 10), ranpat (count), delta (ceil(width / (8 TN)), tiles * BM, STRIDE),
// sums (tiles, stride), parts (gridDim.y, 784, width).
//
// Launch: `forward_backward` grid (tiles), block BM; `accumulate_gradients` grid (784 / pixels of a block, parts,
// ceil(width / (8 TN))), block its warps; `update` grid (the tables' ceil(count / 32)), block 32 x 16. Dynamic shared
// memory: see cuda_fused.py. TN: units of the first layer in an eighth of a product's columns. TP: in
// `accumulate_gradients`, pixels of one of the 4 (TF32: 8) groups of a warp's threads.
#include "fused_layers.cuh"
#include "fused_products.cuh"
#include "ptx/async_copy.cuh"
#include "warp.cuh"

constexpr int PIXELS = 784, OUTPUTS = 10;
constexpr int V = 16 / sizeof(REAL);
constexpr int BK = FLOAT64 ? 16 : 32;  // pixels of one of the two stages in `forward_backward`
constexpr int X_ROW = BK + V;          // rows begin in different banks
constexpr int STAGE = BM * X_ROW + BK * STRIDE;
static_assert(BM % WARP == 0 && BM <= 1024, "BM must be a multiple of 32, at most 1024.");

extern __shared__ Some<4> memory[];

// Start to copy rows of the first layer's weights w (rows, fan_out) to (rows, STRIDE), by accesses of BY elements;
// `units` of a row remain from here on.
template <int BY>
__device__ __forceinline__ void load_weights(REAL *to, const REAL *w, int rows, int fan_out, int units) {
  for (int k = threadIdx.x / WARP; k < rows; k += WARPS)
#pragma unroll
    for (int u = threadIdx.x % WARP * BY; u < UNITS; u += WARP * BY)
      copy_async<BY * sizeof(REAL)>(to + k * STRIDE + u, w + k * fan_out + u, u < units);
}

// Start the copies of a stage: BK pixels of the tile's rows (BM) of images (images, 784) from `first` on, and the same
// rows of the weights w (784, fan_out). A stage has (BM, X_ROW) and (BK, STRIDE) elements.
__device__ __forceinline__ void load(REAL *stage, const REAL *images, const int *rows, const REAL *w, int fan_out,
                                     int units, int first) {
  constexpr int COPIES = BK / V;  // of a row
  const int pixels = min(BK, PIXELS - first), pixel = threadIdx.x % COPIES * V;
  if (pixel < pixels)
#pragma unroll
    for (int row = threadIdx.x / COPIES; row < BM; row += BM / COPIES)
      copy_async<16>(stage + row * X_ROW + pixel, images + size_t(rows[row]) * PIXELS + first + pixel, true);
  stage += BM * X_ROW;
  w += size_t(first) * fan_out;
  if (fan_out % V)
    load_weights<1>(stage, w, pixels, fan_out, units);
  else
    load_weights<V>(stage, w, pixels, fan_out, units);
}

// The weighted sums of the first layer for UNITS units, in `product`: arrays as above, stages (2, STAGE).
template <class Product>
__device__ __forceinline__ void multiply(Product &product, REAL *stages, const REAL *images, const int *rows,
                                         const REAL *w, int fan_out, int units) {
  load(stages, images, rows, w, fan_out, units, 0);
  commit_copies();
  for (int first = 0, s = 0; first < PIXELS; first += BK, s ^= 1) {
    wait_for_groups<0>();
    __syncthreads();  // the stage is complete, and the previous one has been read: its buffer is filled next
    if (first + BK < PIXELS) load(stages + (s ^ 1) * STAGE, images, rows, w, fan_out, units, first + BK);
    commit_copies();
    const REAL *x = stages + s * STAGE, *of_units = x + BM * X_ROW;
    for (int k = 0; k < min(BK, PIXELS - first); k += STEPS) product.add(x + k, of_units + k * STRIDE);
  }
  wait_for_copies();
  __syncthreads();  // all threads have read the stages
}

// The kernel's body, for layers (last + 1). A delta overwrites its activation. `values_at` and `matrices_at` are the
// offsets in shared memory of values and weights, in elements after the BM row numbers; a row of `sums` has a tile's
// gradients of the first biases and of the other layers, and its error.
template <class Product>
__device__ __forceinline__ void forward_backward_by(Product product, const REAL *images, const REAL *targets,
                                                    const long long *ranpat, const Layer *layers, int last, int count,
                                                    REAL *delta, REAL *sums, int stride, int values_at,
                                                    int matrices_at) {
  int *rows = reinterpret_cast<int *>(memory);
  REAL *stages = reinterpret_cast<REAL *>(rows + BM), *values = stages + values_at;
  REAL *const biases = stages + matrices_at;
  const int pattern = blockIdx.x * BM + threadIdx.x, width = layers[1].width;
  const Product fresh = product;
  rows[threadIdx.x] = ranpat[min(pattern, count - 1)];
  load_matrix(biases, layers[1].w, 1, width);
  REAL *matrix = biases + padded(width);
  for (int l = 2; l <= last; ++l) {
    const int below = layers[l - 1].width, columns = layers[l].width;
    load_matrix(matrix, layers[l].w, 1 + below, columns);
    matrix += (1 + padded(below)) * padded(columns);
  }
  __syncthreads();  // the row numbers are complete
  for (int first = 0; first < width; first += UNITS) {
    product = fresh;
    multiply(product, stages, images, rows, layers[1].w + width + first, width, width - first);
    product.each([&](int p, int u, REAL sum) {
      u += first;
      const REAL value = sigmoid(sum + biases[min(u, width - 1)]);
      if (u < padded(width)) values[u * VALUE_ROW + p] = u < width ? value : 0;
    });
  }
  REAL target[OUTPUTS];  // loaded early, before the layers whose outputs they are compared with
#pragma unroll
  for (int j = 0; j < OUTPUTS; ++j) target[j] = targets[size_t(rows[threadIdx.x]) * OUTPUTS + j];

  REAL *above = values;
  matrix = biases + padded(width);
  for (int l = 2; l <= last; ++l) {
    const int below = padded(layers[l - 1].width), columns = layers[l].width, row = padded(columns);
    REAL *out = above + below * VALUE_ROW;
    __syncthreads();  // the activations below are complete
    weighted<false>(above, below, matrix + row, row, row, [&](int u, int p, Some<4> &sums) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const REAL value = sigmoid(sums.value[i] + matrix[u]);
        sums.value[i] = u < columns ? value : 0;
      }
      *reinterpret_cast<Some<4> *>(out + u * VALUE_ROW + p) = sums;
    });
    matrix += (1 + below) * row;
    above = out;
  }
  __syncthreads();  // the outputs are complete
  REAL error = 0;
#pragma unroll
  for (int j = 0; j < OUTPUTS; ++j) {
    REAL &value = above[j * VALUE_ROW + threadIdx.x];
    const REAL off = pattern < count ? target[j] - value : 0;  // patterns after the last have no delta
    error += off * off / 2;
    value = off * value * (1 - value);
  }

  sums += size_t(blockIdx.x) * stride;
  REAL *const end = sums + stride - 1, *behind = end;
  for (int l = last; l >= 2; --l) {
    const int below = layers[l - 1].width, columns = layers[l].width, row = padded(columns);
    REAL *values_below = above - padded(below) * VALUE_ROW;
    behind -= (1 + below) * columns;
    matrix -= (1 + padded(below)) * row;
    __syncthreads();  // the deltas of all patterns are complete
    changes(values_below, below, above, columns, behind + columns);
    bias_changes(above, columns, behind);
    __syncthreads();  // the activations below have been read
    weighted<true>(above, row, matrix + row, row, padded(below), [&](int u, int p, Some<4> &sums) {
      Some<4> &value = *reinterpret_cast<Some<4> *>(values_below + u * VALUE_ROW + p);
#pragma unroll
      for (int i = 0; i < 4; ++i) sums.value[i] *= value.value[i] * (1 - value.value[i]);
      value = sums;
    });
    above = values_below;
  }
  __syncthreads();  // the first layer's deltas are complete
  bias_changes(values, width, sums);
  for (int first = 0; first < width; first += UNITS) {
    REAL *to = delta + (size_t(first / UNITS) * gridDim.x + blockIdx.x) * BM * STRIDE;
    for (int u = threadIdx.x % STEPS; u < UNITS; u += STEPS)
#pragma unroll
      for (int p = threadIdx.x / STEPS; p < BM; p += BM / STEPS)
        to[p * STRIDE + u] = first + u < width ? values[(first + u) * VALUE_ROW + p] : REAL(0);
  }
  error = sum_of_warp(error);
  if (threadIdx.x % WARP == 0) biases[threadIdx.x / WARP] = error;
  __syncthreads();
  if (threadIdx.x) return;
  error = 0;
  for (int w = 0; w < WARPS; ++w) error += biases[w];
  *end = error;
}

// The kernel's body: this block's part of the first layer's gradient, over every gridDim.y-th group of BP patterns, the
// last ones first, which are still in the L2 cache. ACROSS warps share the pixels of a block, OF_WARP each, and TEAMS
// teams of as many warps the BP patterns of each of the RING stages. `patterns` is the number of patterns with the last
// tile's padding.
template <int ACROSS, int TEAMS, int OF_WARP, int BP, int RING, class Product>
__device__ __forceinline__ void accumulate_gradients_by(Product product, const REAL *images, const long long *ranpat,
                                                        const REAL *delta, int count, int patterns, int width,
                                                        REAL *parts) {
  constexpr int THREADS = ACROSS * TEAMS * WARP, BLOCK_PIXELS = ACROSS * OF_WARP, PIXEL_ROW = BLOCK_PIXELS + 8;
  constexpr int STAGE = BP * (PIXEL_ROW + STRIDE);
  static_assert(PIXELS % BLOCK_PIXELS == 0, "TP must be 14, 7, 2 or 1: a block's threads must divide the 784 pixels.");
  REAL *stages = reinterpret_cast<REAL *>(memory);
  int *rows = reinterpret_cast<int *>(stages + RING * STAGE);
  const int chunks = patterns / BP, first_pixel = blockIdx.x * BLOCK_PIXELS, first = blockIdx.z * UNITS;
  const int block_chunks = chunks > int(blockIdx.y) ? (chunks - 1 - blockIdx.y) / gridDim.y + 1 : 0;
  const int team = threadIdx.x / (ACROSS * WARP);
  auto first_pattern = [&](int s) { return (chunks - 1 - int(blockIdx.y) - s * int(gridDim.y)) * BP; };
  for (int e = threadIdx.x; e < block_chunks * BP; e += THREADS)
    rows[e] = ranpat[min(first_pattern(e / BP) + e % BP, count - 1)];
  images += first_pixel;
  delta += size_t(blockIdx.z) * patterns * STRIDE;
  __syncthreads();
  auto load = [&](int s) {
    if (s < block_chunks) {
      REAL *x = stages + s % RING * STAGE, *of_units = x + BP * PIXEL_ROW;
      for (int p = threadIdx.x / WARP; p < BP; p += THREADS / WARP) {
        const REAL *image = images + size_t(rows[s * BP + p]) * PIXELS;
#pragma unroll
        for (int at = threadIdx.x % WARP * V; at < BLOCK_PIXELS; at += WARP * V)
          copy_async<16>(x + p * PIXEL_ROW + at, image + at, true);
      }
      const REAL *from = delta + size_t(first_pattern(s)) * STRIDE;
      for (int e = threadIdx.x * V; e < BP * STRIDE; e += THREADS * V) copy_async<16>(of_units + e, from + e, true);
    }
    commit_copies();
  };
  for (int s = 0; s < RING - 1; ++s) load(s);
  for (int s = 0; s < block_chunks; ++s) {
    wait_for_groups<RING - 2>();
    __syncthreads();  // the stage is complete, and the previous one has been read: its buffer is filled next
    load(s + RING - 1);
    const REAL *x = stages + s % RING * STAGE, *of_units = x + BP * PIXEL_ROW;
    for (int p = team * STEPS; p < BP; p += TEAMS * STEPS) product.add(x + p * PIXEL_ROW, of_units + p * STRIDE);
  }
  wait_for_copies();
  if constexpr (TEAMS > 1) {
    constexpr int AREA = BLOCK_PIXELS * UNITS;
    static_assert((TEAMS - 1) * AREA <= RING * STAGE, "The sums of the other teams must fit in place of the stages.");
    __syncthreads();  // all threads have read the stages
    if (team) product.each([&](int pixel, int u, REAL sum) { stages[(team - 1) * AREA + pixel * UNITS + u] = sum; });
    __syncthreads();  // the first team adds the sums of the others to its own
    if (team) return;
  }
  parts += (size_t(blockIdx.y) * PIXELS + first_pixel) * width + first;
  product.each([&](int pixel, int u, REAL sum) {
    for (int other = 0; other < TEAMS - 1; ++other) sum += stages[(other * BLOCK_PIXELS + pixel) * UNITS + u];
    if (first + u < width) parts[size_t(pixel) * width + u] = sum;
  });
}

#define FORWARD_BACKWARD_ARGUMENTS                                                                            \
  const REAL *images, const REAL *targets, const long long *ranpat, const Layer *layers, int last, int count, \
      REAL *delta, REAL *sums, int stride, int values_at, int matrices_at
#define ACCUMULATE_GRADIENTS_ARGUMENTS                                                                             \
  const REAL *images, const long long *ranpat, const REAL *delta, int count, int patterns, int width, REAL *parts

// The registers of a multiprocessor suffice for sixteen warps with 128 registers per thread.
constexpr int FORWARD_BACKWARD_BLOCKS = FLOAT64 || BM > 512 ? 1 : 512 / BM;

// Without tensor cores.
extern "C" __global__ void __launch_bounds__(BM, FORWARD_BACKWARD_BLOCKS)
    forward_backward(FORWARD_BACKWARD_ARGUMENTS) {
  forward_backward_by(ScalarForward<8, X_ROW>(), images, targets, ranpat, layers, last, count, delta, sums, stride,
                      values_at, matrices_at);
}

extern "C" __global__ void __launch_bounds__(4 * WARP, 3) accumulate_gradients(ACCUMULATE_GRADIENTS_ARGUMENTS) {
  constexpr int ACROSS = 2, TEAMS = 2, OF_WARP = 4 * TP;
  accumulate_gradients_by<ACROSS, TEAMS, OF_WARP, FLOAT64 ? 16 : 32, 3>(
      ScalarChange<ACROSS * OF_WARP + 8>(threadIdx.x / WARP % ACROSS * OF_WARP), images, ranpat, delta, count, patterns,
      width, parts);
}

#if !FLOAT64
// On tensor cores.
extern "C" __global__ void __launch_bounds__(BM, FORWARD_BACKWARD_BLOCKS)
    forward_backward_tf32(FORWARD_BACKWARD_ARGUMENTS) {
  forward_backward_by(Tensor<2, X_ROW, 1>(threadIdx.x / WARP * 32), images, targets, ranpat, layers, last, count, delta,
                      sums, stride, values_at, matrices_at);
}

extern "C" __global__ void __launch_bounds__(7 * WARP, 1) accumulate_gradients_tf32(ACCUMULATE_GRADIENTS_ARGUMENTS) {
  constexpr int ACROSS = 7, TEAMS = 1, OF_WARP = 8 * TP;
  static_assert(OF_WARP % 16 == 0, "TP must be 14 or 2 in TF32, where a warp has 16 pixels at a time.");
  accumulate_gradients_by<ACROSS, TEAMS, OF_WARP, 16, 3>(
      Tensor<OF_WARP / 16, 1, ACROSS * OF_WARP + 8>(threadIdx.x / WARP % ACROSS * OF_WARP), images, ranpat, delta,
      count, patterns, width, parts);
}
#endif

// A reduction by the blocks from `block` on: `parts` vectors of `count` elements, `stride` apart. Their sum is a
// gradient of weights, or, if dw is null, the result itself.
struct Table {
  REAL *w, *dw;
  const REAL *from;
  long long parts, stride, count, block;
};

constexpr int ROWS = 16;

// The kernel of the reductions of tables (last + 1).
extern "C" __global__ void __launch_bounds__(WARP *ROWS)
    update(const Table *tables, int last, REAL rate, REAL momentum) {
  while (blockIdx.x < tables[last].block) --last;
  const Table table = tables[last];
  REAL *sums = reinterpret_cast<REAL *>(memory);
  const int at = (blockIdx.x - table.block) * WARP + threadIdx.x;
  const bool writes = threadIdx.y == 0 && at < table.count;
  const REAL step = writes && table.dw ? momentum * table.dw[at] : 0, weight = writes && table.dw ? table.w[at] : 0;
  REAL sum = 0;
  if (at < table.count)
#pragma unroll 4
    for (int part = threadIdx.y; part < table.parts; part += ROWS) sum += table.from[part * table.stride + at];
  sums[threadIdx.y * WARP + threadIdx.x] = sum;
  __syncthreads();  // the sums are complete; the first warp adds those of its elements
  if (!writes) return;
#pragma unroll
  for (int other = 1; other < ROWS; ++other) sum += sums[other * WARP + threadIdx.x];
  if (table.dw) {
    table.dw[at] = step + rate * sum;
    table.w[at] = weight + (step + rate * sum);
  } else {
    table.w[at] = sum;
  }
}
