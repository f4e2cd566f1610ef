// Reductions in a block of BLOCK threads. REAL is the element type; both are macros.
#pragma once
#include "warp.cuh"

constexpr int WARPS_OF_BLOCK = (BLOCK + WARP - 1) / WARP;

// Replace `a` and `b` in all threads of a block by their sums over the block, in a fixed order; scratch (64) is in
// shared memory.
__device__ __forceinline__ void sum_over_block(REAL &a, REAL &b, REAL *scratch) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  a = sum_of_warp(a), b = sum_of_warp(b);
  __syncthreads();  // all threads have read the results of an earlier call
  if (lane == 0) scratch[warp] = a, scratch[WARP + warp] = b;
  __syncthreads();
  a = sum_of_warp(lane < WARPS_OF_BLOCK ? scratch[lane] : REAL(0));
  b = sum_of_warp(lane < WARPS_OF_BLOCK ? scratch[WARP + lane] : REAL(0));
}
