// A whole solve by co-resident blocks, with A and all vectors in registers. A warp holds ROWS_PER_WARP rows of A. Every
// warp holds all of r and p, COLUMNS elements per lane: all warps compute the same vectors redundantly, and synchronise
// only to exchange q = A p. The template parameter `Exchange` sends q to every block by these functions:
//
//   prepare()           called by all threads of a block before the first step
//   is_active()         whether this warp takes part in the steps
//   begin(step)         called at the beginning of a step
//   send(step, sums)    sends this warp's ROWS_PER_WARP elements of q, which every lane holds
//   receive(step)       returns all of q, zeros beyond n, in shared memory: valid until the next receive()
//   leave()             called at the end of a solve
//
// The scalars rr, rz and pq are the dot products r.r, r.z and p.q; z is r or, for JACOBI, r divided by A's diagonal.
#pragma once
#include "algorithms.cuh"
#include "ptx/memory_order.cuh"
#include "warp.cuh"

constexpr int WARPS = BLOCK / WARP;
constexpr int ELEMENTS_PER_ACCESS = 16 / sizeof(REAL);  // elements of a 16-byte access
constexpr int VECTOR_LENGTH = WARP * COLUMNS;           // elements of a vector, zeros beyond n
static_assert(COLUMNS % ELEMENTS_PER_ACCESS == 0,
              "columns must be whole accesses of 16 bytes: a multiple of 4, or of 2 in float64");

// The index in a vector of this lane's element k.
__device__ __forceinline__ int column_of(int k) {
  return (k / ELEMENTS_PER_ACCESS * WARP + threadIdx.x % WARP) * ELEMENTS_PER_ACCESS + k % ELEMENTS_PER_ACCESS;
}

// The first row of this warp.
template <int ROWS_PER_WARP>
__device__ __forceinline__ int first_row() {
  return (blockIdx.x * WARPS + threadIdx.x / WARP) * ROWS_PER_WARP;
}

// This lane's part of the dot product of two vectors, whose elements in this lane are u and v (COLUMNS). The partial
// sums make consecutive additions independent.
__device__ __forceinline__ REAL partial_dot(const REAL *u, const REAL *v) {
  constexpr int PARTIAL_SUMS = FLOAT64 ? 1 : 4;
  REAL sums[PARTIAL_SUMS] = {}, sum = 0;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) sums[k % PARTIAL_SUMS] += u[k] * v[k];
#pragma unroll
  for (int k = 0; k < PARTIAL_SUMS; ++k) sum += sums[k];
  return sum;
}

// Call function(k, value) for each of this lane's elements of vector (VECTOR_LENGTH) in shared memory, where k is the
// index in the lane. In float64 the values are reloaded every time, since too few registers are left to hold them.
template <typename Function>
__device__ __forceinline__ void for_each_element(const REAL *vector, Function function) {
  if constexpr (FLOAT64) compiler_fence();
#pragma unroll
  for (int k = 0; k < COLUMNS; k += ELEMENTS_PER_ACCESS) {
    const int4 bits = *reinterpret_cast<const int4 *>(vector + column_of(k));
#pragma unroll
    for (int w = 0; w < ELEMENTS_PER_ACCESS; ++w) function(k + w, reinterpret_cast<const REAL *>(&bits)[w]);
  }
}

// The arguments of a solve: matrix (n, n), b and x (n), history (iterations + 1), steps (1).
struct Problem {
  const REAL *matrix, *b;
  REAL *x, *history;
  long long *steps;
  int n, iterations;
  REAL tolerance;
};

