// Reductions in a warp. REAL is the element type, a macro.
#pragma once

constexpr int WARP = 32;

// The sum over a warp's threads, returned in all of them, in a fixed order.
__device__ __forceinline__ REAL sum_of_warp(REAL value) {
#pragma unroll
  for (int distance = WARP / 2; distance; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}
