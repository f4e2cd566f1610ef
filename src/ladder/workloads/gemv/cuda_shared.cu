// GEMV with a thread per row; BLOCK elements of x at a time are staged in shared memory for a block's BLOCK rows.
//
// Launch: grid ceil(n / BLOCK), block BLOCK, no dynamic shared memory.
#include "thread_per_row.cuh"

// y (n) = matrix (n, m) x (m).
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv(const REAL *__restrict__ matrix, const REAL *__restrict__ x, REAL *y, long long n, long long m) {
  __shared__ REAL part[BLOCK];
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  REAL sum = 0;
  for (long long start = 0; start < m; start += BLOCK) {
    const int count = m - start < BLOCK ? m - start : BLOCK;
    if (threadIdx.x < count) part[threadIdx.x] = x[start + threadIdx.x];
    __syncthreads();  // the part is complete
    if (i < n) {
#pragma unroll 16  // independent loads
      for (int p = 0; p < count; ++p) sum += matrix[i * m + start + p] * part[p];
    }
    __syncthreads();  // all threads have read the part
  }
  if (i < n) y[i] = sum;
}
