// What the kernels of the earlier study share. Its arrays are flat: `out`, `delta`, `w` and `dw` hold those of all
// layers one after the other, a ragged array: (rows, width) of each layer, or (fan_in + 1, fan_out), the bias in row 0.
// Layer 0 of `out` are the images, that of `delta` is unused; rows are those of the pool, of which `ranpat` lists the
// visited ones. REAL is the element type, a macro.
#pragma once

#define FLAT_ARRAYS const REAL *targets, REAL *out, REAL *delta, REAL *w, REAL *dw, REAL *error

constexpr int MAX_THREADS = 1024;  // threads of a block

__device__ __forceinline__ unsigned linear_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ REAL sigmoid(REAL z) { return 1 / (1 + exp(-z)); }
// The sigmoid's derivative, by its value.
__device__ __forceinline__ REAL slope(REAL o) { return o * (1 - o); }