// The solve. The algorithm is a template parameter, so that a step doesn't branch on it.
template <Algorithm algorithm, int ROWS_PER_WARP, typename Exchange>
__device__ __forceinline__ void solve_by(const Problem &problem, Exchange &exchange) {
  __shared__ alignas(16) REAL inverse_diagonal[VECTOR_LENGTH];
  const int n = problem.n, lane = threadIdx.x % WARP, top = first_row<ROWS_PER_WARP>();
  const bool is_first_warp = blockIdx.x == 0 && threadIdx.x < WARP;

  for (int i = threadIdx.x; i < VECTOR_LENGTH; i += BLOCK)
    inverse_diagonal[i] = algorithm == JACOBI && i < n ? 1 / problem.matrix[(long long)i * (n + 1)] : REAL(1);
  REAL a[ROWS_PER_WARP][COLUMNS], r[COLUMNS], p[COLUMNS], x[COLUMNS] = {};
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) {
    const int column = column_of(k);
    r[k] = column < n ? problem.b[column] : REAL(0);
    p[k] = 0;
#pragma unroll
    for (int row = 0; row < ROWS_PER_WARP; ++row)
      a[row][k] = column < n && top + row < n ? problem.matrix[(long long)(top + row) * n + column] : REAL(0);
  }
  exchange.prepare();

  REAL previous_rz = 0, limit = 0;
  for (int step = 0; exchange.is_active(); ++step) {
    exchange.begin(step);
    REAL rr = partial_dot(r, r), rz = 0;
    if (algorithm == CG) rz = rr = sum_of_warp(rr);
    if (algorithm == JACOBI) {
      for_each_element(inverse_diagonal, [&](int k, REAL inverse) { rz += r[k] * r[k] * inverse; });
      rz = sum_of_warp(rz);
    }
    const REAL beta = algorithm != STEEPEST && previous_rz > SMALLEST_NORMAL ? rz / previous_rz : REAL(0);
    if (algorithm == JACOBI) {
      for_each_element(inverse_diagonal, [&](int k, REAL inverse) { p[k] = r[k] * inverse + beta * p[k]; });
    } else {
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) p[k] = algorithm == CG ? r[k] + beta * p[k] : r[k];
    }
    // Except for CG, the reduction of r.r follows here, so that it overlaps with those of q's elements.
    REAL sums[ROWS_PER_WARP];
#pragma unroll
    for (int row = 0; row < ROWS_PER_WARP; ++row) sums[row] = sum_of_warp(partial_dot(a[row], p));
    if (algorithm != CG) rr = sum_of_warp(rr);
    if (algorithm == STEEPEST) rz = rr;
    if (step == 0) limit = problem.tolerance * problem.tolerance * rr;
    const bool is_done = step == problem.iterations || rr <= limit;
    if (is_first_warp && lane == 0) {
      problem.history[step] = rr;
      if (is_done) *problem.steps = step;
    }
    if (is_done) break;
    exchange.send(step, sums);
    const REAL *q_elements = exchange.receive(step);
    REAL partial_pq[ELEMENTS_PER_ACCESS] = {}, pq = 0;
    for_each_element(q_elements, [&](int k, REAL q) { partial_pq[k % ELEMENTS_PER_ACCESS] += p[k] * q; });
#pragma unroll
    for (int w = 0; w < ELEMENTS_PER_ACCESS; ++w) pq += partial_pq[w];
    pq = sum_of_warp(pq);
    const REAL alpha = pq > SMALLEST_NORMAL ? rz / pq : REAL(0);
    previous_rz = rz;
    for_each_element(q_elements, [&](int k, REAL q) { r[k] -= alpha * q; });
    if (is_first_warp)
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) x[k] += alpha * p[k];
  }
  exchange.leave();
  if (!is_first_warp) return;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k)
    if (column_of(k) < n) problem.x[column_of(k)] = x[k];
  for (int i = *problem.steps + 1 + lane; i <= problem.iterations; i += WARP) problem.history[i] = 0;
}

// The solve by the algorithm with this number, a member of Algorithm.
template <int ROWS_PER_WARP, typename Exchange>
__device__ __forceinline__ void solve_by(int algorithm, const Problem &problem, Exchange &exchange) {
  if (algorithm == STEEPEST) solve_by<STEEPEST, ROWS_PER_WARP>(problem, exchange);
  if (algorithm == CG) solve_by<CG, ROWS_PER_WARP>(problem, exchange);
  if (algorithm == JACOBI) solve_by<JACOBI, ROWS_PER_WARP>(problem, exchange);
}
