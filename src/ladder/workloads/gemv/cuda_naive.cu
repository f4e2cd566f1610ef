// A thread per row of the matrix. Blocks have BLOCK threads.
static_assert(BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");

extern "C" __global__ void __launch_bounds__(BLOCK)
    gemv(const REAL *__restrict__ matrix, const REAL *__restrict__ x, REAL *y, long long n, long long m) {
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  REAL sum = 0;
  for (long long j = 0; j < m; ++j) sum += matrix[i * m + j] * x[j];
  y[i] = sum;
}
