// What the kernels of the earlier study share. Each of their arrays holds all layers one after the other: `out` and
// `delta` (rows, width) of each layer, `w` and `dw` (fan_in + 1, fan_out), the bias in row 0. Layer 0 of `out` holds
// the images; layer 0 of `delta` is unused. Rows are those of the pool, of which `ranpat` lists the visited ones. The
// macro REAL is the element type.
#pragma once

#define FLAT_ARRAYS const REAL *targets, REAL *out, REAL *delta, REAL *w, REAL *dw, REAL *error

constexpr int MAX_BLOCK_THREADS = 1024;  // threads of a block

__device__ __forceinline__ unsigned linear_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ REAL sigmoid(REAL z) { return 1 / (1 + exp(-z)); }
// The sigmoid's derivative, from the sigmoid's value.
__device__ __forceinline__ REAL slope(REAL o) { return o * (1 - o); }
