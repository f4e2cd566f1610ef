// An epoch in three kernels. In `forward_backward`, a block computes activations and deltas of all layers for a tile of
// BM patterns, in shared memory; it stores the deltas of the first layer, and the tile's gradients of other weights.
// `accumulate_gradients` multiplies images by deltas for the first layer's gradient; a block has some patterns, pixels
// and units. `update` adds the partial gradients of all blocks, in a fixed order, and updates the weights.
//
// Shapes: images (rows, 784), targets (rows, 10), ranpat (count), which lists the rows of the visited patterns,
// delta (ceil(width / (8 TN)), tiles * BM, STRIDE), tile_sums (tiles, sums_per_tile), partials (gridDim.y, 784, width);
// width is that of the first layer.
//
// Launch: `forward_backward` grid (tiles), block BM; `accumulate_gradients` grid (784 / pixels of a block,
// number of partial gradients, ceil(width / (8 TN))), block its warps; `update` grid (the sum of its reductions'
// ceil(count / 32)), block 32 x 16. Dynamic shared memory: see cuda_fused.py. A product computes UNITS = 8 TN units of
// the first layer. In `accumulate_gradients`, a warp has 4 TP pixels (TF32: 8 TP).
#include "fused_layers.cuh"
#include "fused_products.cuh"
#include "ptx/async_copy.cuh"
#include "warp.cuh"

constexpr int PIXELS = 784, OUTPUTS = 10;
constexpr int V = 16 / sizeof(REAL);  // elements of a 16-byte access
constexpr int BK = FLOAT64 ? 16 : 32;  // pixels of one of the two stages in `forward_backward`
constexpr int X_STRIDE = BK + V;       // elements from a row of pixels to the next, which begin in different banks
constexpr int STAGE_SIZE = BM * X_STRIDE + BK * STRIDE;
static_assert(BM % WARP == 0 && BM <= 1024, "BM must be a multiple of 32, at most 1024.");

extern __shared__ Vector<4> memory[];

// Start the copy of rows of the first layer's weights w (rows, fan_out) to (rows, STRIDE), by accesses of WIDTH
// elements. Only the first `units` units of a row exist; the others are filled with zeros.
template <int WIDTH>
__device__ __forceinline__ void load_weights(REAL *to, const REAL *w, int rows, int fan_out, int units) {
  for (int k = threadIdx.x / WARP; k < rows; k += WARPS)
#pragma unroll
    for (int u = threadIdx.x % WARP * WIDTH; u < UNITS; u += WARP * WIDTH)
      copy_async<WIDTH * sizeof(REAL)>(to + k * STRIDE + u, w + k * fan_out + u, u < units);
}

// Start the copies of a stage: the BK pixels from `first` on of images (images, 784), in the tile's rows (BM), and the
// weights w (784, fan_out) of these pixels. A stage has (BM, X_STRIDE) and (BK, STRIDE) elements.
__device__ __forceinline__ void load(REAL *stage, const REAL *images, const int *rows, const REAL *w, int fan_out,
                                     int units, int first) {
  constexpr int COPIES = BK / V;  // of a row
  const int pixels = min(BK, PIXELS - first), pixel = threadIdx.x % COPIES * V;
  if (pixel < pixels)
#pragma unroll
    for (int row = threadIdx.x / COPIES; row < BM; row += BM / COPIES)
      copy_async<16>(stage + row * X_STRIDE + pixel, images + size_t(rows[row]) * PIXELS + first + pixel, true);
  stage += BM * X_STRIDE;
  w += size_t(first) * fan_out;
  if (fan_out % V)
    load_weights<1>(stage, w, pixels, fan_out, units);
  else
    load_weights<V>(stage, w, pixels, fan_out, units);
}

