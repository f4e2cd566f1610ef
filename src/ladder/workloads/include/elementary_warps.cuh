// The two steps of a matrix-vector product, `product` and `reduction`, by one block. Warp threadIdx.y has a row of the
// matrix, and its thread threadIdx.x one of the row's `columns` elements, at most 32.
//
// Launch: grid 1, block (32, rows), no dynamic shared memory.
#pragma once
#include "elementary.cuh"
#include "warp.cuh"

__device__ __forceinline__ bool has_element(unsigned columns) { return threadIdx.x < columns; }
__device__ __forceinline__ unsigned element(unsigned columns) { return threadIdx.y * columns + threadIdx.x; }

// products (rows, columns) = matrix (rows, columns) times x (columns), element by element.
extern "C" __global__ void product(const REAL *matrix, const REAL *x, REAL *products, unsigned columns) {
  const unsigned i = element(columns);
  if (has_element(columns)) products[i] = matrix[i] * x[threadIdx.x];
}

// sums (rows) of the rows of terms (rows, columns). The sum over a warp is unrolled to five steps.
extern "C" __global__ void reduction(const REAL *terms, REAL *sums, unsigned columns) {
  const REAL sum = sum_of_warp(has_element(columns) ? terms[element(columns)] : REAL(0));
  if (threadIdx.x == 0) sums[threadIdx.y] = sum;
}
