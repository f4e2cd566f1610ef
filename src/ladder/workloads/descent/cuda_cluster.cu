// A whole solve by one cluster of BLOCKS blocks, for cards that have clusters. A warp has ROWS rows of A in registers, and every warp all of r and p,
// COLUMNS elements a lane: all work out the same numbers, and but for q = A p nobody waits for anybody. Each warp sends
// its elements of q to every block, and goes on once all of q is there.
//
// There are two places for q. A warp sends to the one of the step before last, which nobody reads any more: whoever has
// sent his part of the last q had read it.
#include "warp.cuh"

#if __CUDA_ARCH__ < 900
extern "C" __global__ void solve() {}  // cuda_cluster.py says so
#else
#include "algorithms.cuh"
#include "cluster.cuh"

constexpr int WARPS = BLOCK / WARP;
constexpr int WIDTH = 16 / sizeof(REAL);  // elements of one access
constexpr int LENGTH = WARP * COLUMNS;    // of a vector, 0 beyond n
constexpr int ROWS = (LENGTH + BLOCKS * WARPS - 1) / (BLOCKS * WARPS);
static_assert(COLUMNS % WIDTH == 0, "columns must be whole accesses of 16 bytes: a multiple of 4, or of 2 in float64");
static_assert(BLOCKS <= 16 && BLOCKS <= WARP, "a cluster has at most 16 blocks");

// The element of a vector that a lane has at k.
__device__ __forceinline__ int column_of(int k) { return (k / WIDTH * WARP + threadIdx.x % WARP) * WIDTH + k % WIDTH; }

// The products of two vectors' elements in this lane, summed up in parts, whose additions don't wait for each other.
__device__ __forceinline__ REAL part_of_product(const REAL *u, const REAL *v) {
  constexpr int PARTS = FLOAT64 ? 1 : 4;
  REAL sums[PARTS] = {}, sum = 0;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) sums[k % PARTS] += u[k] * v[k];
#pragma unroll
  for (int k = 0; k < PARTS; ++k) sum += sums[k];
  return sum;
}

// Work on each element of a vector in shared memory that this lane has: on its place k there, and its value. In float64
// they are read every time, since there are no registers to keep them in.
template <typename Work>
__device__ __forceinline__ void for_each(const REAL *vector, Work work) {
  if constexpr (FLOAT64) asm volatile("" ::: "memory");
#pragma unroll
  for (int k = 0; k < COLUMNS; k += WIDTH) {
    const int4 bits = *reinterpret_cast<const int4 *>(vector + column_of(k));
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) work(k + w, reinterpret_cast<const REAL *>(&bits)[w]);
  }
}

// The solve by one algorithm, for which nothing has to be asked in a step.
template <Algorithm algorithm>
__device__ __forceinline__ void solve_by(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps,
                                         int n, int iterations, REAL tolerance) {
  __shared__ alignas(16) REAL products[2][LENGTH], inverses[LENGTH];
  __shared__ Mailbox mailboxes[2];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, top = (blockIdx.x * WARPS + warp) * ROWS;
  const bool is_first = blockIdx.x == 0 && warp == 0;

  for (int i = threadIdx.x; i < LENGTH; i += BLOCK) {
    products[0][i] = products[1][i] = 0;
    inverses[i] = algorithm == JACOBI && i < n ? 1 / matrix[(long long)i * (n + 1)] : REAL(1);
  }
  REAL a[ROWS][COLUMNS], r[COLUMNS], p[COLUMNS], of_x[COLUMNS] = {};
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) {
    const int column = column_of(k);
    r[k] = column < n ? b[column] : REAL(0);
    p[k] = 0;
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      a[row][k] = column < n && top + row < n ? matrix[(long long)(top + row) * n + column] : REAL(0);
  }
  // Lane l sends to block l, if that has rows.
  const bool sends = lane < (n + ROWS * WARPS - 1) / (ROWS * WARPS);
  const unsigned bytes = (n + ROWS - 1) / ROWS * ROWS * sizeof(REAL);
  const unsigned place = address_in(lane % BLOCKS, products[0] + top), box = address_in(lane % BLOCKS, mailboxes);
  if (threadIdx.x == 0) mailboxes[0].clear(), mailboxes[1].clear();
  wait_for_cluster();  // all blocks run, and are ready for mail

  REAL before = 0, limit = 0;
  for (int step = 0; top < n; ++step) {  // warps without rows aren't needed
    const int turn = step & 1;
    if (threadIdx.x == 0) mailboxes[turn].announce(bytes);
    REAL square = part_of_product(r, r), product = 0;
    if (algorithm == CG) product = square = sum_of_warp(square);
    if (algorithm == JACOBI) {
      for_each(inverses, [&](int k, REAL inverse) { product += r[k] * r[k] * inverse; });
      product = sum_of_warp(product);
    }
    const REAL beta = algorithm != STEEPEST && before > LEAST ? product / before : REAL(0);
    if (algorithm == JACOBI) {
      for_each(inverses, [&](int k, REAL inverse) { p[k] = r[k] * inverse + beta * p[k]; });
    } else {
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) p[k] = algorithm == CG ? r[k] + beta * p[k] : r[k];
    }
    // What isn't known of r.r is summed up together with the elements of q: they wait for the same latency.
    REAL sums[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) sums[row] = sum_of_warp(part_of_product(a[row], p));
    if (algorithm != CG) square = sum_of_warp(square);
    if (algorithm == STEEPEST) product = square;
    if (step == 0) limit = tolerance * tolerance * square;
    const bool is_done = step == iterations || square <= limit;
    if (is_first && lane == 0) {
      history[step] = square;
      if (is_done) *steps = step;
    }
    if (is_done) break;
    if (sends) send(place + turn * (unsigned)sizeof(products[0]), box + turn * (unsigned)sizeof(Mailbox), sums);
    mailboxes[turn].wait(step / 2);
    REAL parts[WIDTH] = {}, curvature = 0;
    for_each(products[turn], [&](int k, REAL q) { parts[k % WIDTH] += p[k] * q; });
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) curvature += parts[w];
    curvature = sum_of_warp(curvature);
    const REAL alpha = curvature > LEAST ? product / curvature : REAL(0);
    before = product;
    for_each(products[turn], [&](int k, REAL q) { r[k] -= alpha * q; });
    if (is_first)
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) of_x[k] += alpha * p[k];
  }
  wait_for_cluster();  // no block ends while others may send to it
  if (!is_first) return;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k)
    if (column_of(k) < n) x[column_of(k)] = of_x[k];
  for (int i = *steps + 1 + lane; i <= iterations; i += WARP) history[i] = 0;
}

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, int n, int iterations,
          int algorithm, REAL tolerance) {
  if (algorithm == STEEPEST) solve_by<STEEPEST>(matrix, b, x, history, steps, n, iterations, tolerance);
  if (algorithm == CG) solve_by<CG>(matrix, b, x, history, steps, n, iterations, tolerance);
  if (algorithm == JACOBI) solve_by<JACOBI>(matrix, b, x, history, steps, n, iterations, tolerance);
}
#endif