// The weighted sums of the first layer for UNITS units, in `product`: arrays as in `load`, stages (2, STAGE_SIZE).
template <class Product>
__device__ __forceinline__ void multiply(Product &product, REAL *stages, const REAL *images, const int *rows,
                                         const REAL *w, int fan_out, int units) {
  load(stages, images, rows, w, fan_out, units, 0);
  commit_copies();
  for (int first = 0, stage = 0; first < PIXELS; first += BK, stage ^= 1) {
    wait_for_groups<0>();
    __syncthreads();  // the stage is complete, and the previous one has been read: its buffer is filled next
    if (first + BK < PIXELS) load(stages + (stage ^ 1) * STAGE_SIZE, images, rows, w, fan_out, units, first + BK);
    commit_copies();
    const REAL *x = stages + stage * STAGE_SIZE, *unit_rows = x + BM * X_STRIDE;
    for (int k = 0; k < min(BK, PIXELS - first); k += TERMS) product.add(x + k, unit_rows + k * STRIDE);
  }
  wait_for_copies();
  __syncthreads();  // all threads have read the stages
}

// The body of `forward_backward`, for layers (last + 1). A delta overwrites its activation. `values_offset` and
// `matrices_offset` locate values and weights in shared memory, in elements after the BM row numbers. A row of
// `tile_sums` has a tile's gradients of the first layer's biases and of all further layers, and its error.
template <class Product>
__device__ __forceinline__ void forward_backward_body(Product product, const REAL *images, const REAL *targets,
                                                      const long long *ranpat, const Layer *layers, int last,
                                                      int count, REAL *delta, REAL *tile_sums, int sums_per_tile,
                                                      int values_offset, int matrices_offset) {
  int *rows = reinterpret_cast<int *>(memory);
  REAL *stages = reinterpret_cast<REAL *>(rows + BM), *values = stages + values_offset;
  REAL *const biases = stages + matrices_offset;
  const int pattern = blockIdx.x * BM + threadIdx.x, width = layers[1].width;
  const Product zero_product = product;
  rows[threadIdx.x] = ranpat[min(pattern, count - 1)];
  load_matrix(biases, layers[1].w, 1, width);
  REAL *matrix = biases + padded(width);
  for (int l = 2; l <= last; ++l) {
    const int fan_in = layers[l - 1].width, fan_out = layers[l].width;
    load_matrix(matrix, layers[l].w, 1 + fan_in, fan_out);
    matrix += (1 + padded(fan_in)) * padded(fan_out);
  }
  __syncthreads();  // the row numbers are complete
  for (int first = 0; first < width; first += UNITS) {
    product = zero_product;
    multiply(product, stages, images, rows, layers[1].w + width + first, width, width - first);
    product.for_each([&](int p, int u, REAL sum) {
      u += first;
      const REAL value = sigmoid(sum + biases[min(u, width - 1)]);
      if (u < padded(width)) values[u * VALUE_STRIDE + p] = u < width ? value : 0;
    });
  }
  REAL target[OUTPUTS];  // loaded early, to hide the latency behind the further layers
#pragma unroll
  for (int j = 0; j < OUTPUTS; ++j) target[j] = targets[size_t(rows[threadIdx.x]) * OUTPUTS + j];

  REAL *layer_values = values;  // of the last complete layer; in the backward pass, its deltas replace them
  matrix = biases + padded(width);
  for (int l = 2; l <= last; ++l) {
    const int padded_fan_in = padded(layers[l - 1].width), fan_out = layers[l].width, row_stride = padded(fan_out);
    REAL *out = layer_values + padded_fan_in * VALUE_STRIDE;
    __syncthreads();  // the activations below are complete
    multiply_matrix<false>(
        layer_values, padded_fan_in, matrix + row_stride, row_stride, row_stride, [&](int u, int p, Vector<4> &sums) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const REAL value = sigmoid(sums.element[i] + matrix[u]);
            sums.element[i] = u < fan_out ? value : 0;
          }
          *reinterpret_cast<Vector<4> *>(out + u * VALUE_STRIDE + p) = sums;
        });
    matrix += (1 + padded_fan_in) * row_stride;
    layer_values = out;
  }
  __syncthreads();  // the outputs are complete
  REAL error = 0;
