// Reductions in a warp. REAL is the element type, a macro.
#pragma once

constexpr int WARP = 32;  // threads

// The sum of `value` over each LANES neighbouring threads of a warp, a power of two, in a fixed order; all of them
// receive it.
template <int LANES>
__device__ __forceinline__ REAL sum_of_lanes(REAL value) {
#pragma unroll
  for (int distance = LANES / 2; distance; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}

// The sum of `value` over a warp's threads, in a fixed order; all of them receive it.
__device__ __forceinline__ REAL sum_of_warp(REAL value) { return sum_of_lanes<WARP>(value); }
