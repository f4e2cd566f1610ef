// The layers above the first. A block has the values (activations or deltas) of BM patterns in shared memory: a row of
// BM patterns per unit, rows VALUE_STRIDE apart. Widths are padded to multiples of four, values and weights with zeros.
#pragma once
#include "fused_products.cuh"
#include "ptx/async_copy.cuh"
#include "warp.cuh"

constexpr int WARPS = BM / WARP;      // a block has a thread for each of its BM patterns
constexpr int VALUE_STRIDE = BM + 4;  // rows begin in different banks

struct Layer {
  const REAL *w;  // row 0 belongs to the bias
  long long width;
};

__device__ __forceinline__ int padded(int width) { return (width + 3) / 4 * 4; }

__device__ __forceinline__ double sigmoid(double z) { return 1 / (1 + exp(-z)); }

// Correct to a few units in the last place.
__device__ __forceinline__ float sigmoid(float z) { return __fdividef(1, 1 + __expf(-z)); }

// Start the copy of a layer's weights w (rows, columns), the bias in row 0, to (1 + padded(rows - 1), padded(columns)).
__device__ __forceinline__ void load_matrix(REAL *to, const REAL *w, int rows, int columns) {
  for (int i = threadIdx.x / WARP; i <= padded(rows - 1); i += WARPS)
    for (int j = threadIdx.x % WARP; j < padded(columns); j += WARP)
      copy_async<sizeof(REAL)>(to + i * padded(columns) + j, w + i * columns + j, i < rows && j < columns);
}

// Multiply values (terms, BM) by matrix (terms, units), or, TRANSPOSED, (units, terms), whose rows are `row_stride`
// apart. Calls f(unit, pattern, sums) for each unit and every fourth pattern, with the sums (4) from that pattern on.
template <bool TRANSPOSED, class Function>
__device__ __forceinline__ void multiply_matrix(const REAL *values, int terms, const REAL *matrix, int row_stride,
                                                int units, Function f) {
  for (int e = threadIdx.x; e < BM / 4 * (units / 4); e += BM) {
    const int pattern = e % (BM / 4) * 4, unit = e / (BM / 4) * 4;
    Vector<4> sums[4] = {};
    for (int k = 0; k < terms; k += 4) {
      Vector<4> value[4], weight[4];
#pragma unroll
      for (int h = 0; h < 4; ++h) {
        value[h] = load_vector<4>(values + (k + h) * VALUE_STRIDE + pattern);
        weight[h] = load_vector<4>(matrix + (TRANSPOSED ? (unit + h) * row_stride + k : (k + h) * row_stride + unit));
      }
#pragma unroll
      for (int h = 0; h < 4; ++h)
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[r].element[i] += value[h].element[i] * (TRANSPOSED ? weight[r].element[h] : weight[h].element[r]);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) f(unit + r, pattern, sums[r]);
  }
}

// gradient (rows, columns) = values (rows, BM) delta (columns, BM)^T; a thread computes 4 x 4 elements,
// `row_step` rows and `column_step` columns apart.
__device__ __forceinline__ void weight_gradient(const REAL *values, int rows, const REAL *delta, int columns,
                                                REAL *gradient) {
  const int row_step = padded(rows) / 4, column_step = padded(columns) / 4;
  for (int e = threadIdx.x; e < row_step * column_step; e += BM) {
    const int top = e % row_step, left = e / row_step;
    REAL sums[4][4] = {};
    for (int p = 0; p < BM; p += 4) {
      Vector<4> a[4], d[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = load_vector<4>(values + (top + i * row_step) * VALUE_STRIDE + p);
        d[i] = load_vector<4>(delta + (left + i * column_step) * VALUE_STRIDE + p);
      }
#pragma unroll
      for (int h = 0; h < 4; ++h)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[i][j] += a[i].element[h] * d[j].element[h];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = top + i * row_step, column = left + j * column_step;
        if (row < rows && column < columns) gradient[row * columns + column] = sums[i][j];
      }
  }
}

// gradient (columns) of the biases: the sums of delta (columns, BM) over the patterns. Units are assigned from the last
// thread on, because the last threads have the least work in `weight_gradient`.
__device__ __forceinline__ void bias_gradient(const REAL *delta, int columns, REAL *gradient) {
  for (int j = BM - 1 - threadIdx.x; j < columns; j += BM) {
    Vector<4> partials = {};
    for (int p = 0; p < BM; p += 4) {
      const Vector<4> deltas = load_vector<4>(delta + j * VALUE_STRIDE + p);
#pragma unroll
      for (int h = 0; h < 4; ++h) partials.element[h] += deltas.element[h];
    }
    gradient[j] = (partials.element[0] + partials.element[1]) + (partials.element[2] + partials.element[3]);
  }
}
