// Wrong on purpose: the threads of row m, which `out` doesn't have, write zeros beyond its end.
extern "C" __global__ void gemm_nn(const REAL *a, const REAL *b, const REAL *c, REAL *out, int m, int n, int k) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > m || j >= n) return;
  REAL sum = 0;
  for (int p = 0; i < m && p < k; ++p) sum += a[size_t(i) * k + p] * b[size_t(p) * n + j];
  out[size_t(i) * n + j] = sum;
}
