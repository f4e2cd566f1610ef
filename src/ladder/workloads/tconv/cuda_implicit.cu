// The transposed convolution without tensor cores: tiles of BM images by BN output channels, summed in steps of BK
// channels, pixel by pixel; see implicit.cuh. The image is (images, h, h, c), the packed filter (taps, c, columns), the
// bias (k), the result (images, 2 h, 2 h, k).
//
// Launch: grid (ceil(columns / BN) * places, ceil(images / BM)), block BM / TM * (BN / TN), no dynamic shared memory.
#include "activation.cuh"
#include "columns.cuh"
#include "implicit.cuh"
#include "ptx/async_copy.cuh"
#include "tiled.cuh"
#include "vector.cuh"

static_assert(TILES <= 3072, "The tiles need more than 48 KiB of shared memory: lower BM, BN or BK.");

// A block's BM images by BN columns of out (images, 2 h, 2 h, k), at one element position.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
convolve(const REAL *__restrict__ image, const REAL *__restrict__ packed, const REAL *__restrict__ bias,
         REAL *__restrict__ out, int images, int h, int c, int k, int activation) {
  __shared__ Vector memory[TILES];
  Vector *const a_tiles = memory, *const b_tiles = memory + 2 * BK * A_ROW;
  const int columns = PARITIES * k, across = (columns - 1) / BN + 1;
  const int first = blockIdx.y * BM, column = blockIdx.x % across * BN;
  const bool packed_wide = columns % V == 0 && is_aligned(packed);
  const Site site(blockIdx.x / across, h);
  Walk<BK> walk(site, c);

  auto load_tiles = [&](int tile) {
    load<BM, true>(a_tiles + tile % 2 * BK * A_ROW,
                   image + ((size_t(first) * h + walk.row) * h + walk.column) * c + walk.channel, h * h * c,
                   images - first, c - walk.channel, false);
    load<BN, false>(b_tiles + tile % 2 * BK * B_ROW,
                    packed + (size_t(site.tap(walk.row, walk.column)) * c + walk.channel) * columns + column, columns,
                    columns - column, c - walk.channel, packed_wide);
    walk.next();
  };

  const ThreadPosition at;
  const int tiles = walk.steps();
  REAL sums[TM][TN] = {};
  load_tiles(0);
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    // After this barrier the tile is complete, and the other buffer is free.
    __syncthreads();
    if (tile + 1 < tiles) load_tiles(tile + 1);
    multiply_add(sums, a_tiles, b_tiles, tile, at);
  }

#pragma unroll
  for (int j = 0; j < TN; ++j) {
    const int thread_column = column + at.column(j / V) + j % V;
    const REAL summand = thread_column < columns ? bias[channel_of(thread_column, k)] : 0;
#pragma unroll
    for (int i = 0; i < TM; ++i) sums[i][j] += summand;
  }
  activate<TM * TN>(&sums[0][0], activation);

  const bool out_wide = PARITIES == 1 && k % V == 0 && is_aligned(out);
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = first + at.row(i);
    if (row >= images) continue;
    REAL *const to = out + site.pixel(row, h) * k;
#pragma unroll
    for (int j = 0; j < TN; j += V) {
      const int begin = column + at.column(j / V);
      if (out_wide) {
        Vector vector;
#pragma unroll
        for (int v = 0; v < V; ++v) vector.value[v] = sums[i][j + v];
        if (begin < columns) *reinterpret_cast<Vector *>(to + begin) = vector;
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (begin + v < columns) to[offset_of(begin + v, h, k, k)] = sums[i][j + v];
      }
    }
  }
}
