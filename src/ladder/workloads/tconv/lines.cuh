// Tiles in shared memory whose rows are lines of 128 bytes along the channels, as wgmma requires; other products read
// such tiles without bank conflicts.
#pragma once
#include "ptx/async_copy.cuh"

constexpr int LINE_VECTORS = 8;  // vectors of 16 bytes

struct alignas(16) Vector {
  unsigned value[4];
};

// The index in a tile of vector `u` of a row, swizzled so that the 8 rows that are read at once are in different banks.
// This is the hardware's swizzle of 128 bytes. The table shows the position of each vector in the line of its row:
// vector 5 of row 3 is at position 6, so its index is 3 * 8 + 6.
//
//   vector  0 1 2 3 4 5 6 7
//   row 0   0 1 2 3 4 5 6 7
//   row 1   1 0 3 2 5 4 7 6
//   row 2   2 3 0 1 6 7 4 5
//   row 3   3 2 1 0 7 6 5 4
//   row 4   4 5 6 7 0 1 2 3
//   row 5   5 4 7 6 1 0 3 2
//   row 6   6 7 4 5 2 3 0 1
//   row 7   7 6 5 4 3 2 1 0
//   row 8   as row 0
__device__ __forceinline__ int swizzled_index(int row, int u) { return row * LINE_VECTORS + (u ^ row % LINE_VECTORS); }

// Start to copy a vector of operands, or zeros if `is_inside` is false.
template <class Type>
__device__ __forceinline__ void copy_vector(Vector *target, const Type *source, bool is_inside) {
  copy_async<16>(target, source, is_inside);
}