#pragma unroll
  for (int j = 0; j < OUTPUTS; ++j) {
    REAL &value = layer_values[j * VALUE_STRIDE + threadIdx.x];
    const REAL residual = pattern < count ? target[j] - value : 0;  // patterns after the last have no delta
    error += residual * residual / 2;
    value = residual * value * (1 - value);
  }

  tile_sums += size_t(blockIdx.x) * sums_per_tile;
  REAL *const tile_error = tile_sums + sums_per_tile - 1, *gradient = tile_error;
  for (int l = last; l >= 2; --l) {
    const int fan_in = layers[l - 1].width, fan_out = layers[l].width, row_stride = padded(fan_out);
    REAL *values_below = layer_values - padded(fan_in) * VALUE_STRIDE;
    gradient -= (1 + fan_in) * fan_out;
    matrix -= (1 + padded(fan_in)) * row_stride;
    __syncthreads();  // the deltas of all patterns are complete
    weight_gradient(values_below, fan_in, layer_values, fan_out, gradient + fan_out);
    bias_gradient(layer_values, fan_out, gradient);
    __syncthreads();  // the activations below have been read
    multiply_matrix<true>(
        layer_values, row_stride, matrix + row_stride, row_stride, padded(fan_in), [&](int u, int p, Vector<4> &sums) {
          Vector<4> &value = *reinterpret_cast<Vector<4> *>(values_below + u * VALUE_STRIDE + p);
#pragma unroll
          for (int i = 0; i < 4; ++i) sums.element[i] *= value.element[i] * (1 - value.element[i]);
          value = sums;
        });
    layer_values = values_below;
  }
  __syncthreads();  // the first layer's deltas are complete
  bias_gradient(values, width, tile_sums);
  for (int first = 0; first < width; first += UNITS) {
    REAL *to = delta + (size_t(first / UNITS) * gridDim.x + blockIdx.x) * BM * STRIDE;
    for (int u = threadIdx.x % UNIT_THREADS; u < UNITS; u += UNIT_THREADS)
#pragma unroll
      for (int p = threadIdx.x / UNIT_THREADS; p < BM; p += BM / UNIT_THREADS)
        to[p * STRIDE + u] = first + u < width ? values[(first + u) * VALUE_STRIDE + p] : REAL(0);
  }
  error = sum_of_warp(error);  // the warps' errors replace the biases, which are no longer needed
  if (threadIdx.x % WARP == 0) biases[threadIdx.x / WARP] = error;
  __syncthreads();
  if (threadIdx.x) return;
  error = 0;
  for (int w = 0; w < WARPS; ++w) error += biases[w];
  *tile_error = error;
}

