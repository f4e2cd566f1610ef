// The columns of a product: the output channels of the first of PARITIES elements of the result, then those of the
// next; see implicit.cuh.
#pragma once

static_assert(PARITIES == 1 || PARITIES == 2 || PARITIES == 4, "PARITIES must be 1, 2 or 4.");

// For a column of the product: the index of its element, its output channel, and the offset of its result from that of
// the first column, if an element of the result has `padded_k` channels in memory.
__device__ __forceinline__ int element_of(int column, int k) {
  return PARITIES == 1 ? 0 : PARITIES == 2 ? column >= k : column / k;
}

__device__ __forceinline__ int channel_of(int column, int k) { return column - element_of(column, k) * k; }

__device__ __forceinline__ int offset_of(int column, int h, int k, int padded_k) {
  const int element = element_of(column, k);
  return (element / 2 * 2 * h + element % 2) * padded_k + channel_of(column, k);
}
