// Elementwise operations on vectors (count) of REAL, a macro: one thread per element, numbered linearly over the grid.
// Excess threads do nothing.
//
// Launch: a grid and a block along x, at least `count` threads in all, no dynamic shared memory.
#pragma once

__device__ __forceinline__ unsigned linear_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// row (1, count) = the transpose of p (count, 1): the elements have the same order in memory.
extern "C" __global__ void transpose(const REAL *p, REAL *row, unsigned count) {
  const unsigned i = linear_index();
  if (i < count) row[i] = p[i];
}

// out (count) = alpha p (count).
extern "C" __global__ void scale(const REAL *p, REAL alpha, REAL *out, unsigned count) {
  const unsigned i = linear_index();
  if (i < count) out[i] = alpha * p[i];
}

// out (count) = x (count) - y (count).
extern "C" __global__ void vecdif(const REAL *x, const REAL *y, REAL *out, unsigned count) {
  const unsigned i = linear_index();
  if (i < count) out[i] = x[i] - y[i];
}

// out (count) = x (count) + y (count).
extern "C" __global__ void vecsum(const REAL *x, const REAL *y, REAL *out, unsigned count) {
  const unsigned i = linear_index();
  if (i < count) out[i] = x[i] + y[i];
}