// The body of `accumulate_gradients`: this block's part of the first layer's gradient, over every gridDim.y-th chunk of
// CHUNK patterns, the last ones first, which are still in the L2 cache. The block's pixels are divided among the
// TEAM_WARPS warps of a team, WARP_PIXELS each, and the patterns of a chunk among TEAMS teams. STAGES chunks are in
// shared memory. `padded_count` is the number of patterns, including the last tile's padding.
template <int TEAM_WARPS, int TEAMS, int WARP_PIXELS, int CHUNK, int STAGES, class Product>
__device__ __forceinline__ void accumulate_gradients_body(Product product, const REAL *images, const long long *ranpat,
                                                          const REAL *delta, int count, int padded_count,
                                                          int width, REAL *partials) {
  constexpr int THREADS = TEAM_WARPS * TEAMS * WARP, BLOCK_PIXELS = TEAM_WARPS * WARP_PIXELS;
  constexpr int IMAGE_STRIDE = BLOCK_PIXELS + 8, STAGE_SIZE = CHUNK * (IMAGE_STRIDE + STRIDE);
  static_assert(PIXELS % BLOCK_PIXELS == 0, "A block's pixels, 8 TP (TF32: 56 TP), must divide the 784 of an image.");
  REAL *stages = reinterpret_cast<REAL *>(memory);
  int *rows = reinterpret_cast<int *>(stages + STAGES * STAGE_SIZE);
  const int chunks = padded_count / CHUNK, first_pixel = blockIdx.x * BLOCK_PIXELS, first_unit = blockIdx.z * UNITS;
  const int block_chunks = chunks > int(blockIdx.y) ? (chunks - 1 - blockIdx.y) / gridDim.y + 1 : 0;
  const int team = threadIdx.x / (TEAM_WARPS * WARP);
  auto first_pattern = [&](int chunk) { return (chunks - 1 - int(blockIdx.y) - chunk * int(gridDim.y)) * CHUNK; };
  for (int e = threadIdx.x; e < block_chunks * CHUNK; e += THREADS)
    rows[e] = ranpat[min(first_pattern(e / CHUNK) + e % CHUNK, count - 1)];
  images += first_pixel;
  delta += size_t(blockIdx.z) * padded_count * STRIDE;
  __syncthreads();
  auto load = [&](int chunk) {
    if (chunk < block_chunks) {
      REAL *x = stages + chunk % STAGES * STAGE_SIZE, *unit_rows = x + CHUNK * IMAGE_STRIDE;
      for (int p = threadIdx.x / WARP; p < CHUNK; p += THREADS / WARP) {
        const REAL *image = images + size_t(rows[chunk * CHUNK + p]) * PIXELS;
#pragma unroll
        for (int i = threadIdx.x % WARP * V; i < BLOCK_PIXELS; i += WARP * V)
          copy_async<16>(x + p * IMAGE_STRIDE + i, image + i, true);
      }
      const REAL *from = delta + size_t(first_pattern(chunk)) * STRIDE;
      for (int e = threadIdx.x * V; e < CHUNK * STRIDE; e += THREADS * V) copy_async<16>(unit_rows + e, from + e, true);
    }
    commit_copies();
  };
  for (int chunk = 0; chunk < STAGES - 1; ++chunk) load(chunk);
  for (int chunk = 0; chunk < block_chunks; ++chunk) {
    wait_for_groups<STAGES - 2>();
    __syncthreads();  // the stage is complete, and the previous one has been read: its buffer is filled next
    load(chunk + STAGES - 1);
    const REAL *x = stages + chunk % STAGES * STAGE_SIZE, *unit_rows = x + CHUNK * IMAGE_STRIDE;
    for (int p = team * TERMS; p < CHUNK; p += TEAMS * TERMS) product.add(x + p * IMAGE_STRIDE, unit_rows + p * STRIDE);
  }
  wait_for_copies();
  if constexpr (TEAMS > 1) {
    constexpr int TEAM_SUMS = BLOCK_PIXELS * UNITS;
    static_assert((TEAMS - 1) * TEAM_SUMS <= STAGES * STAGE_SIZE, "Other teams' sums must fit in place of the stages.");
    __syncthreads();  // all threads have read the stages
    if (team)
      product.for_each([&](int pixel, int u, REAL sum) { stages[(team - 1) * TEAM_SUMS + pixel * UNITS + u] = sum; });
    __syncthreads();  // the first team adds the sums of the others to its own
    if (team) return;
  }
  partials += (size_t(blockIdx.y) * PIXELS + first_pixel) * width + first_unit;
  product.for_each([&](int pixel, int u, REAL sum) {
    for (int t = 0; t < TEAMS - 1; ++t) sum += stages[(t * BLOCK_PIXELS + pixel) * UNITS + u];
    if (first_unit + u < width) partials[size_t(pixel) * width + u] = sum;
  });
}

#define FORWARD_BACKWARD_ARGUMENTS                                                                            \
  const REAL *images, const REAL *targets, const long long *ranpat, const Layer *layers, int last, int count, \
      REAL *delta, REAL *tile_sums, int sums_per_tile, int values_offset, int matrices_offset
#define ACCUMULATE_GRADIENTS_ARGUMENTS                                                                             \
  const REAL *images, const long long *ranpat, const REAL *delta, int count, int padded_count, int width, REAL *partials

// The minimum number of blocks per multiprocessor, whose registers suffice for sixteen warps with 128 per thread. In
// float64, a thread needs more.
constexpr int FORWARD_BACKWARD_BLOCKS = FLOAT64 || BM > 512 ? 1 : 512 / BM;

// Without tensor cores.
extern "C" __global__ void __launch_bounds__(BM, FORWARD_BACKWARD_BLOCKS)
    forward_backward(FORWARD_BACKWARD_ARGUMENTS) {
  forward_backward_body(ScalarForward<8, X_STRIDE>(), images, targets, ranpat, layers, last, count, delta, tile_sums,
                        sums_per_tile, values_offset, matrices_offset);
}

