// A whole solve by one cluster of BLOCKS blocks. A warp has ROWS rows of A in registers, and every warp all of r and p,
// COLUMNS elements a lane: all work out the same numbers, and but for q = A p nobody waits for anybody. Each warp sends
// its elements of q to every block, and goes on once all of q is there.
//
// There are two places for q. A warp sends to the one of the step before last, which nobody reads any more: whoever has
// sent his part of the last q had read it.
#include "cluster.cuh"
#include "warp.cuh"

constexpr int WARPS = BLOCK / WARP;
constexpr int WIDTH = 16 / sizeof(REAL);  // elements of one access
constexpr int LENGTH = WARP * COLUMNS;    // of a vector, 0 beyond n
constexpr int ROWS = (LENGTH + BLOCKS * WARPS - 1) / (BLOCKS * WARPS);
constexpr REAL LEAST = FLOAT64 ? REAL(2.3e-308) : REAL(1.2e-38f);  // about the least normal number
static_assert(COLUMNS % WIDTH == 0, "columns must be whole accesses of 16 bytes: a multiple of 4, or of 2 in float64");
static_assert(BLOCKS <= 16 && BLOCKS <= WARP, "a cluster has at most 16 blocks");

enum Algorithm { STEEPEST, CG, JACOBI };

// The element of a vector that a lane has at k.
__device__ __forceinline__ int column_of(int k) { return (k / WIDTH * WARP + threadIdx.x % WARP) * WIDTH + k % WIDTH; }

// The products of two vectors' elements in this lane, summed up in four parts, whose additions don't wait for each other.
__device__ __forceinline__ REAL part_of_product(const REAL *u, const REAL *v) {
  REAL sums[4] = {};
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) sums[k % 4] += u[k] * v[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, int n, int iterations,
          int algorithm, REAL tolerance) {
  __shared__ alignas(16) REAL products[2][LENGTH], inverses[LENGTH];
  __shared__ Mailbox mailboxes[2];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, top = (blockIdx.x * WARPS + warp) * ROWS;
  const bool is_first = blockIdx.x == 0 && warp == 0;

  for (int i = threadIdx.x; i < LENGTH; i += BLOCK) {
    products[0][i] = products[1][i] = 0;
    inverses[i] = algorithm == JACOBI && i < n ? 1 / matrix[(long long)i * (n + 1)] : REAL(1);
  }
  REAL a[ROWS][COLUMNS], r[COLUMNS], p[COLUMNS], q[COLUMNS], of_x[COLUMNS] = {};
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) {
    const int column = column_of(k);
    r[k] = column < n ? b[column] : REAL(0);
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      a[row][k] = column < n && top + row < n ? matrix[(long long)(top + row) * n + column] : REAL(0);
  }
  // Lane l sends to block l, if that has rows.
  const bool sends = lane < (n + ROWS * WARPS - 1) / (ROWS * WARPS);
  const unsigned bytes = (n + ROWS - 1) / ROWS * ROWS * sizeof(REAL);
  unsigned places[2], boxes[2];
  for (int turn = 0; turn < 2; ++turn) {
    places[turn] = address_in(lane % BLOCKS, products[turn] + top);
    boxes[turn] = address_in(lane % BLOCKS, mailboxes + turn);
  }
  if (threadIdx.x == 0) mailboxes[0].clear(), mailboxes[1].clear();
  wait_for_cluster();  // all blocks run, and are ready for mail

  REAL z[COLUMNS];
  auto precondition = [&] {
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) z[k] = algorithm == JACOBI ? r[k] * inverses[column_of(k)] : r[k];
  };
  precondition();
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) p[k] = z[k];
  REAL product = sum_of_warp(part_of_product(r, z)), limit = 0;
  for (int step = 0; top < n; ++step) {  // warps without rows aren't needed
    const int turn = step & 1;
    if (threadIdx.x == 0) mailboxes[turn].announce(bytes);
    // r.r and the elements of q are summed up together: they wait for the same latency.
    REAL square = sum_of_warp(part_of_product(r, r)), sums[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) sums[row] = sum_of_warp(part_of_product(a[row], p));
    if (step == 0) limit = tolerance * tolerance * square;
    const bool is_done = step == iterations || square <= limit;
    if (is_first && lane == 0) {
      history[step] = square;
      if (is_done) *steps = step;
    }
    if (is_done) break;
    if (sends) send(places[turn], boxes[turn], sums);
    mailboxes[turn].wait(step / 2);
#pragma unroll
    for (int k = 0; k < COLUMNS; k += WIDTH) {
      const int4 bits = *reinterpret_cast<const int4 *>(products[turn] + column_of(k));
#pragma unroll
      for (int w = 0; w < WIDTH; ++w) q[k + w] = reinterpret_cast<const REAL *>(&bits)[w];
    }
    const REAL curvature = sum_of_warp(part_of_product(p, q));
    const REAL alpha = (algorithm == STEEPEST ? square : product) / (curvature > LEAST ? curvature : REAL(1));
    const REAL length = curvature > LEAST ? alpha : REAL(0);
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) {
      if (is_first) of_x[k] += length * p[k];
      r[k] -= length * q[k];
    }
    precondition();
    REAL beta = 0;
    if (algorithm != STEEPEST) {
      const REAL before = product;
      product = sum_of_warp(part_of_product(r, z));
      beta = before > LEAST ? product / before : REAL(0);
    }
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) p[k] = z[k] + beta * p[k];
  }
  wait_for_cluster();  // no block ends while others may send to it
  if (!is_first) return;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k)
    if (column_of(k) < n) x[column_of(k)] = of_x[k];
  for (int i = *steps + 1 + lane; i <= iterations; i += WARP) history[i] = 0;
}
