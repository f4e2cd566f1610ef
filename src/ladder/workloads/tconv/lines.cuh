// Tiles in shared memory whose rows are lines of 128 bytes along the channels, as tensor cores require.
#pragma once
#include "ptx/async_copy.cuh"

constexpr int LINE = 8;  // vectors of 16 bytes

struct alignas(16) Vector {
  unsigned of[4];
};

// The index of vector `u` of row `r` in a tile, swizzled: the 8 rows that are read at once are in different banks.
__device__ __forceinline__ int place(int r, int u) { return r * LINE + (u ^ r % LINE); }

// Copy a vector of operands, or zeros if `inside` is false.
template <class Type>
__device__ __forceinline__ void copy_vector(Vector *to, const Type *from, bool inside) {
  copy<16>(to, from, inside);
}
