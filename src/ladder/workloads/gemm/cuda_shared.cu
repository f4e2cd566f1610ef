// Square tiles of both operands in shared memory, one thread per element of the result.
//
// Launch: grid (ceil(n / BLOCK), ceil(m / BLOCK)), block (BLOCK, BLOCK), no dynamic shared memory.
#include "operands.cuh"

// Compute a block's part of out (m, n); operands.cuh describes the arguments.
template <Form form>
__device__ void compute_product(GEMM_ARGUMENTS) {
  // Padded by a column, so that reading along a column has no bank conflicts.
  __shared__ REAL tile_a[BLOCK][BLOCK + 1];  // [row of the result][p]
  __shared__ REAL tile_b[BLOCK][BLOCK + 1];  // [p][column of the result]
  const int x = threadIdx.x, y = threadIdx.y;
  const int top = blockIdx.y * BLOCK, left = blockIdx.x * BLOCK;
  const int i = top + y, j = left + x;
  REAL sum = 0;
  for (int start = 0; start < k; start += BLOCK) {
    // Neighbouring threads read neighbouring addresses, whichever index is contiguous; elements outside the matrix are
    // zeros.
    if (form == Form::tn) {
      const bool inside = top + x < m && start + y < k;
      tile_a[x][y] = inside ? a[a_index<form>(top + x, start + y, m, k)] : REAL(0);
    } else {
      const bool inside = i < m && start + x < k;
      tile_a[y][x] = inside ? a[a_index<form>(i, start + x, m, k)] : REAL(0);
    }
    if (form == Form::nt) {
      const bool inside = left + y < n && start + x < k;
      tile_b[x][y] = inside ? b[b_index<form>(start + x, left + y, n, k)] : REAL(0);
    } else {
      const bool inside = j < n && start + y < k;
      tile_b[y][x] = inside ? b[b_index<form>(start + y, j, n, k)] : REAL(0);
    }
    __syncthreads();  // the tiles are complete
#pragma unroll
    for (int p = 0; p < BLOCK; ++p) sum += tile_a[y][p] * tile_b[p][x];
    __syncthreads();  // all threads have read them
  }
  if (i >= m || j >= n) return;
  const size_t index = size_t(i) * n + j;
  out[index] = c ? sum + c[index] : sum;
}

static_assert(BLOCK * BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");
GEMM_KERNELS(__launch_bounds__(BLOCK * BLOCK))
