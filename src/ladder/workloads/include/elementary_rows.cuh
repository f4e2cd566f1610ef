// Elementary kernels of version 1 of the earlier study: a block has a row of a matrix, a thread one of its elements.
//
// Launch: grid `rows`, block `columns`, at most MAX_COLUMNS, no dynamic shared memory. Operations on vectors have
// blocks of one thread.
#pragma once
#include "elementary.cuh"

constexpr unsigned MAX_COLUMNS = 32;

// products (rows, columns) = matrix (rows, columns) times x (columns), element by element.
extern "C" __global__ void product(const REAL *matrix, const REAL *x, REAL *products) {
  products[linear_index()] = matrix[linear_index()] * x[threadIdx.x];
}

// sums[i] = the sum of row i of terms (rows, columns): a tree reduction in shared memory, unrolled.
extern "C" __global__ void reduction(const REAL *terms, REAL *sums) {
  __shared__ REAL row[MAX_COLUMNS];
  const unsigned column = threadIdx.x;
  row[column] = terms[linear_index()];
#pragma unroll
  for (unsigned half = MAX_COLUMNS / 2; half > 0; half /= 2) {
    __syncthreads();  // the sums of the previous step are complete
    if (column < half && column + half < blockDim.x) row[column] += row[column + half];
  }
  if (column == 0) sums[blockIdx.x] = row[0];
}
