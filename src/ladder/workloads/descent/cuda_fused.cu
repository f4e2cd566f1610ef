// A launch for each step. The two kernels that recompute a residual precede the launch of their step.
//
// Shapes: see SolveState in iteration.cuh.
//
// Launch: grid any number of blocks, at most n, block BLOCK, dynamic shared memory as SharedMemory in iteration.cuh.
#include "iteration.cuh"

// The beginning of every kernel: it returns if the solve has ended; else it declares `state`, `shared` and `rows`, and
// resets the sums. `staged_columns` elements of a vector are staged at once.
#define DECLARE_STATE                                                                                                  \
  const SolveState state = {matrix, b, x, history, steps, vectors, diagonal, rz, n, iterations, algorithm, tolerance}; \
  if (step && *steps >= 0 && *steps < step) return; /* the solve ended at an earlier step */                           \
  extern __shared__ int4 memory[];                                                                                     \
  const int row_count = state.first_row(blockIdx.x + 1) - state.first_row(blockIdx.x);                                 \
  const SharedMemory shared(reinterpret_cast<REAL *>(memory), row_count, staged_columns);                              \
  const Rows rows = {matrix + state.first_row(blockIdx.x) * (long long)n, n};                                          \
  clear_row_sums(state, shared);
#define ARGUMENTS                                                                                                      \
  const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *vectors, REAL *diagonal,          \
      REAL *rz, int n, int iterations, int algorithm, REAL tolerance, int staged_columns, int step

// Step number `step`; `is_recomputed` is whether recompute_residual() has written its residual.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) advance_by_one(ARGUMENTS, int is_recomputed) {
  DECLARE_STATE
  advance(state, step, is_recomputed ? RECOMPUTED : UPDATED, shared, rows);
}

// x (n) of step `step`, before recompute_residual() reads it.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) update_x(ARGUMENTS) {
  DECLARE_STATE
  update_block_x(state, step);
}

// r (n) = b - A x.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) recompute_residual(ARGUMENTS) {
  DECLARE_STATE
  recompute_block_residual(state, step, shared, rows);
}
