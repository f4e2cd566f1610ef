// Products of tiles in shared memory with sums in registers: without and with tensor cores.
//
// One operand are the images; row k of the other, weights or deltas, has the units of the first layer, and rows are
// STRIDE apart. `add` accumulates 8 steps of k, from x, (rows, 8) or (8, rows) of images, and (8, UNITS) of the others;
// `each` calls f(row, unit, sum) for all of a thread's sums.
#pragma once
#include "ptx/arithmetic.cuh"
#include "ptx/mma.cuh"
#include "warp.cuh"

constexpr int STEPS = 8;
constexpr int UNITS = STEPS * TN;
// An odd multiple of eight, so that the elements that a warp reads at once for tensor cores are in different banks.
constexpr int STRIDE = STEPS * (TN | 1);

// W elements, loaded by one access, or by several of 16 bytes.
template <int W>
struct alignas(W * sizeof(REAL) < 16 ? W * sizeof(REAL) : 16) Some {
  REAL value[W];
};

// The W elements at from (W), aligned to the access.
template <int W>
__device__ __forceinline__ Some<W> some(const REAL *from) {
  return *reinterpret_cast<const Some<W> *>(from);
}

// The N of N * LANES neighbours that belong to one of LANES threads: groups of four per thread, then a pair, then a
// single element of each. An example: of 56, lane 2 of 8 has elements 8 to 11, 36 and 37, and 50.
template <int N, int LANES>
struct Part {
  static constexpr int FOURS = N / 4 * 4, PAIRS = N / 2 * 2;

  // The index of element i of a lane.
  static __device__ __forceinline__ int at(int lane, int i) {
    if (i < FOURS) return i / 4 * (4 * LANES) + lane * 4 + i % 4;
    return i < PAIRS ? FOURS * LANES + lane * 2 + i % 2 : PAIRS * LANES + lane;
  }

  // Load a lane's elements to (N) from row (N * LANES).
  static __device__ __forceinline__ void load(REAL (&to)[N], const REAL *row, int lane) {
#pragma unroll
    for (int i = 0; i < FOURS; i += 4) {
      const Some<4> four = some<4>(row + at(lane, i));
#pragma unroll
      for (int h = 0; h < 4; ++h) to[i + h] = four.value[h];
    }
    if constexpr (FOURS < PAIRS) {
      const Some<2> pair = some<2>(row + at(lane, FOURS));
      to[FOURS] = pair.value[0], to[FOURS + 1] = pair.value[1];
    }
    if constexpr (PAIRS < N) to[PAIRS] = row[at(lane, PAIRS)];
  }
};

// Patterns by units, summed over pixels: each of 8 threads has its part of the units for TM patterns, every (BM /
// TM)-th. Rows of x are X_ROW apart.
template <int TM, int X_ROW>
struct ScalarForward {
  using Units = Part<TN, STEPS>;
  int group = threadIdx.x / STEPS, lane = threadIdx.x % STEPS;
  REAL sums[TM][TN] = {};

  // Add the products of x (BM, 8) and w (8, UNITS).
  __device__ __forceinline__ void add(const REAL *x, const REAL *w) {
#pragma unroll
    for (int k = 0; k < STEPS; k += 4) {
      REAL units[4][TN];
#pragma unroll
      for (int h = 0; h < 4; ++h) Units::load(units[h], w + (k + h) * STRIDE, lane);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const Some<4> pixels = some<4>(x + (group + i * (BM / TM)) * X_ROW + k);
#pragma unroll
        for (int h = 0; h < 4; ++h)
#pragma unroll
          for (int r = 0; r < TN; ++r) sums[i][r] += pixels.value[h] * units[h][r];
      }
    }
  }

  template <class Function>
  __device__ __forceinline__ void each(Function f) const {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int r = 0; r < TN; ++r) f(group + i * (BM / TM), Units::at(lane, r), sums[i][r]);
  }
};

// Pixels by units, summed over patterns: a warp has 4 TP pixels from `first` on, and each of its 4 x 8 threads its
// parts of the pixels and of the units. Rows of x are X_ROW apart.
template <int X_ROW>
struct ScalarChange {
  using Units = Part<TN, STEPS>;
  using Pixels = Part<TP, WARP / STEPS>;
  int first, group = threadIdx.x % WARP / STEPS, lane = threadIdx.x % STEPS;
  REAL sums[TP][TN] = {};

  __device__ __forceinline__ ScalarChange(int first) : first(first) {}

  // Add the products of x (8, pixels) and delta (8, UNITS).
  __device__ __forceinline__ void add(const REAL *x, const REAL *delta) {
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      REAL pixels[TP], units[TN];
      Pixels::load(pixels, x + k * X_ROW + first, group);
      Units::load(units, delta + k * STRIDE, lane);
#pragma unroll
      for (int i = 0; i < TP; ++i)
#pragma unroll
        for (int r = 0; r < TN; ++r) sums[i][r] += pixels[i] * units[r];
    }
  }

  template <class Function>
  __device__ __forceinline__ void each(Function f) const {
#pragma unroll
    for (int i = 0; i < TP; ++i)
#pragma unroll
      for (int r = 0; r < TN; ++r) f(first + Pixels::at(group, i), Units::at(lane, r), sums[i][r]);
  }
};

// On tensor cores, with operands rounded to TF32. A warp has 16 MT rows of x from `row` on, and all 8 TN units. Rows of
// x are ALONG_ROWS apart, steps of k ALONG_K.
template <int MT, int ALONG_ROWS, int ALONG_K>
struct Tensor {
  int row, g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  float sums[MT][TN][4] = {};

  __device__ __forceinline__ Tensor(int row) : row(row) {}

  // Add the products of x, 16 MT rows by 8, and units (8, UNITS).
  __device__ __forceinline__ void add(const REAL *x, const REAL *units) {
    float b[TN][2];
#pragma unroll
    for (int n = 0; n < TN; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        b[n][h] = to_mma_operand(units[(t + h * 4) * STRIDE + n * 8 + g]);
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      float a[4];
#pragma unroll
      for (int h = 0; h < 4; ++h)
        a[h] = to_mma_operand(x[(row + m * 16 + g + h % 2 * 8) * ALONG_ROWS + (t + h / 2 * 4) * ALONG_K]);
#pragma unroll
      for (int n = 0; n < TN; ++n)
        mma(sums[m][n], a, b[n]);
    }
  }

  template <class Function>
  __device__ __forceinline__ void each(Function f) const {
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int n = 0; n < TN; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          f(row + m * 16 + g + c / 2 * 8, n * 8 + t * 2 + c % 2, sums[m][n][c]);
  }
};
