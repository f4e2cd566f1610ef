// The epilogue of products on tensor cores: bias, activation, and stores as float32 or as operands.
#pragma once
#include "activation.cuh"
#include "columns.cuh"

// Store a warp's sums (row_tiles, column_tiles, 4 of a lane), in pairs or one by one. They are tiles of 16 rows by 8
// columns in the layout of mma_packed(), the first at row `row` and, for this lane, column `column`, the others every
// `row_step` rows and every 8 columns. `row_address(row)` is the address of a row's first column, or null for a row
// that isn't stored.
template <bool stores_pairs, class Format, int row_step, int row_tiles, int column_tiles, class RowAddress>
__device__ __forceinline__ void store_sums(const float (&sums)[row_tiles][column_tiles][4],
                                           const RowAddress &row_address, int row, int column, int h, int k,
                                           int padded_k) {
  using Out = typename Format::Type;
  struct alignas(2 * sizeof(Out)) Pair {
    Out x, y;
  };
  const int columns = PARITIES * k;
#pragma unroll
  for (int i = 0; i < 2 * row_tiles; ++i) {
    Out *const target = row_address(row + i / 2 * row_step + i % 2 * 8 + threadIdx.x % 32 / 4);
    if (!target) continue;
#pragma unroll
    for (int j = 0; j < column_tiles; ++j) {
      const int product_column = column + j * 8;
      const Pair pair = {Format::convert(sums[i / 2][j][i % 2 * 2]), Format::convert(sums[i / 2][j][i % 2 * 2 + 1])};
      Out *const target_pair = target + offset_of(product_column, h, k, padded_k);
      if (stores_pairs) {
        if (product_column < columns) *reinterpret_cast<Pair *>(target_pair) = pair;
      } else {
        if (product_column < columns) *target_pair = pair.x;
        if (product_column + 1 < columns) target[offset_of(product_column + 1, h, k, padded_k)] = pair.y;
      }
    }
  }
}

// Add bias (k) to a warp's sums (row_tiles, column_tiles, 4 of a lane), activate them, and store them. They are laid
// out as in store_sums(), with the warp's first tile at row `row` and column `column`.
template <class Format, int row_step, int row_tiles, int column_tiles, class RowAddress>
__device__ __forceinline__ void apply_epilogue(float (&sums)[row_tiles][column_tiles][4],
                                               const RowAddress &row_address, int row, int column, int h, int k,
                                               const float *bias, int padded_k, int activation) {
  const int lane_column = column + threadIdx.x % 4 * 2;
#pragma unroll
  for (int j = 0; j < column_tiles; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int product_column = lane_column + j * 8 + e;
      const float addend = product_column < PARITIES * k ? bias[channel_of(product_column, k)] : 0;
#pragma unroll
      for (int i = 0; i < 2 * row_tiles; ++i) sums[i / 2][j][i % 2 * 2 + e] += addend;
    }
  // The short form of tanh() is far more accurate than the operands.
  activate<row_tiles * column_tiles * 4, true>(&sums[0][0][0], activation);
  if (padded_k % 2 == 0 && k % 2 == 0)
    store_sums<true, Format, row_step>(sums, row_address, row, lane_column, h, k, padded_k);
  else
    store_sums<false, Format, row_step>(sums, row_address, row, lane_column, h, k, padded_k);
}
