// Tiles of operands in shared memory, in lines of 128 bytes that are swizzled as by the Tensor Memory Accelerator (TMA),
// and their copies. BM, BN, WM and WN are macros: a block computes BM x BN elements of the result, a warp WM x WN.
#pragma once
#include "ptx/async_copy.cuh"
#include "ptx/tma.cuh"
#include "vector.cuh"

constexpr int BK = 8 * V, LINE = 8 * V * sizeof(REAL);  // a line of 128 bytes, which the TMA swizzles
constexpr int DEPTH = 8;                                // along k of an instruction
constexpr int PIECES = BK / DEPTH, ROWS = WM / 16, COLUMNS = WN / 8;
constexpr int WARPS = (BM / WM) * (BN / WN), MULTIPLIERS = 32 * WARPS, PRODUCERS = 128;
constexpr int THREADS = MULTIPLIERS + PRODUCERS, PAIRS = BM * BN / 2;
constexpr int BAND = 8;  // rows of tiles whose blocks share columns of op(B) in the L2 cache

struct alignas(16) Pair {
  REAL x, y;
};

// The maps of an operand for the TMA; none if `stride`, the elements of a row, isn't 0. Along k, `tile` has boxes of a
// tile's rows (or columns), 128 bytes each. Else its boxes are all groups of 128 bytes of a tile's rows; it has only
// whole groups, and `group` has boxes of one group.
struct Operand {
  const TensorMap &tile, &group;
  const REAL *array;
  int stride;
};

// The offset in bytes of an element in a tile: of row `r` of op(A) (or column of op(B)) at depth `p`. Lines are along k,
// or else along m (or n), BK of them for each group of 16 rows. The vectors of a line are swizzled as by the TMA: vector
// u of line l is at u ^ l % 8.
template <bool along_k>
__device__ __forceinline__ int tile_offset(int r, int p) {
  return along_k ? r * LINE + (p / V ^ r % 8) * 16 + p % V * 8
                 : (r / BK * BK + p) * LINE + (r % BK / V ^ p % 8) * 16 + r % V * 8;
}

// Start the copy of the operand's tile of `rows` rows of op(A) (or columns of op(B)), from `first` on of `count`, at
// depth `p` of `k`. Elements outside the operand are 0.
template <bool along_k, int rows>
__device__ __forceinline__ void copy_tile(Vector *to, const Operand &operand, Mbarrier &full, int thread, int first,
                                        int count, int p, int k) {
  if (operand.stride) {
    // Each thread copies element `e` of every eighth line.
    const int line = thread / BK, e = thread % BK;
    char *const target = reinterpret_cast<char *>(to) + line * LINE + (e / V ^ line) * 16 + e % V * 8;
#pragma unroll 8
    for (int i = 0; i < rows / 8; ++i) {
      const int row = first + (along_k ? line + i * 8 : i / 2 * BK + e), depth = p + (along_k ? e : line + i % 2 * 8);
      const size_t index = along_k ? size_t(row) * operand.stride + depth : size_t(depth) * operand.stride + row;
      copy_async<sizeof(REAL)>(target + i * 8 * LINE, operand.array + index, row < count && depth < k);
    }
  } else if (thread == 0) {
    if (along_k) {
      copy_box(to, operand.tile, full, p, first);
    } else if (first + rows <= count / BK * BK) {
      copy_box(to, operand.tile, full, 0, p, first / BK);
    } else {
#pragma unroll 1
      for (int group = 0; group < rows / BK; ++group)
        copy_box(to + group * BK * 8, operand.group, full, first + group * BK, p);
    }
  }
}

// The depth of lane group t's elements in the first four of a line; those in the others are at this depth ^ 2, ^ 4, ^ 6.
// The sum over k may have any order. In this one, the lanes of an access read different banks whichever axis is
// contiguous: each half of a warp covers all 16 elements of a line's length.
__device__ __forceinline__ int lane_depth(int t) { return t % 2 * 3 + t / 2 * 12; }

// A lane's element of a tile, from its offset for the first eight rows and the first four depths: `eights` rows of eight
// and `fours` depths of four further. Such distances only set bits that an exclusive or adds, or whole lines.
template <bool along_k>
__device__ __forceinline__ REAL element(const char *tile, int offset, int eights, int fours) {
  const int index = along_k ? (offset ^ fours * 16) + eights * 8 * LINE
                            : (offset ^ fours * (2 * LINE + 32) ^ eights % 2 * 64) + eights / 2 * BK * LINE;
  return *reinterpret_cast<const REAL *>(tile + index);
}
