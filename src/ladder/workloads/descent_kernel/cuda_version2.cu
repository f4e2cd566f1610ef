// Every kernel uses a linear index, except `gemv`, which has a block for each row.
//
// Launch: at least n * n threads along x for `init`, n * n + n for `hash`; for `gemv` a block per row, of whole warps
// and at most MAX_GEMV_THREADS. No dynamic shared memory. elementary.cuh and elementary_parts.cuh describe the others.
#include "elementary.cuh"
#include "elementary_parts.cuh"
#include "hashed_element.cuh"
#include "warp.cuh"

// matrix[i] = i, for n * n elements.
extern "C" __global__ void init(REAL *matrix, unsigned n) {
  const unsigned i = linear_index();
  if (i < n * n) matrix[i] = i;
}

// matrix (n, n) and b (n) from their indices and key (1).
extern "C" __global__ void hash(const unsigned *key, REAL *matrix, REAL *b, unsigned n) {
  const unsigned i = linear_index();
  if (i >= n * n + n) return;
  (i < n * n ? matrix[i] : b[i - n * n]) = hashed_element(i, *key);
}

// The maximum number of threads of a block: few enough for the registers of two Parts per thread.
constexpr unsigned MAX_GEMV_THREADS = 512;

// y (gridDim.x) = matrix (gridDim.x, columns) times x (columns).
extern "C" __global__ void __launch_bounds__(MAX_GEMV_THREADS)
    gemv(const REAL *matrix, const REAL *x, REAL *y, unsigned columns) {
  __shared__ REAL warp_sums[MAX_GEMV_THREADS / WARP];
  const REAL *row = matrix + blockIdx.x * columns;
  const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  REAL sum = 0;
  for (unsigned start = threadIdx.x * LOAD; start < columns; start += blockDim.x * LOAD) {
    const Part elements(row + start, columns - start), factors(x + start, columns - start);
#pragma unroll
    for (unsigned k = 0; k < LOAD; ++k) sum += elements.value[k] * factors.value[k];
  }
  sum = sum_of_warp(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();  // the sums of all warps are complete
  if (warp > 0) return;
  sum = sum_of_warp(lane < blockDim.x / WARP ? warp_sums[lane] : REAL(0));
  if (lane == 0) y[blockIdx.x] = sum;
}
