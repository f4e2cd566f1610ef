// Products of tiles in shared memory with sums in registers: without and with tensor cores.
//
// One operand x holds images; the other holds weights or deltas, with UNITS units of the first layer in a row, and rows
// STRIDE apart. `add` accumulates 8 terms of each sum, from x, (rows, 8) or (8, rows), and (8, UNITS) of the other
// operand; `for_each` calls f(row, unit, sum) for all of a thread's sums. BM, TN and TP are tunings of cuda_fused.py.
#pragma once
#include "ptx/arithmetic.cuh"
#include "ptx/mma.cuh"
#include "warp.cuh"

constexpr int TERMS = 8;         // of each sum, which a call of `add` accumulates
constexpr int UNIT_THREADS = 8;  // threads that share a row of units
constexpr int UNITS = UNIT_THREADS * TN;
// An odd multiple of eight, so the elements that a warp reads at once for tensor cores are in different banks.
constexpr int STRIDE = UNIT_THREADS * (TN | 1);

// A vector of W elements, loaded by one access, or by several of 16 bytes.
template <int W>
struct alignas(W * sizeof(REAL) < 16 ? W * sizeof(REAL) : 16) Vector {
  REAL element[W];
};

// Load the W elements at `from`, aligned to the access.
template <int W>
__device__ __forceinline__ Vector<W> load_vector(const REAL *from) {
  return *reinterpret_cast<const Vector<W> *>(from);
}

// Distributes N * LANES consecutive elements over LANES threads, N each: groups of four per thread, then a pair,
// then a single element per thread. For example, of 56 elements lane 2 of 8 has 8 to 11, 36 and 37, and 50.
template <int N, int LANES>
struct LaneElements {
  static constexpr int FOURS_END = N / 4 * 4, PAIRS_END = N / 2 * 2;

  // The index of element i of a lane.
  static __device__ __forceinline__ int index(int lane, int i) {
    if (i < FOURS_END) return i / 4 * (4 * LANES) + lane * 4 + i % 4;
    return i < PAIRS_END ? FOURS_END * LANES + lane * 2 + i % 2 : PAIRS_END * LANES + lane;
  }

  // Load a lane's elements to (N) from row (N * LANES).
  static __device__ __forceinline__ void load(REAL (&to)[N], const REAL *row, int lane) {
#pragma unroll
    for (int i = 0; i < FOURS_END; i += 4) {
      const Vector<4> four = load_vector<4>(row + index(lane, i));
#pragma unroll
      for (int h = 0; h < 4; ++h) to[i + h] = four.element[h];
    }
    if constexpr (FOURS_END < PAIRS_END) {
      const Vector<2> pair = load_vector<2>(row + index(lane, FOURS_END));
      to[FOURS_END] = pair.element[0], to[FOURS_END + 1] = pair.element[1];
    }
    if constexpr (PAIRS_END < N) to[PAIRS_END] = row[index(lane, PAIRS_END)];
  }
};

// Patterns by units, summed over pixels: each of 8 threads has its LaneElements of the units for the same TM patterns,
// every (BM / TM)-th. Rows of x are ROW_STRIDE apart.
template <int TM, int ROW_STRIDE>
struct ScalarForward {
  using Units = LaneElements<TN, UNIT_THREADS>;
  int group = threadIdx.x / UNIT_THREADS, lane = threadIdx.x % UNIT_THREADS;
  REAL sums[TM][TN] = {};

  // Add the products of x (BM, 8) and w (8, UNITS).
  __device__ __forceinline__ void add(const REAL *x, const REAL *w) {
#pragma unroll
    for (int k = 0; k < TERMS; k += 4) {
      REAL weights[4][TN];
#pragma unroll
      for (int h = 0; h < 4; ++h) Units::load(weights[h], w + (k + h) * STRIDE, lane);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const Vector<4> pixels = load_vector<4>(x + (group + i * (BM / TM)) * ROW_STRIDE + k);
#pragma unroll
        for (int h = 0; h < 4; ++h)
#pragma unroll
          for (int r = 0; r < TN; ++r) sums[i][r] += pixels.element[h] * weights[h][r];
      }
    }
  }

  template <class Function>
  __device__ __forceinline__ void for_each(Function f) const {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int r = 0; r < TN; ++r) f(group + i * (BM / TM), Units::index(lane, r), sums[i][r]);
  }
};

// Pixels by units, summed over patterns: a warp has 4 TP pixels from `first_pixel` on, and each of its 4 x 8 threads
// has its LaneElements of the pixels and of the units. Rows of x are ROW_STRIDE apart.
template <int ROW_STRIDE>
struct ScalarGradient {
  using Units = LaneElements<TN, UNIT_THREADS>;
  using Pixels = LaneElements<TP, WARP / UNIT_THREADS>;
  int first_pixel, group = threadIdx.x % WARP / UNIT_THREADS, lane = threadIdx.x % UNIT_THREADS;
  REAL sums[TP][TN] = {};

  __device__ __forceinline__ ScalarGradient(int first_pixel) : first_pixel(first_pixel) {}

  // Add the products of x (8, pixels) and delta (8, UNITS).
  __device__ __forceinline__ void add(const REAL *x, const REAL *delta) {
#pragma unroll
    for (int k = 0; k < TERMS; ++k) {
      REAL pixels[TP], deltas[TN];
      Pixels::load(pixels, x + k * ROW_STRIDE + first_pixel, group);
      Units::load(deltas, delta + k * STRIDE, lane);
#pragma unroll
      for (int i = 0; i < TP; ++i)
#pragma unroll
        for (int r = 0; r < TN; ++r) sums[i][r] += pixels[i] * deltas[r];
    }
  }

  template <class Function>
  __device__ __forceinline__ void for_each(Function f) const {
#pragma unroll
    for (int i = 0; i < TP; ++i)
#pragma unroll
      for (int r = 0; r < TN; ++r) f(first_pixel + Pixels::index(group, i), Units::index(lane, r), sums[i][r]);
  }
};

// On tensor cores, with operands rounded to TF32. A warp has 16 MT rows of x from `first_row` on and all UNITS units.
// Rows of x are ROW_STRIDE apart, terms of a sum K_STRIDE. g and t are groupID and threadID_in_group of PTX's mma.
template <int MT, int ROW_STRIDE, int K_STRIDE>
struct TensorProduct {
  int first_row, g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  float sums[MT][TN][4] = {};

  __device__ __forceinline__ TensorProduct(int first_row) : first_row(first_row) {}

  // Add the products of x, 16 MT rows by 8, and unit_rows (8, UNITS).
  __device__ __forceinline__ void add(const REAL *x, const REAL *unit_rows) {
    float b[TN][2];
#pragma unroll
    for (int n = 0; n < TN; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        b[n][h] = to_mma_operand(unit_rows[(t + h * 4) * STRIDE + n * 8 + g]);
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      float a[4];
#pragma unroll
      for (int h = 0; h < 4; ++h)
        a[h] = to_mma_operand(x[(first_row + m * 16 + g + h % 2 * 8) * ROW_STRIDE + (t + h / 2 * 4) * K_STRIDE]);
#pragma unroll
      for (int n = 0; n < TN; ++n)
        mma(sums[m][n], a, b[n]);
    }
  }

  template <class Function>
  __device__ __forceinline__ void for_each(Function f) const {
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int n = 0; n < TN; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          f(first_row + m * 16 + g + c / 2 * 8, n * 8 + t * 2 + c % 2, sums[m][n][c]);
  }
};
