// GEMV with a thread per row.
//
// Launch: grid ceil(n / BLOCK), block BLOCK, no dynamic shared memory.
#include "thread_per_row.cuh"

// y (n) = matrix (n, m) x (m).
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv(const REAL *__restrict__ matrix, const REAL *__restrict__ x, REAL *y, long long n, long long m) {
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  REAL sum = 0;
#pragma unroll 16  // independent loads
  for (long long j = 0; j < m; ++j) sum += matrix[i * m + j] * x[j];
  y[i] = sum;
}
