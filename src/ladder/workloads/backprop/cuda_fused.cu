// An epoch in three kernels. `learn` has a block take BM patterns from their images to the deltas of all layers, which
// with all activations stay in its shared memory; it writes the deltas of the first layer, and the tile's sums for the
// changes of all other weights. `change` multiplies images by deltas for the first layer's changes, a block some of the
// patterns. `update` adds up what the blocks have left, always in the same order.
//
// Launch: `learn` grid (tiles), block BM; `change` grid (parts, 784 / (56 TP), ceil(width / (8 TN))), block 448 (TF32: 224);
// `update` grid (the tables' ceil(count / 32)), block 32 x 32. Dynamic shared memory: see cuda_fused.py. TN: units of the
// first layer in an eighth of a product's columns. TP: pixels of a thread in `change`.
#include "fused_products.cuh"

constexpr int PIXELS = 784;
constexpr int V = 16 / sizeof(REAL);
constexpr int BK = FLOAT64 ? 16 : 32, STAGES = 2;  // pixels of a stage in `learn`
constexpr int X_ROW = BK + V;                      // rows begin in different banks
constexpr int WARPS = BM / WARP;
constexpr int VALUE_ROW = BM + 4;
constexpr int GROUPS = 56, BLOCK_PIXELS = GROUPS * TP;
constexpr int BP = FLOAT64 ? 8 : 16, RING = 3;     // patterns of a stage in `change`, and its stages
constexpr int PIXEL_ROW = BLOCK_PIXELS + 8;
static_assert(BM % WARP == 0 && BM <= 1024, "BM must be a multiple of 32, at most 1024.");
static_assert(PIXELS % BLOCK_PIXELS == 0, "TP must be 14, 7, 2 or 1: 56 threads must divide the 784 pixels.");

extern __shared__ Some<4> memory[];

struct Layer {
  const REAL *w;
  long long width;
};

__device__ __forceinline__ REAL sigmoid(REAL z) { return 1 / (1 + exp(-z)); }
__device__ __forceinline__ int padded(int width) { return (width + STEPS - 1) / STEPS * STEPS; }

// Start the copies of a stage: BK pixels of the tile's images, and those rows of the first layer's weights w, of which
// `units` are left from here on.
template <class Product>
__device__ __forceinline__ void load(REAL *stage, const REAL *images, const int *rows, const REAL *w, int fan_out,
                                     int units, int pixel) {
  if (pixel < PIXELS) {
    for (int e = threadIdx.x; e < BM * BK / V; e += BM) {
      const int row = e / (BK / V), k = e % (BK / V) * V;
      if (pixel + k < PIXELS) copy<16>(stage + row * X_ROW + k, images + size_t(rows[row]) * PIXELS + pixel + k, true);
    }
    for (int k = threadIdx.x / WARP; k < BK && pixel + k < PIXELS; k += WARPS)
      for (int u = threadIdx.x % WARP; u < UNITS; u += WARP)
        copy<sizeof(REAL)>(stage + BM * X_ROW + k * Product::STRIDE + Product::place(u),
                           w + size_t(pixel + k) * fan_out + u, u < units);
  }
  commit_copies();
}

// The sums of the first layer for UNITS units.
template <class Product>
__device__ __forceinline__ void multiply(Product &product, REAL *stages, const REAL *images, const int *rows,
                                         const REAL *w, int fan_out, int units) {
  constexpr int STAGE = BM * X_ROW + BK * Product::STRIDE;
  for (int s = 0; s < STAGES - 1; ++s) load<Product>(stages + s * STAGE, images, rows, w, fan_out, units, s * BK);
  for (int first = 0, s = 0; first < PIXELS; first += BK, ++s) {
    wait_for_groups<STAGES - 2>();
    __syncthreads();  // the stage is whole, and nobody reads the one before, whose place is filled next
    load<Product>(stages + (s + STAGES - 1) % STAGES * STAGE, images, rows, w, fan_out, units,
                  first + (STAGES - 1) * BK);
    const REAL *x = stages + s % STAGES * STAGE, *of_units = x + BM * X_ROW;
    for (int k = 0; k < min(BK, PIXELS - first); k += STEPS) product.add(x + k, of_units + k * Product::STRIDE);
  }
  wait_for_copies();
  __syncthreads();  // nobody reads the stages any more
}

