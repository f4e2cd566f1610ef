// Reductions in a warp. REAL is the element type, a macro.
#pragma once

constexpr int WARP = 32;  // threads

// The sum of `value` over a warp's threads, in a fixed order; all of them receive it.
__device__ __forceinline__ REAL sum_of_warp(REAL value) {
#pragma unroll
  for (int distance = WARP / 2; distance; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}
