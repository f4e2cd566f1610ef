// GEMV with a thread per column of the transposed matrix, a row of the original, so that neighbouring threads read
// neighbouring elements; and the transposition, by tiles of TILE x TILE.
//
// Launch: `transpose` grid ceil(n / TILE) * ceil(m / TILE), block (TILE, BLOCK_ROWS); `gemv` grid ceil(n / BLOCK),
// block BLOCK. No dynamic shared memory.
#include "thread_per_row.cuh"

constexpr int BLOCK_ROWS = TILE / 4;  // rows of a tile that a block transposes at once
static_assert(TILE % 4 == 0 && TILE * BLOCK_ROWS <= 1024, "tile must be a multiple of 4, 64 at most");

// transposed (m, n) = matrix (n, m).
extern "C" __global__ void __launch_bounds__(TILE *BLOCK_ROWS)
    transpose(const REAL *__restrict__ matrix, REAL *transposed, long long n, long long m) {
  // Padded by a column, so that reading along a column has no bank conflicts.
  __shared__ REAL tile[TILE][TILE + 1];
  const long long tiles_per_row = (m + TILE - 1) / TILE;
  const long long top = blockIdx.x / tiles_per_row * TILE, left = blockIdx.x % tiles_per_row * TILE;
  const int x = threadIdx.x;
  for (int y = threadIdx.y; y < TILE; y += BLOCK_ROWS)
    if (top + y < n && left + x < m) tile[y][x] = matrix[(top + y) * m + left + x];
  __syncthreads();  // the tile is complete
  for (int y = threadIdx.y; y < TILE; y += BLOCK_ROWS)
    if (left + y < m && top + x < n) transposed[(left + y) * n + top + x] = tile[x][y];
}

// y (n) = matrix (n, m) x (m), where transposed (m, n) is the transposed matrix.
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv(const REAL *__restrict__ transposed, const REAL *__restrict__ x, REAL *y, long long n, long long m) {
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  REAL sum = 0;
#pragma unroll 16  // independent loads
  for (long long j = 0; j < m; ++j) sum += transposed[j * n + i] * x[j];
  y[i] = sum;
}
