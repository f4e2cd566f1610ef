// The epilogue of products on tensor cores: bias, activation, and stores as float32 or as operands.
#pragma once
#include "activation.cuh"
#include "columns.cuh"

// Store a warp's sums (tall, wide, 4 of a lane), in pairs or one by one: tiles of 16 rows by 8 columns in the layout of
// mma_packed(), the first at row `row` and, for this lane, column `column`, the others every `step` rows and every 8
// columns. `rows(row)` is the address of the first column of a row, null for a row that isn't stored.
template <bool in_pairs, class As, int step, int tall, int wide, class Rows>
__device__ __forceinline__ void write(const float (&sums)[tall][wide][4], const Rows &rows, int row, int column, int h,
                                      int k, int out_width) {
  using Out = typename As::Type;
  struct alignas(2 * sizeof(Out)) Pair {
    Out x, y;
  };
  const int columns = PARITIES * k;
#pragma unroll
  for (int i = 0; i < 2 * tall; ++i) {
    Out *const to = rows(row + i / 2 * step + i % 2 * 8 + threadIdx.x % 32 / 4);
    if (!to) continue;
#pragma unroll
    for (int j = 0; j < wide; ++j) {
      const int at = column + j * 8;
      const Pair pair = {As::convert(sums[i / 2][j][i % 2 * 2]), As::convert(sums[i / 2][j][i % 2 * 2 + 1])};
      Out *const first = to + offset_of(at, h, k, out_width);
      if (in_pairs) {
        if (at < columns) *reinterpret_cast<Pair *>(first) = pair;
      } else {
        if (at < columns) *first = pair.x;
        if (at + 1 < columns) to[offset_of(at + 1, h, k, out_width)] = pair.y;
      }
    }
  }
}

// Add bias (k) to a warp's sums (tall, wide, 4 of a lane), laid out as in write() with the first at column `column`,
// activate them, and store them.
template <class As, int step, int tall, int wide, class Rows>
__device__ __forceinline__ void finish(float (&sums)[tall][wide][4], const Rows &rows, int row, int column, int h,
                                       int k, const float *bias, int out_width, int activation) {
  const int lane_column = column + threadIdx.x % 4 * 2;
#pragma unroll
  for (int j = 0; j < wide; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int at = lane_column + j * 8 + e;
      const float summand = at < PARITIES * k ? bias[channel_of(at, k)] : 0;
#pragma unroll
      for (int i = 0; i < 2 * tall; ++i) sums[i / 2][j][i % 2 * 2 + e] += summand;
    }
  activate<tall * wide * 4, true>(&sums[0][0][0], activation);  // far more accurate than the operands
  if (out_width % 2 == 0 && k % 2 == 0)
    write<true, As, step>(sums, rows, row, lane_column, h, k, out_width);
  else
    write<false, As, step>(sums, rows, row, lane_column, h, k, out_width);
}
