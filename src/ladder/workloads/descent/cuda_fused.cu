// A launch for each step; the kernels that recompute a residual precede the launch of their step.
//
// Shapes: see Solve in iteration.cuh.
//
// Launch: grid any number of blocks, at most n, block BLOCK, dynamic shared memory as Shared in iteration.cuh.
#include "iteration.cuh"

#define SOLVE                                                                                                        \
  const Solve s = {matrix, b, x, history, steps, vectors, weights, products, n, iterations, algorithm, tolerance};   \
  if (step && *steps >= 0 && *steps < step) return; /* it ended at an earlier step */                                \
  extern __shared__ int4 memory[];                                                                                   \
  const int number = s.first(blockIdx.x + 1) - s.first(blockIdx.x);                                                  \
  const Shared shared(reinterpret_cast<REAL *>(memory), number, columns);                                            \
  const Rows rows = {matrix + s.first(blockIdx.x) * (long long)n, n};                                         \
  clear_sums(s, shared);
#define ARGUMENTS                                                                                                    \
  const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *vectors, REAL *weights,         \
      REAL *products, int n, int iterations, int algorithm, REAL tolerance, int columns, int step

// Step `step`, from a residual that was recomputed or not.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) advance_by_one(ARGUMENTS, int is_recomputed) {
  SOLVE
  advance(s, step, is_recomputed ? RECOMPUTED : CARRIED, shared, rows);
}

// x (n) of that step before r is recomputed.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) update_x(ARGUMENTS) {
  SOLVE
  advance_x(s, step);
}

// r (n) = b - A x.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) recompute_residual(ARGUMENTS) {
  SOLVE
  recompute(s, step, shared, rows);
}