// For this thread's pattern: 8 sums over rows of values, times those of a matrix.
__device__ __forceinline__ void weighted(REAL (&sums)[STEPS], const REAL *values, int rows, const REAL *matrix,
                                         int stride) {
  for (int r = 0; r < STEPS; ++r) sums[r] = 0;
#pragma unroll 4
  for (int k = 0; k < rows; ++k) {
    const REAL value = values[k * VALUE_ROW + threadIdx.x];
    const Some<STEPS> row = some<STEPS>(matrix + k * stride);
#pragma unroll
    for (int r = 0; r < STEPS; ++r) sums[r] += value * row.of[r];
  }
}

// sums (rows x columns) = values delta^T over the tile's patterns; a thread has 4 x 4 of them.
__device__ __forceinline__ void changes(const REAL *values, int rows, const REAL *delta, int columns, REAL *sums) {
  const int down = (rows + 3) / 4, across = (columns + 3) / 4;
  for (int e = threadIdx.x; e < down * across; e += BM) {
    const int first = e % down, left = e / down;
    const REAL *above[4], *beside[4];
    for (int i = 0; i < 4; ++i) {
      above[i] = values + min(first + i * down, rows - 1) * VALUE_ROW;
      beside[i] = delta + min(left + i * across, columns - 1) * VALUE_ROW;
    }
    REAL found[4][4] = {};
    for (int p = 0; p < BM; p += 4) {
      Some<4> a[4], d[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = some<4>(above[i] + p), d[i] = some<4>(beside[i] + p);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int h = 0; h < 4; ++h) found[i][j] += a[i].of[h] * d[j].of[h];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = first + i * down, column = left + j * across;
        if (row < rows && column < columns) sums[row * columns + column] = found[i][j];
      }
  }
}

// Copy the weights above the first layer: of each layer the matrix, and its transposed without the biases.
__device__ __forceinline__ void load_matrices(REAL *to, const Layer *layers, int last) {
  for (int l = 2; l <= last; ++l) {
    const int rows = layers[l - 1].width + 1, columns = layers[l].width;
    REAL *transposed = to + rows * padded(columns);
    for (int e = threadIdx.x; e < rows * columns; e += BM) {
      const int i = e / columns, j = e % columns;
      const REAL value = layers[l].w[e];
      to[i * padded(columns) + j] = value;
      if (i) transposed[j * padded(rows - 1) + i - 1] = value;
    }
    to = transposed + columns * padded(rows - 1);
  }
}

