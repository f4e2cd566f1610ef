// The products of a block's tiles in shared memory, their sums in registers: on ordinary units, and on tensor cores.
//
// One operand has the images; of the other, weights or deltas, row k has the units of the first layer: unit u at
// `place(u)`, rows STRIDE apart. `add` adds up 8 steps of k; `each` calls f(row, unit, sum) for all of a thread's sums.
#pragma once
#include "ptx.cuh"
#include "warp.cuh"

constexpr int STEPS = 8;
constexpr int UNITS = STEPS * TN;

// So many elements by one access, or by several of 16 bytes.
template <int W>
struct alignas(W * sizeof(REAL) < 16 ? W * sizeof(REAL) : 16) Some {
  REAL of[W];
};

template <int W>
__device__ __forceinline__ Some<W> some(const REAL *from) {
  return *reinterpret_cast<const Some<W> *>(from);
}

// A thread has TN neighbouring units. Fours of all 8 threads that have different ones lie side by side.
struct Scalar {
  static constexpr int FOURS = (TN + 3) / 4, STRIDE = FOURS * 4 * STEPS;
  int group = threadIdx.x / STEPS, own = threadIdx.x % STEPS;

  static __device__ __forceinline__ int place(int u) {
    return u % TN / 4 * (4 * STEPS) + u / TN * 4 + u % TN % 4;
  }

  __device__ __forceinline__ void load(REAL (&units)[FOURS * 4], const REAL *row) const {
#pragma unroll
    for (int f = 0; f < FOURS; ++f)
      reinterpret_cast<Some<4> *>(units)[f] = some<4>(row + f * 4 * STEPS + own * 4);
  }
};

// Patterns by units, summed over pixels: a thread has TM patterns, every (BM / TM)-th. Rows of x are X_ROW apart.
template <int TM, int X_ROW>
struct ScalarForward : Scalar {
  REAL sums[TM][TN] = {};

  __device__ __forceinline__ void add(const REAL *x, const REAL *w) {
#pragma unroll
    for (int k = 0; k < STEPS; k += 4) {
      alignas(16) REAL units[4][FOURS * 4];
#pragma unroll
      for (int h = 0; h < 4; ++h) load(units[h], w + (k + h) * STRIDE);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const Some<4> pixels = some<4>(x + (group + i * (BM / TM)) * X_ROW + k);
#pragma unroll
        for (int h = 0; h < 4; ++h)
#pragma unroll
          for (int r = 0; r < TN; ++r) sums[i][r] += pixels.of[h] * units[h][r];
      }
    }
  }

  template <class Function>
  __device__ __forceinline__ void each(Function f) const {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int r = 0; r < TN; ++r) f(group + i * (BM / TM), own * TN + r, sums[i][r]);
  }
};

// Pixels by units, summed over patterns: a thread of GROUPS * 8 has TP pixels. Rows of x are X_ROW apart.
template <int GROUPS, int X_ROW>
struct ScalarChange : Scalar {
  static constexpr int W = TP % 2 ? 1 : 2;
  REAL sums[TP][TN] = {};

  __device__ __forceinline__ void add(const REAL *x, const REAL *delta) {
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      alignas(16) REAL units[FOURS * 4];
      load(units, delta + k * STRIDE);
#pragma unroll
      for (int i = 0; i < TP; i += W) {
        const Some<W> pixels = some<W>(x + k * X_ROW + pixel(i));
#pragma unroll
        for (int h = 0; h < W; ++h)
#pragma unroll
          for (int r = 0; r < TN; ++r) sums[i + h][r] += pixels.of[h] * units[r];
      }
    }
  }

  template <class Function>
  __device__ __forceinline__ void each(Function f) const {
#pragma unroll
    for (int i = 0; i < TP; ++i)
#pragma unroll
      for (int r = 0; r < TN; ++r) f(pixel(i), own * TN + r, sums[i][r]);
  }

  __device__ __forceinline__ int pixel(int i) const { return i / W * (W * GROUPS) + group * W + i % W; }
};

// On tensor cores, operands rounded to TF32. A warp has MT x 16 rows of x from `row` on, and all units, NT x 8.
// Rows of x are ALONG_ROWS apart, steps of k ALONG_K. An odd number of eights in STRIDE puts what a warp reads at once
// into different banks.
template <int MT, int NT, int ALONG_ROWS, int ALONG_K>
struct Tensor {
  static constexpr int STRIDE = STEPS * (TN | 1);
  int row, g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  float sums[MT][NT][4] = {};

  __device__ __forceinline__ Tensor(int row) : row(row) {}

  static __device__ __forceinline__ int place(int u) { return u; }

  __device__ __forceinline__ void add(const REAL *x, const REAL *units) {
    float b[NT][2];
#pragma unroll
    for (int n = 0; n < NT; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        b[n][h] = rounded(units[(t + h * 4) * STRIDE + n * 8 + g]);
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      float a[4];
#pragma unroll
      for (int h = 0; h < 4; ++h)
        a[h] = rounded(x[(row + m * 16 + g + h % 2 * 8) * ALONG_ROWS + (t + h / 2 * 4) * ALONG_K]);
#pragma unroll
      for (int n = 0; n < NT; ++n)
        mma(sums[m][n], a, b[n]);
    }
  }

  template <class Function>
  __device__ __forceinline__ void each(Function f) const {
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int n = 0; n < NT; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          f(row + m * 16 + g + c / 2 * 8, n * 8 + t * 2 + c % 2, sums[m][n][c]);
  }
};
