// GEMV with a thread per column of the transposed matrix, a row of the original; BLOCK elements of x at a time are
// staged in shared memory.
//
// Launch: grid ceil(n / BLOCK), block BLOCK, no dynamic shared memory.
#include "thread_per_row.cuh"

// y (n) = matrix (n, m) x (m), where transposed (m, n) is the transposed matrix.
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv(const REAL *__restrict__ transposed, const REAL *__restrict__ x, REAL *y, long long n, long long m) {
  __shared__ REAL x_part[BLOCK];
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  REAL sum = 0;
  for (long long start = 0; start < m; start += BLOCK) {
    const int count = m - start < BLOCK ? m - start : BLOCK;  // of the last part perhaps fewer
    if (threadIdx.x < count) x_part[threadIdx.x] = x[start + threadIdx.x];
    __syncthreads();  // the part is complete
    if (i < n) {
#pragma unroll 16  // independent loads
      for (int p = 0; p < count; ++p) sum += transposed[(start + p) * n + i] * x_part[p];
    }
    __syncthreads();  // all threads have read the part
  }
  if (i < n) y[i] = sum;
}
