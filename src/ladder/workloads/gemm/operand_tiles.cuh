// Tiles of operands in shared memory, in lines of 128 bytes that are swizzled as by the Tensor Memory Accelerator
// (TMA), and their copies.
#pragma once
#include "ptx/tma.cuh"
#include "vector.cuh"

constexpr int BK = 8 * V, LINE_BYTES = BK * sizeof(REAL);  // elements and bytes of a line, which the TMA swizzles
// Threads of the warpgroup that copies. A single one of them issues the copies of the TMA.
constexpr int PRODUCER_THREADS = 128;

// The maps of an operand for the TMA. Along k, a box of `tile` is a tile, 128 bytes of each of its rows (or columns).
// Else it is a tile of whole groups of 128 bytes, and `group` has boxes of one group, for tiles at the operand's end.
struct OperandMaps {
  const TensorMap &tile, &group;
};

// The offset in bytes of an element in a tile: of row `r` of op(A) (or column of op(B)) at depth `p`. Lines are along
// k, or else along m (or n), BK of them for each group of BK rows. The vectors of a line are swizzled as by the TMA:
// vector u of line l is at u ^ l % 8.
template <bool along_k>
__device__ __forceinline__ int tile_offset(int r, int p) {
  return along_k ? r * LINE_BYTES + (p / V ^ r % 8) * 16 + p % V * int(sizeof(REAL))
                 : (r / BK * BK + p) * LINE_BYTES + (r % BK / V ^ p % 8) * 16 + r % V * int(sizeof(REAL));
}

// Start the copy of the tile of `rows` rows of op(A) (or columns of op(B)), from `first` on of `count`, at depth `p`,
// by one thread. Elements outside the operand are 0.
template <bool along_k, int rows>
__device__ __forceinline__ void copy_tile(Vector *to, const OperandMaps &maps, Mbarrier &full, int first, int count,
                                        int p) {
  if (along_k) {
    copy_box(to, maps.tile, full, p, first);
  } else if (first + rows <= count / BK * BK) {
    copy_box(to, maps.tile, full, 0, p, first / BK);
  } else {
#pragma unroll 1
    for (int group = 0; group < rows / BK; ++group)
      copy_box(to + group * BK * 8, maps.group, full, first + group * BK, p);
  }
}