// Values of a layer are rows of BM patterns, the first of which is 1, for the bias. A delta takes the place of its
// activation. `matrices` and `values` say where in shared memory these begin, in elements behind the BM row numbers;
// `sums` has for every tile those of the first biases, of the other layers, and the error.
template <class Product>
__device__ __forceinline__ void learn_by(Product product, const REAL *images, const REAL *targets,
                                         const long long *ranpat, const Layer *layers, int last, int count, REAL *delta,
                                         REAL *sums, int stride, int values_at, int matrices_at) {
  int *rows = reinterpret_cast<int *>(memory);
  REAL *stages = reinterpret_cast<REAL *>(rows + BM), *values = stages + values_at, *matrix = stages + matrices_at;
  const int pattern = blockIdx.x * BM + threadIdx.x, width = layers[1].width;
  const Product fresh = product;
  rows[threadIdx.x] = ranpat[min(pattern, count - 1)];
  load_matrices(matrix, layers, last);
  __syncthreads();
  for (int first = 0; first < width; first += UNITS) {
    product = fresh;
    multiply(product, stages, images, rows, layers[1].w + width + first, width, width - first);
    product.each([&](int p, int u, REAL sum) {
      if (first + u < width) values[(1 + first + u) * VALUE_ROW + p] = sigmoid(sum + layers[1].w[first + u]);
    });
  }
  values[threadIdx.x] = 1;
  __syncthreads();  // the first layer's activations are there

  REAL found[STEPS], error = 0, *above = values;
  for (int l = 2; l <= last; ++l) {
    const int below = layers[l - 1].width + 1, columns = layers[l].width;
    REAL *out = above + below * VALUE_ROW;
    out[threadIdx.x] = 1;
    for (int c = 0; c < columns; c += STEPS) {
      weighted(found, above, below, matrix + c, padded(columns));
#pragma unroll
      for (int r = 0; r < STEPS; ++r)
        if (c + r < columns) out[(1 + c + r) * VALUE_ROW + threadIdx.x] = sigmoid(found[r]);
    }
    matrix += below * padded(columns) + columns * padded(below - 1);
    above = out;
  }
  const int outputs = layers[last].width;
  const REAL *target = targets + size_t(rows[threadIdx.x]) * outputs;
  for (int j = 0; j < outputs; ++j) {
    REAL &value = above[(1 + j) * VALUE_ROW + threadIdx.x];
    const REAL off = pattern < count ? target[j] - value : 0;  // patterns beyond the last have no delta
    error += off * off / 2;
    value = off * value * (1 - value);
  }

  sums += size_t(blockIdx.x) * stride;
  REAL *const end = sums + stride - 1, *behind = end;
  for (int l = last; l >= 2; --l) {
    const int below = layers[l - 1].width + 1, columns = layers[l].width;
    REAL *values_below = above - below * VALUE_ROW;
    behind -= below * columns;
    __syncthreads();  // the deltas of all patterns are there
    changes(values_below, below, above + VALUE_ROW, columns, behind);
    __syncthreads();  // the activations below have been used
    matrix -= columns * padded(below - 1);
    for (int c = 0; c < below - 1; c += STEPS) {
      weighted(found, above + VALUE_ROW, columns, matrix + c, padded(below - 1));
#pragma unroll
      for (int r = 0; r < STEPS; ++r)
        if (c + r < below - 1) {
          REAL &value = values_below[(1 + c + r) * VALUE_ROW + threadIdx.x];
          value = found[r] * value * (1 - value);
        }
    }
    matrix -= below * padded(columns);
    above = values_below;
  }
  __syncthreads();  // the first layer's deltas are there
  changes(values, 1, values + VALUE_ROW, width, sums);
  for (int first = 0; first < width; first += UNITS) {
    REAL *to = delta + (size_t(first / UNITS) * gridDim.x + blockIdx.x) * BM * Product::STRIDE;
    for (int p = threadIdx.x / WARP; p < BM; p += WARPS)
      for (int u = threadIdx.x % WARP; u < UNITS; u += WARP)
        to[p * Product::STRIDE + Product::place(u)] =
            first + u < width ? values[(1 + first + u) * VALUE_ROW + p] : REAL(0);
  }
  __syncthreads();  // the deltas have been used
  error = sum_of_warp(error);
  if (threadIdx.x % WARP == 0) values[threadIdx.x / WARP] = error;
  __syncthreads();
  if (threadIdx.x) return;
  error = 0;
  for (int w = 0; w < WARPS; ++w) error += values[w];
  *end = error;
}

// This block's part of the first layer's changes: of every gridDim.x-th BP patterns, the last ones first, which the
// L2 cache still has. `patterns` is their number with the last tile's padding.
template <int THREADS, class Product>
__device__ __forceinline__ void change_by(Product product, const REAL *images, const long long *ranpat,
                                          const REAL *delta, int count, int patterns, int width, REAL *parts) {
  constexpr int STAGE = BP * (PIXEL_ROW + Product::STRIDE);
  REAL *stages = reinterpret_cast<REAL *>(memory);
  int *rows = reinterpret_cast<int *>(stages + RING * STAGE);
  const int chunks = patterns / BP, first_pixel = blockIdx.y * BLOCK_PIXELS, first = blockIdx.z * UNITS;
  const int own = chunks > int(blockIdx.x) ? (chunks - 1 - blockIdx.x) / gridDim.x + 1 : 0;
  auto first_pattern = [&](int s) { return (chunks - 1 - int(blockIdx.x) - s * int(gridDim.x)) * BP; };
  for (int e = threadIdx.x; e < own * BP; e += THREADS)
    rows[e] = ranpat[min(first_pattern(e / BP) + e % BP, count - 1)];
  delta += size_t(blockIdx.z) * patterns * Product::STRIDE;
  __syncthreads();
  auto load = [&](int s) {
    if (s < own) {
      REAL *x = stages + s % RING * STAGE, *of_units = x + BP * PIXEL_ROW;
      for (int e = threadIdx.x; e < BP * BLOCK_PIXELS / V; e += THREADS) {
        const int p = e / (BLOCK_PIXELS / V), at = e % (BLOCK_PIXELS / V) * V;
        copy<16>(x + p * PIXEL_ROW + at, images + size_t(rows[s * BP + p]) * PIXELS + first_pixel + at, true);
      }
      const REAL *from = delta + size_t(first_pattern(s)) * Product::STRIDE;
      for (int e = threadIdx.x * V; e < BP * Product::STRIDE; e += THREADS * V) copy<16>(of_units + e, from + e, true);
    }
    commit_copies();
  };
  for (int s = 0; s < RING - 1; ++s) load(s);
  for (int s = 0; s < own; ++s) {
    wait_for_groups<RING - 2>();
    __syncthreads();  // the stage is whole, and nobody reads the one before, whose place is filled next
    load(s + RING - 1);
    const REAL *x = stages + s % RING * STAGE, *of_units = x + BP * PIXEL_ROW;
    for (int p = 0; p < BP; p += STEPS) product.add(x + p * PIXEL_ROW, of_units + p * Product::STRIDE);
  }
  wait_for_copies();
  parts += (size_t(blockIdx.x) * PIXELS + first_pixel) * width + first;
  product.each([&](int pixel, int u, REAL sum) {
    if (first + u < width) parts[size_t(pixel) * width + u] = sum;
  });
}

