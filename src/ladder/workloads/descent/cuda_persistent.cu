// A whole solve in one cooperative launch, with a barrier of the grid in each step.
#include "iteration.cuh"

// The block's share of A, copied to shared memory, its rows `stride` apart and 0 beyond n.
__device__ Rows copied(const Solve &s, REAL *place, long long stride) {
  const REAL *start = s.matrix + s.first(blockIdx.x) * s.n;
  const long long number = s.first(blockIdx.x + 1) - s.first(blockIdx.x);
  for (long long row = 0; row < number; ++row)
    for (long long i = threadIdx.x; i < stride; i += BLOCK) place[row * stride + i] = i < s.n ? start[row * s.n + i] : REAL(0);
  return {place, stride, true};
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *vectors, REAL *weights,
          REAL *products, long long n, int iterations, int algorithm, REAL tolerance, long long columns, int period,
          int is_resident, unsigned *counts) {
  const Solve s = {matrix, b, x, history, steps, vectors, weights, products, n, iterations, algorithm, tolerance};
  extern __shared__ int4 memory[];
  REAL *place = reinterpret_cast<REAL *>(memory);
  const long long number = s.first(blockIdx.x + 1) - s.first(blockIdx.x);
  const Rows rows = is_resident ? copied(s, place, columns) : Rows{matrix + s.first(blockIdx.x) * n, n, false};
  const Shared shared(place + (is_resident ? number * columns : 0), number, columns);
  clear_sums(s, shared);
  Barrier barrier = {counts};
  for (int step = 0;; ++step) {
    const bool is_due = period && step && step % period == 0;
    if (is_due) {
      advance_x(s, step);
      barrier.wait();
      recompute(s, step, shared, rows);
      barrier.wait();
    }
    if (!advance(s, step, is_due ? RECOMPUTED : CARRIED, shared, rows)) break;
    barrier.wait();
  }
  barrier.leave();
}
