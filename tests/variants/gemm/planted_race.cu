// Wrong on purpose: tiles in shared memory without the two barriers that they need.
constexpr int SIDE = 16;

extern "C" __global__ void gemm_nn(const REAL *a, const REAL *b, const REAL *c, REAL *out, int m, int n, int k) {
  __shared__ REAL tile_a[SIDE][SIDE + 1], tile_b[SIDE][SIDE + 1];
  const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * SIDE + y, j = blockIdx.x * SIDE + x;
  REAL sum = 0;
  for (int start = 0; start < k; start += SIDE) {
    tile_a[y][x] = i < m && start + x < k ? a[size_t(i) * k + start + x] : REAL(0);
    tile_b[y][x] = j < n && start + y < k ? b[size_t(start + y) * n + j] : REAL(0);
    for (int p = 0; p < SIDE; ++p) sum += tile_a[y][p] * tile_b[p][x];
  }
  if (i < m && j < n) out[size_t(i) * n + j] = sum;
}
