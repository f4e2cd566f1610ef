// How the clusters of a grid share the tiles of a product: most tiles are computed by one cluster each, the others are
// split along k ("stream-K", Osama, Merrill, Cecka, Garland and Owens, 2023). A cluster of CLUSTER blocks, possibly
// one, computes CLUSTER * BM x BN elements of the result, a block BM x BN of them by MULTIPLIERS threads. The source
// defines these constants.
#pragma once
#include "operand_tiles.cuh"

constexpr int PAIRS = BM * BN / 2;  // of the sums of a block's tile
constexpr int BAND = 8;             // rows of tiles whose clusters share columns of op(B) in the L2 cache

struct alignas(2 * sizeof(REAL)) Pair {
  REAL x, y;
};

// A part of a tile: `count` steps from step `first` on.
struct Part {
  int tile, first, count;
};

// The parts of tiles of a cluster: first those of tiles that are split among all `clusters`, then whole tiles.
struct Schedule {
  const int steps, tiles, clusters;    // steps of a tile
  const long long split_steps, quota;  // of all split tiles, which come first; a cluster's share of them, at most
  long long next, end;                 // the cluster's steps that remain, numbered over all split tiles
  int whole_tile;                      // the next tile that is not split
  __device__ __forceinline__ Schedule(int m, int n, int k, int split_tiles, int clusters, int cluster)
      : steps((k - 1) / BK + 1), tiles(((m - 1) / (CLUSTER * BM) + 1) * ((n - 1) / BN + 1)), clusters(clusters),
        split_steps((long long)split_tiles * steps), quota((split_steps + clusters - 1) / clusters),
        next(min(cluster * quota, split_steps)), end(min((cluster + 1) * quota, split_steps)),
        whole_tile(split_tiles + cluster) {}
  // The number of steps of this cluster.
  __device__ __forceinline__ int count() const {
    return end - next + (whole_tile < tiles ? ((tiles - whole_tile - 1) / clusters + 1) * steps : 0);
  }
  // Set the next part; false if there is none.
  __device__ __forceinline__ bool get(Part &part) {
    if (next < end) {
      const int first = next % steps;
      part = {int(next / steps), first, int(min((long long)steps - first, end - next))};
      next += part.count;
      return true;
    }
    part = {whole_tile, 0, steps};
    whole_tile += clusters;
    return part.tile < tiles;
  }
};

// The first row and column of a block's tile, of block `rank` in its cluster. Tiles of clusters are numbered band by
// band, and in a band column by column.
struct Corner {
  int row, column;
  __device__ __forceinline__ Corner(int tile, int rank, int m, int n) {
    const int down = (m - 1) / (CLUSTER * BM) + 1, across = (n - 1) / BN + 1;
    const int band = tile / (BAND * across), index = tile % (BAND * across), rows = min(BAND, down - band * BAND);
    row = ((band * BAND + index % rows) * CLUSTER + rank) * BM;
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
    const size_t to = size_t(row) * columns + column;
    const bool both = column + 1 < columns;
    if (c) pair.x += c[to], pair.y += both ? c[to + 1] : 0;
    if (columns % 2 == 0 && size_t(out) % sizeof(Pair) == 0) {
      *reinterpret_cast<Pair *>(out + to) = pair;
    } else {
      out[to] = pair.x;
      if (both) out[to + 1] = pair.y;
    }
  }
};

// The sums of a block for a split tile: pairs (PAIRS / MULTIPLIERS, MULTIPLIERS), by index and thread. A block has room
// for two such parts: one that has the first step of its tile, and one that doesn't.
__device__ __forceinline__ Pair *part_of(Pair *partial, int block, bool has_first_step) {
  return partial + (size_t(block) * 2 + has_first_step) * PAIRS + threadIdx.x;
}

// Add the parts of a split tile for the pairs of index blockIdx.y, and call store(corner, index, pair). The tile is
// that of block blockIdx.x % CLUSTER in the cluster's tile blockIdx.x / CLUSTER of a product (m, n, k), whose
// parts `clusters` clusters computed.
template <class Store>
__device__ __forceinline__ void add(int m, int n, int k, int split_tiles, Pair *partial, int clusters,
                                    const Store &store) {
  const int tile = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER, index = blockIdx.y;
  const Schedule schedule(m, n, k, split_tiles, clusters, 0);
  const long long begin = (long long)tile * schedule.steps, end = begin + schedule.steps;
  const int first = begin / schedule.quota, last = (end - 1) / schedule.quota;
  if (first == last) return;  // a whole tile, stored by its block
  Pair sum = part_of(partial, first * CLUSTER + rank, true)[index * MULTIPLIERS];
#pragma unroll 8
  for (int cluster = first + 1; cluster <= last; ++cluster) {
    const Pair part = part_of(partial, cluster * CLUSTER + rank, false)[index * MULTIPLIERS];
    sum.x += part.x, sum.y += part.y;
  }
  store(Corner(tile, rank, m, n), index, sum);
}