#define LEARN_ARGUMENTS                                                                                       \
  const REAL *images, const REAL *targets, const long long *ranpat, const Layer *layers, int last, int count, \
      REAL *delta, REAL *sums, int stride, int values_at, int matrices_at
#define CHANGE_ARGUMENTS                                                                                           \
  const REAL *images, const long long *ranpat, const REAL *delta, int count, int patterns, int width, REAL *parts

extern "C" __global__ void __launch_bounds__(BM, FLOAT64 ? 1 : 384 / BM) learn(LEARN_ARGUMENTS) {
  learn_by(ScalarForward<8, X_ROW>(), images, targets, ranpat, layers, last, count, delta, sums, stride, values_at,
           matrices_at);
}

extern "C" __global__ void __launch_bounds__(GROUPS *STEPS, 1) change(CHANGE_ARGUMENTS) {
  change_by<GROUPS * STEPS>(ScalarChange<GROUPS, PIXEL_ROW>(), images, ranpat, delta, count, patterns, width, parts);
}

#if !FLOAT64
extern "C" __global__ void __launch_bounds__(BM, 384 / BM) learn_tf32(LEARN_ARGUMENTS) {
  learn_by(Tensor<2, TN, X_ROW, 1>(threadIdx.x / WARP * 32), images, targets, ranpat, layers, last, count, delta,
           sums, stride, values_at, matrices_at);
}

extern "C" __global__ void __launch_bounds__(7 * WARP, 1) change_tf32(CHANGE_ARGUMENTS) {
  constexpr int OF_WARP = BLOCK_PIXELS / 7;
  static_assert(OF_WARP % 16 == 0, "TP must be 14 or 2 in TF32: seven warps share the pixels, 16 at a time.");
  change_by<7 * WARP>(Tensor<OF_WARP / 16, TN, 1, PIXEL_ROW>(threadIdx.x / WARP * OF_WARP), images, ranpat, delta,
                      count, patterns, width, parts);
}
#endif

// What a table has: `parts` vectors of `count` elements, `stride` apart, for which the blocks from `block` on work. Their
// sum is a change of weights, or, where dw is null, the result itself.
struct Table {
  REAL *w, *dw;
  const REAL *from;
  long long parts, stride, count, block;
};

extern "C" __global__ void __launch_bounds__(WARP *WARP)
    update(const Table *tables, int last, REAL rate, REAL momentum) {
  while (blockIdx.x < tables[last].block) --last;
  const Table table = tables[last];
  REAL *sums = reinterpret_cast<REAL *>(memory);
  const int first = (blockIdx.x - table.block) * WARP, at = first + threadIdx.x;
  REAL sum = 0;
  if (at < table.count)
    for (int part = threadIdx.y; part < table.parts; part += WARP) sum += table.from[part * table.stride + at];
  sums[threadIdx.x * (WARP + 1) + threadIdx.y] = sum;
  __syncthreads();  // a warp adds up what all have of one element
  sum = sum_of_warp(sums[threadIdx.y * (WARP + 1) + threadIdx.x]);
  const int own = first + threadIdx.y;
  if (threadIdx.x || own >= table.count) return;
  if (table.dw) {
    table.dw[own] = momentum * table.dw[own] + rate * sum;
    table.w[own] += table.dw[own];
  } else {
    table.w[own] = sum;
  }
}
