// The columns of a product: the output channels of PARITIES elements of the result, one after the other; see
// implicit.cuh.
#pragma once

static_assert(PARITIES == 1 || PARITIES == 2 || PARITIES == 4, "PARITIES must be 1, 2 or 4.");

// For a column of the product: the index of its element, its output channel, and the offset of its result from the
// first column's, where pixels of the result have `width` channels.
__device__ __forceinline__ int place_of(int column, int k) {
  return PARITIES == 1 ? 0 : PARITIES == 2 ? column >= k : column / k;
}

__device__ __forceinline__ int channel_of(int column, int k) { return column - place_of(column, k) * k; }

__device__ __forceinline__ int offset_of(int column, int h, int k, int width) {
  const int place = place_of(column, k);
  return (place / 2 * 2 * h + place % 2) * width + channel_of(column, k);
}
