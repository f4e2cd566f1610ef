// The layers above the first, whose values are in a block's shared memory: a row of BM patterns per unit, VALUE_ROW
// apart. Widths are padded to multiples of four, with zeros for values and weights.
#pragma once
#include "fused_products.cuh"
#include "ptx/async_copy.cuh"
#include "warp.cuh"

constexpr int WARPS = BM / WARP;
constexpr int VALUE_ROW = BM + 4;  // rows begin in different banks

struct Layer {
  const REAL *w;  // row 0 belongs to the bias
  long long width;
};

__device__ __forceinline__ int padded(int width) { return (width + 3) / 4 * 4; }

__device__ __forceinline__ double sigmoid(double z) { return 1 / (1 + exp(-z)); }

// With errors of a few units in the last place.
__device__ __forceinline__ float sigmoid(float z) { return __fdividef(1, 1 + __expf(-z)); }

// Start to copy a layer's weights w (rows, columns), row 0 that of the bias, to (1 + padded(rows - 1),
// padded(columns)).
__device__ __forceinline__ void load_matrix(REAL *to, const REAL *w, int rows, int columns) {
  for (int i = threadIdx.x / WARP; i <= padded(rows - 1); i += WARPS)
    for (int j = threadIdx.x % WARP; j < padded(columns); j += WARP)
      copy_async<sizeof(REAL)>(to + i * padded(columns) + j, w + i * columns + j, i < rows && j < columns);
}

// Call f(unit, pattern, sums) for all patterns and `units`, with the sums (4) for 4 patterns over values (terms, BM)
// times matrix (terms, units), or, TRANSPOSED, (units, terms), whose rows are `row` apart.
template <bool TRANSPOSED, class Function>
__device__ __forceinline__ void weighted(const REAL *values, int terms, const REAL *matrix, int row, int units,
                                         Function f) {
  for (int e = threadIdx.x; e < BM / 4 * (units / 4); e += BM) {
    const int pattern = e % (BM / 4) * 4, unit = e / (BM / 4) * 4;
    Some<4> sums[4] = {};
    for (int k = 0; k < terms; k += 4) {
      Some<4> value[4], weight[4];
#pragma unroll
      for (int h = 0; h < 4; ++h) {
        value[h] = some<4>(values + (k + h) * VALUE_ROW + pattern);
        weight[h] = some<4>(matrix + (TRANSPOSED ? (unit + h) * row + k : (k + h) * row + unit));
      }
#pragma unroll
      for (int h = 0; h < 4; ++h)
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[r].value[i] += value[h].value[i] * (TRANSPOSED ? weight[r].value[h] : weight[h].value[r]);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) f(unit + r, pattern, sums[r]);
  }
}

// sums (rows, columns) = values (rows, BM) delta (columns, BM)^T; a thread has 4 x 4 of them.
__device__ __forceinline__ void changes(const REAL *values, int rows, const REAL *delta, int columns, REAL *sums) {
  const int down = padded(rows) / 4, across = padded(columns) / 4;
  for (int e = threadIdx.x; e < down * across; e += BM) {
    const int first = e % down, left = e / down;
    REAL products[4][4] = {};
    for (int p = 0; p < BM; p += 4) {
      Some<4> a[4], d[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = some<4>(values + (first + i * down) * VALUE_ROW + p);
        d[i] = some<4>(delta + (left + i * across) * VALUE_ROW + p);
      }
#pragma unroll
      for (int h = 0; h < 4; ++h)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) products[i][j] += a[i].value[h] * d[j].value[h];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = first + i * down, column = left + j * across;
        if (row < rows && column < columns) sums[row * columns + column] = products[i][j];
      }
  }
}

// The same for the biases: sums (columns) of delta (columns, BM) over the patterns. Units are assigned from the last
// thread on, since `changes` uses the last threads least.
__device__ __forceinline__ void bias_changes(const REAL *delta, int columns, REAL *sums) {
  for (int j = BM - 1 - threadIdx.x; j < columns; j += BM) {
    Some<4> partials = {};
    for (int p = 0; p < BM; p += 4) {
      const Some<4> four = some<4>(delta + j * VALUE_ROW + p);
#pragma unroll
      for (int h = 0; h < 4; ++h) partials.value[h] += four.value[h];
    }
    sums[j] = (partials.value[0] + partials.value[1]) + (partials.value[2] + partials.value[3]);
  }
}
