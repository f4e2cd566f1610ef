// What the threads of a warp do together. REAL is the element type, given when compiling.
#pragma once

constexpr int WARP = 32;

// The sum over a warp's threads, in all of them, always in the same order.
__device__ __forceinline__ REAL sum_of_warp(REAL value) {
#pragma unroll
  for (int distance = WARP / 2; distance; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}
