// How the blocks of a grid share the tiles of a product: most tiles are computed by one block each, the others are split
// along k ("stream-K", Osama, Merrill, Cecka, Garland and Owens, 2023). operand_tiles.cuh has the constants.
#pragma once
#include "operand_tiles.cuh"

// A part of a tile: `count` steps from step `first` on.
struct Part {
  int tile, first, count;
};

// The parts of tiles of a block: first those of tiles that are split among all `blocks`, then whole tiles.
struct Schedule {
  const int steps, tiles, blocks;      // steps of a tile
  const long long split_steps, quota;  // steps of all split tiles, which are the first; of these for a block at most
  long long next, end;                 // of the steps of split tiles
  int whole_tile;                      // the next tile that is not split
  __device__ __forceinline__ Schedule(int m, int n, int k, int split_tiles, int blocks, int block)
      : steps((k - 1) / BK + 1), tiles(((m - 1) / BM + 1) * ((n - 1) / BN + 1)), blocks(blocks),
        split_steps((long long)split_tiles * steps), quota((split_steps + blocks - 1) / blocks),
        next(min(block * quota, split_steps)), end(min((block + 1) * quota, split_steps)),
        whole_tile(split_tiles + block) {}
  // The number of steps of this block.
  __device__ __forceinline__ int count() const {
    return end - next + (whole_tile < tiles ? ((tiles - whole_tile - 1) / blocks + 1) * steps : 0);
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
    whole_tile += blocks;
    return part.tile < tiles;
  }
};

// The first row and column of a tile. Tiles are numbered band by band, and in a band column by column.
struct Corner {
  int row, column;
  __device__ __forceinline__ Corner(int tile, int m, int n) {
    const int down = (m - 1) / BM + 1, across = (n - 1) / BN + 1;
    const int band = tile / (BAND * across), index = tile % (BAND * across), rows = min(BAND, down - band * BAND);
    row = (band * BAND + index % rows) * BM;
    column = index / rows * BN;
  }
};

// The product's result, and an addend or null.
struct Result {
  const REAL *c;
  REAL *out;
  int m, n;
  // Store the pair of this index of a thread's sums in a tile.
  __device__ __forceinline__ void store(const Corner &corner, int index, Pair pair) const {
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int row = corner.row + warp / (BN / WN) * WM + index / COLUMNS * 8 + g;
    const int column = corner.column + warp % (BN / WN) * WN + index % COLUMNS * 8 + t * 2;
    if (row >= m || column >= n) return;
    const size_t to = size_t(row) * n + column;
    const bool both = column + 1 < n;
    if (c) pair.x += c[to], pair.y += both ? c[to + 1] : 0;
    if (n % 2 == 0 && size_t(out) % 16 == 0) {
      *reinterpret_cast<Pair *>(out + to) = pair;
    } else {
      out[to] = pair.x;
      if (both) out[to + 1] = pair.y;
    }
  }
};

// The sums of a block for a split tile: pairs (PAIRS / MULTIPLIERS, MULTIPLIERS), by index and thread.
__device__ __forceinline__ Pair *part_of(Pair *partial, int block, bool has_first_step) {
  return partial + (size_t(block) * 2 + has_first_step) * PAIRS + threadIdx.x;
}

// Add the parts of the split tile blockIdx.x for the pairs of index blockIdx.y; `blocks` computed them.
__device__ __forceinline__ void add(const Result &result, int k, int split_tiles, Pair *partial, int blocks) {
  const int tile = blockIdx.x, index = blockIdx.y;
  const Schedule schedule(result.m, result.n, k, split_tiles, blocks, 0);
  const long long first = (long long)tile * schedule.steps, end = first + schedule.steps;
  const int first_block = first / schedule.quota, last_block = (end - 1) / schedule.quota;
  if (first_block == last_block) return;  // a whole tile, stored by its block
  Pair sum = part_of(partial, first_block, true)[index * MULTIPLIERS];
#pragma unroll 8
  for (int block = first_block + 1; block <= last_block; ++block) {
    const Pair part = part_of(partial, block, false)[index * MULTIPLIERS];
    sum.x += part.x, sum.y += part.y;
  }
  result.store(Corner(tile, result.m, result.n), index, sum);
}