extern "C" __global__ void __launch_bounds__(4 * WARP, 3) accumulate_gradients(ACCUMULATE_GRADIENTS_ARGUMENTS) {
  constexpr int TEAM_WARPS = 2, TEAMS = 2, WARP_PIXELS = 4 * TP;
  accumulate_gradients_body<TEAM_WARPS, TEAMS, WARP_PIXELS, FLOAT64 ? 16 : 32, 3>(
      ScalarGradient<TEAM_WARPS * WARP_PIXELS + 8>(threadIdx.x / WARP % TEAM_WARPS * WARP_PIXELS), images, ranpat,
      delta, count, padded_count, width, partials);
}

#if !FLOAT64
// On tensor cores.
extern "C" __global__ void __launch_bounds__(BM, FORWARD_BACKWARD_BLOCKS)
    forward_backward_tf32(FORWARD_BACKWARD_ARGUMENTS) {
  forward_backward_body(TensorProduct<2, X_STRIDE, 1>(threadIdx.x / WARP * 32), images, targets, ranpat, layers, last,
                        count, delta, tile_sums, sums_per_tile, values_offset, matrices_offset);
}

extern "C" __global__ void __launch_bounds__(7 * WARP, 1) accumulate_gradients_tf32(ACCUMULATE_GRADIENTS_ARGUMENTS) {
  constexpr int TEAM_WARPS = 7, TEAMS = 1, WARP_PIXELS = 8 * TP;
  static_assert(WARP_PIXELS % 16 == 0, "In float32, TP must be even: in TF32, a warp has 16 pixels at a time.");
  accumulate_gradients_body<TEAM_WARPS, TEAMS, WARP_PIXELS, 16, 3>(
      TensorProduct<WARP_PIXELS / 16, 1, TEAM_WARPS * WARP_PIXELS + 8>(threadIdx.x / WARP % TEAM_WARPS * WARP_PIXELS),
      images, ranpat, delta, count, padded_count, width, partials);
}
#endif

// A sum of `parts` vectors of `count` elements, `stride` apart, by the blocks from `first_block` on. The sum is the
// gradient of the weights w, or, if dw is null, the error, which is stored in w.
struct Reduction {
  REAL *w, *dw;
  const REAL *from;
  long long parts, stride, count, first_block;
};

constexpr int THREAD_ROWS = 16;  // rows of threads of a block; each adds every 16th part

// All reductions (last + 1), sorted by their first blocks, and the update of the weights.
extern "C" __global__ void __launch_bounds__(WARP *THREAD_ROWS)
    update(const Reduction *reductions, int last, REAL rate, REAL momentum) {
  while (blockIdx.x < reductions[last].first_block) --last;
  const Reduction reduction = reductions[last];
  REAL *sums = reinterpret_cast<REAL *>(memory);
  const int i = (blockIdx.x - reduction.first_block) * WARP + threadIdx.x;
  const bool is_writer = threadIdx.y == 0 && i < reduction.count;
  const REAL momentum_term = is_writer && reduction.dw ? momentum * reduction.dw[i] : 0;
  const REAL weight = is_writer && reduction.dw ? reduction.w[i] : 0;
  REAL sum = 0;
  if (i < reduction.count)
#pragma unroll 4
    for (int part = threadIdx.y; part < reduction.parts; part += THREAD_ROWS)
      sum += reduction.from[part * reduction.stride + i];
  sums[threadIdx.y * WARP + threadIdx.x] = sum;
  __syncthreads();  // the sums are complete; the first warp adds those of its elements
  if (!is_writer) return;
#pragma unroll
  for (int y = 1; y < THREAD_ROWS; ++y) sum += sums[y * WARP + threadIdx.x];
  if (reduction.dw) {
    reduction.dw[i] = momentum_term + rate * sum;
    reduction.w[i] = weight + (momentum_term + rate * sum);
  } else {
    reduction.w[i] = sum;
  }
}
