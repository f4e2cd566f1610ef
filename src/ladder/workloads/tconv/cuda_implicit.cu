// The transposed convolution without tensor cores: tiles of BM images by BN columns, summed in steps of BK channels,
// pixel by pixel; see implicit.cuh. The image is (images, h, h, c), the packed filter (packed rows, c, columns), the
// bias (k), the result (images, 2 h, 2 h, k).
//
// Launch: grid (ceil(columns / BN) * positions, ceil(images / BM)), block BM / TM * (BN / TN), no dynamic shared
// memory.
#include "activation.cuh"
#include "columns.cuh"
#include "implicit.cuh"
#include "ptx/async_copy.cuh"
#include "tiled.cuh"
#include "vector.cuh"

static_assert(TILE_VECTORS <= 3072, "The tiles need more than 48 KiB of shared memory: lower BM, BN or BK.");

// Compute BM images by BN columns of out (images, 2 h, 2 h, k), at one position.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
convolve(const REAL *__restrict__ image, const REAL *__restrict__ packed, const REAL *__restrict__ bias,
         REAL *__restrict__ out, int images, int h, int c, int k, int activation) {
  __shared__ Vector memory[TILE_VECTORS];
  Vector *const a_tiles = memory, *const b_tiles = memory + 2 * BK * A_ROW;
  const int columns = PARITIES * k, column_blocks = (columns - 1) / BN + 1;
  const int first_image = blockIdx.y * BM, first_column = blockIdx.x % column_blocks * BN;
  const bool is_packed_aligned = columns % V == 0 && is_aligned(packed);
  const Position position(blockIdx.x / column_blocks, h);
  StepIterator<BK> steps(position, c);

  auto load_tiles = [&](int tile) {
    load<BM, true>(a_tiles + tile % 2 * BK * A_ROW,
                   image + ((size_t(first_image) * h + steps.row) * h + steps.column) * c + steps.channel, h * h * c,
                   images - first_image, c - steps.channel, false);
    load<BN, false>(
        b_tiles + tile % 2 * BK * B_ROW,
        packed + (size_t(position.packed_row(steps.row, steps.column)) * c + steps.channel) * columns + first_column,
        columns, columns - first_column, c - steps.channel, is_packed_aligned);
    steps.next();
  };

  const ThreadPosition thread_position;
  const int tiles = steps.count();
  REAL sums[TM][TN] = {};
  load_tiles(0);
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    // After this barrier the tile is complete, and the other buffer is free.
    __syncthreads();
    if (tile + 1 < tiles) load_tiles(tile + 1);
    multiply_add(sums, a_tiles, b_tiles, tile, thread_position);
  }

#pragma unroll
  for (int j = 0; j < TN; ++j) {
    const int thread_column = first_column + thread_position.column(j / V) + j % V;
    const REAL addend = thread_column < columns ? bias[channel_of(thread_column, k)] : 0;
#pragma unroll
    for (int i = 0; i < TM; ++i) sums[i][j] += addend;
  }
  activate<TM * TN>(&sums[0][0], activation);

  const bool is_out_aligned = PARITIES == 1 && k % V == 0 && is_aligned(out);
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int image_index = first_image + thread_position.row(i);
    if (image_index >= images) continue;
    REAL *const row_out = out + position.element_index(image_index, h) * k;
#pragma unroll
    for (int j = 0; j < TN; j += V) {
      const int thread_column = first_column + thread_position.column(j / V);
      if (is_out_aligned) {
        Vector vector;
#pragma unroll
        for (int v = 0; v < V; ++v) vector.value[v] = sums[i][j + v];
        if (thread_column < columns) *reinterpret_cast<Vector *>(row_out + thread_column) = vector;
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (thread_column + v < columns) row_out[offset_of(thread_column + v, h, k, k)] = sums[i][j + v];
      }
    }
  }
}
