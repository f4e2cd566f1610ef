// One thread per element of the result; all operands are read from global memory.
//
// Launch: grid (ceil(n / BLOCK), ceil(m / BLOCK)), block (BLOCK, BLOCK), no dynamic shared memory.
#include "operands.cuh"

// Compute a block's part of out (m, n); operands.cuh describes the arguments.
template <Form form>
__device__ void compute_product(GEMM_ARGUMENTS) {
  // Neighbouring threads have neighbouring columns, so that stores, and loads of B for nn and tn, are coalesced.
  const int j = blockIdx.x * BLOCK + threadIdx.x;
  const int i = blockIdx.y * BLOCK + threadIdx.y;
  if (i >= m || j >= n) return;
  REAL sum = 0;
  for (int p = 0; p < k; ++p) sum += a[a_index<form>(i, p, m, k)] * b[b_index<form>(p, j, n, k)];
  const size_t index = size_t(i) * n + j;
  out[index] = c ? sum + c[index] : sum;
}

static_assert(BLOCK * BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");
GEMM_KERNELS(__launch_bounds__(BLOCK * BLOCK))
