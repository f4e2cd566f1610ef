// A whole solve by co-resident blocks, with A and all vectors in registers. A warp has OWN rows of A, and every warp
// all of r and p, COLUMNS elements per lane: all warps compute the same vectors redundantly, and synchronise only for q
// = A p. An `Exchange` sends q to every block:
//
//   ready()             called by all threads of a block before the first step
//   takes_part()        whether this warp takes part in steps
//   begin(step)         called at the beginning of a step
//   send(step, sums)    send this warp's OWN elements of q, which all lanes have
//   receive(step)       all of q, zeros beyond n, in shared memory: valid until the next step's
//   leave()             called at the end of a solve
#pragma once
#include "algorithms.cuh"
#include "ptx/memory_order.cuh"
#include "warp.cuh"

constexpr int WARPS = BLOCK / WARP;
constexpr int WIDTH = 16 / sizeof(REAL);  // elements of one access
constexpr int LENGTH = WARP * COLUMNS;    // of a vector, zeros beyond n
static_assert(COLUMNS % WIDTH == 0, "columns must be whole accesses of 16 bytes: a multiple of 4, or of 2 in float64");

// The element of a vector that a lane has at k.
__device__ __forceinline__ int column_of(int k) { return (k / WIDTH * WARP + threadIdx.x % WARP) * WIDTH + k % WIDTH; }

// The first row of this warp.
template <int OWN>
__device__ __forceinline__ int first_row() {
  return (blockIdx.x * WARPS + threadIdx.x / WARP) * OWN;
}

// This lane's part of the dot product of two vectors, of which u and v (COLUMNS) are its elements, with independent
// partial sums.
__device__ __forceinline__ REAL part_of_product(const REAL *u, const REAL *v) {
  constexpr int PARTS = FLOAT64 ? 1 : 4;
  REAL sums[PARTS] = {}, sum = 0;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) sums[k % PARTS] += u[k] * v[k];
#pragma unroll
  for (int k = 0; k < PARTS; ++k) sum += sums[k];
  return sum;
}

// Call work(k, value) for each of this lane's elements of vector (LENGTH) in shared memory, by its index k in the lane.
// In float64 the values are reloaded every time, since there are no registers to hold them.
template <typename Work>
__device__ __forceinline__ void for_each_kept(const REAL *vector, Work work) {
  if constexpr (FLOAT64) compiler_fence();
#pragma unroll
  for (int k = 0; k < COLUMNS; k += WIDTH) {
    const int4 bits = *reinterpret_cast<const int4 *>(vector + column_of(k));
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) work(k + w, reinterpret_cast<const REAL *>(&bits)[w]);
  }
}

// The inputs and outputs of a solve: matrix (n, n), b and x (n), history (iterations + 1), steps (1).
struct Outer {
  const REAL *matrix, *b;
  REAL *x, *history;
  long long *steps;
  int n, iterations;
  REAL tolerance;
};

// The solve by one algorithm, a template parameter, so that a step has no branches on it.
template <Algorithm algorithm, int OWN, typename Exchange>
__device__ __forceinline__ void solve_by(const Outer &s, Exchange &exchange) {
  __shared__ alignas(16) REAL inverses[LENGTH];
  const int lane = threadIdx.x % WARP, top = first_row<OWN>();
  const bool is_first = blockIdx.x == 0 && threadIdx.x < WARP;

  for (int i = threadIdx.x; i < LENGTH; i += BLOCK)
    inverses[i] = algorithm == JACOBI && i < s.n ? 1 / s.matrix[(long long)i * (s.n + 1)] : REAL(1);
  REAL a[OWN][COLUMNS], r[COLUMNS], p[COLUMNS], of_x[COLUMNS] = {};
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) {
    const int column = column_of(k);
    r[k] = column < s.n ? s.b[column] : REAL(0);
    p[k] = 0;
#pragma unroll
    for (int row = 0; row < OWN; ++row)
      a[row][k] = column < s.n && top + row < s.n ? s.matrix[(long long)(top + row) * s.n + column] : REAL(0);
  }
  exchange.ready();

  REAL before = 0, limit = 0;
  for (int step = 0; exchange.takes_part(); ++step) {
    exchange.begin(step);
    REAL square = part_of_product(r, r), product = 0;
    if (algorithm == CG) product = square = sum_of_warp(square);
    if (algorithm == JACOBI) {
      for_each_kept(inverses, [&](int k, REAL inverse) { product += r[k] * r[k] * inverse; });
      product = sum_of_warp(product);
    }
    const REAL beta = algorithm != STEEPEST && before > SMALLEST_NORMAL ? product / before : REAL(0);
    if (algorithm == JACOBI) {
      for_each_kept(inverses, [&](int k, REAL inverse) { p[k] = r[k] * inverse + beta * p[k]; });
    } else {
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) p[k] = algorithm == CG ? r[k] + beta * p[k] : r[k];
    }
    // Where r.r isn't known yet, its reduction overlaps with those of the elements of q.
    REAL sums[OWN];
#pragma unroll
    for (int row = 0; row < OWN; ++row) sums[row] = sum_of_warp(part_of_product(a[row], p));
    if (algorithm != CG) square = sum_of_warp(square);
    if (algorithm == STEEPEST) product = square;
    if (step == 0) limit = s.tolerance * s.tolerance * square;
    const bool is_done = step == s.iterations || square <= limit;
    if (is_first && lane == 0) {
      s.history[step] = square;
      if (is_done) *s.steps = step;
    }
    if (is_done) break;
    exchange.send(step, sums);
    const REAL *products = exchange.receive(step);
    REAL parts[WIDTH] = {}, curvature = 0;
    for_each_kept(products, [&](int k, REAL q) { parts[k % WIDTH] += p[k] * q; });
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) curvature += parts[w];
    curvature = sum_of_warp(curvature);
    const REAL alpha = curvature > SMALLEST_NORMAL ? product / curvature : REAL(0);
    before = product;
    for_each_kept(products, [&](int k, REAL q) { r[k] -= alpha * q; });
    if (is_first)
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) of_x[k] += alpha * p[k];
  }
  exchange.leave();
  if (!is_first) return;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k)
    if (column_of(k) < s.n) s.x[column_of(k)] = of_x[k];
  for (int i = *s.steps + 1 + lane; i <= s.iterations; i += WARP) s.history[i] = 0;
}

template <int OWN, typename Exchange>
__device__ __forceinline__ void solve_by(int algorithm, const Outer &s, Exchange &exchange) {
  if (algorithm == STEEPEST) solve_by<STEEPEST, OWN>(s, exchange);
  if (algorithm == CG) solve_by<CG, OWN>(s, exchange);
  if (algorithm == JACOBI) solve_by<JACOBI, OWN>(s, exchange);
}
