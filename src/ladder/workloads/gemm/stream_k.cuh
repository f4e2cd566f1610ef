// How the clusters of a grid share the tiles of a product: most tiles are computed by one cluster each, the others are
// split along k ("stream-K", Osama, Merrill, Cecka, Garland and Owens, 2023). A cluster of CLUSTER blocks, possibly
// one, computes CLUSTER * BM x BN elements of the result, a block BM x BN of them by CONSUMER_THREADS threads. The
// source defines these constants.
#pragma once
#include "operand_tiles.cuh"

constexpr int PAIRS = BM * BN / 2;  // of the sums of a block's tile
constexpr int BAND_ROWS = 8;        // of tiles, whose clusters share columns of op(B) in the L2 cache

struct alignas(2 * sizeof(REAL)) Pair {
  REAL x, y;
};

// A part of a tile: `step_count` steps from step `first_step` on.
struct Part {
  int tile, first_step, step_count;
};

// The parts of tiles of a cluster: first those of tiles that are split among all `clusters`, then whole tiles.
struct Schedule {
  const int steps_per_tile, tiles, clusters;
  const long long split_steps, quota;  // of all split tiles, which come first; a cluster's share of them, at most
  long long next_step, end_step;       // the cluster's steps that remain, numbered over all split tiles
  int whole_tile;                      // the next tile that is not split
  __device__ __forceinline__ Schedule(int m, int n, int k, int split_tiles, int clusters, int cluster)
      : steps_per_tile((k - 1) / BK + 1), tiles(((m - 1) / (CLUSTER * BM) + 1) * ((n - 1) / BN + 1)),
        clusters(clusters), split_steps((long long)split_tiles * steps_per_tile),
        quota((split_steps + clusters - 1) / clusters), next_step(min(cluster * quota, split_steps)),
        end_step(min((cluster + 1) * quota, split_steps)), whole_tile(split_tiles + cluster) {}
  // The number of steps of this cluster.
  __device__ __forceinline__ int step_count() const {
    return end_step - next_step + (whole_tile < tiles ? ((tiles - whole_tile - 1) / clusters + 1) * steps_per_tile : 0);
  }
  // Set the next part; false if there is none.
  __device__ __forceinline__ bool take_next(Part &part) {
    if (next_step < end_step) {
      const int first = next_step % steps_per_tile;
      part = {int(next_step / steps_per_tile), first,
              int(min((long long)steps_per_tile - first, end_step - next_step))};
      next_step += part.step_count;
      return true;
    }
    part = {whole_tile, 0, steps_per_tile};
    whole_tile += clusters;
    return part.tile < tiles;
  }
};

// The first row and column of a block's tile, of block `rank` in its cluster. Tiles of clusters are numbered band by
// band, and in a band column by column.
struct Corner {
  int row, column;
  __device__ __forceinline__ Corner(int tile, int rank, int m, int n) {
    const int tile_rows = (m - 1) / (CLUSTER * BM) + 1, tile_columns = (n - 1) / BN + 1;
    const int band = tile / (BAND_ROWS * tile_columns), index = tile % (BAND_ROWS * tile_columns);
    const int rows = min(BAND_ROWS, tile_rows - band * BAND_ROWS);
    row = ((band * BAND_ROWS + index % rows) * CLUSTER + rank) * BM;
    column = index / rows * BN;
  }
};

// The product's result (rows, columns), and an addend or null.
struct Result {
  const REAL *c;
  REAL *out;
  int rows, columns;
  // Store two neighbours of a row, as far as they are in the result.
  __device__ __forceinline__ void store(int row, int column, Pair pair) const {
    if (row >= rows || column >= columns) return;
    const size_t index = size_t(row) * columns + column;
    const bool has_second = column + 1 < columns;
    if (c) pair.x += c[index], pair.y += has_second ? c[index + 1] : 0;
    if (columns % 2 == 0 && size_t(out) % sizeof(Pair) == 0) {
      *reinterpret_cast<Pair *>(out + index) = pair;
    } else {
      out[index] = pair.x;
      if (has_second) out[index + 1] = pair.y;
    }
  }
};

// This thread's first pair of the sums that a block has for a part of a split tile; the next ones are CONSUMER_THREADS
// pairs further. A block has room for two such parts: one that has the first step of its tile, and one that doesn't.
__device__ __forceinline__ Pair *partial_sums_of(Pair *partial, int block, bool has_first_step) {
  return partial + (size_t(block) * 2 + has_first_step) * PAIRS + threadIdx.x;
}

// Add the parts of a split tile for the pairs of index blockIdx.y, and call store(corner, index, pair). The tile is
// that of block blockIdx.x % CLUSTER in the cluster's tile blockIdx.x / CLUSTER of a product (m, n, k), whose
// parts `clusters` clusters computed.
template <class Store>
__device__ __forceinline__ void add_split_tile(int m, int n, int k, int split_tiles, Pair *partial, int clusters,
                                               const Store &store) {
  const int tile = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER, index = blockIdx.y;
  const Schedule schedule(m, n, k, split_tiles, clusters, 0);
  const long long begin = (long long)tile * schedule.steps_per_tile, end = begin + schedule.steps_per_tile;
  const int first_cluster = begin / schedule.quota, last_cluster = (end - 1) / schedule.quota;
  if (first_cluster == last_cluster) return;  // a whole tile, stored by its block
  Pair sum = partial_sums_of(partial, first_cluster * CLUSTER + rank, true)[index * CONSUMER_THREADS];
#pragma unroll 8
  for (int cluster = first_cluster + 1; cluster <= last_cluster; ++cluster) {
    const Pair part = partial_sums_of(partial, cluster * CLUSTER + rank, false)[index * CONSUMER_THREADS];
    sum.x += part.x, sum.y += part.y;
  }
  store(Corner(tile, rank, m, n), index, sum);
}
