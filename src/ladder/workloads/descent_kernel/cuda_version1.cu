// Every kernel by one block: n warps for a matrix, n threads for vectors.
//
// Launch: grid 1; block (32, n) for a matrix, n for vectors; no dynamic shared memory.
#include "elementary_warps.cuh"
#include "hashed_element.cuh"
#include "warp.cuh"

// matrix (n, n) and b (n) from their indices and key (1).
extern "C" __global__ void init(const unsigned *key, REAL *matrix, REAL *b, unsigned n) {
  if (!has_element(n)) return;
  matrix[element(n)] = hashed_element(element(n), *key);
  if (threadIdx.y == 0) b[threadIdx.x] = hashed_element(n * n + threadIdx.x, *key);
}

// y (blockDim.y) = matrix (blockDim.y, columns) times x (columns), a warp per row.
extern "C" __global__ void gemv(const REAL *matrix, const REAL *x, REAL *y, unsigned columns) {
  const REAL sum = sum_of_warp(has_element(columns) ? matrix[element(columns)] * x[threadIdx.x] : REAL(0));
  if (threadIdx.x == 0) y[threadIdx.y] = sum;
}
