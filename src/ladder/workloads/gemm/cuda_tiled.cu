// GEMM without tensor cores: tiles in shared memory, smaller tiles in registers.
//
// A block computes BM x BN elements of out, in steps of BK along k: it copies a tile of op(A) and one of op(B) to
// shared memory asynchronously, double-buffered. A thread has TM x TN sums.
// With SPLITK > 1, a cluster of SPLITK blocks shares one BM x BN tile: each block sums over its part of k, and the sums
// are then added through distributed shared memory, in a fixed order.
//
// Launch: grid (ceil(n / BN), ceil(m / BM), SPLITK), block BM / TM * (BN / TN), no dynamic shared memory.
// The grid's y is at most 65535. SPLITK is 1 by default.
#include "operands.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/cluster.cuh"
#include "split_k.cuh"
#include "tiled.cuh"
#include "vector.cuh"

constexpr int PARTIAL_VECTORS = BLOCKS_PER_TILE > 1 ? BM * BN / V : 0;  // of sums that a cluster exchanges
// TILE_VECTORS is the number of vectors of both operands' tiles in both buffers; the exchanged sums overwrite them.
constexpr int SHARED_VECTORS = TILE_VECTORS > PARTIAL_VECTORS ? TILE_VECTORS : PARTIAL_VECTORS;
static_assert(SHARED_VECTORS <= 3072, "The tiles need more than 48 KiB of shared memory: lower BM, BN or BK.");

// Compute a block's part of out (m, n); operands.cuh describes the arguments.
template <Form form>
__device__ __forceinline__ void compute_product(GEMM_ARGUMENTS) {
  __shared__ Vector memory[SHARED_VECTORS];
  Vector *const a_tiles = memory, *const b_tiles = memory + 2 * BK * A_ROW;
  if (blockIdx.z >= BLOCKS_PER_TILE) return;
  const int top = blockIdx.y * BM, left = blockIdx.x * BN;
  // load() copies vectors if the matrix is contiguous along m or n and its rows are aligned. It transposes any other
  // matrix element by element.
  const bool a_wide = m % V == 0 && is_aligned(a), b_wide = n % V == 0 && is_aligned(b);
  const int steps = (k - 1) / BK + 1, steps_per_block = (steps - 1) / BLOCKS_PER_TILE + 1;
  const int first_step = min(int(blockIdx.z) * steps_per_block, steps);
  const int end_step = min(first_step + steps_per_block, steps);

  auto load_tiles = [&](int step) {
    int p = step * BK;
    load<BM, form != Form::tn>(a_tiles + step % 2 * BK * A_ROW, a + a_index<form>(top, p, m, k),
                               form == Form::tn ? m : k, m - top, k - p, a_wide);
    load<BN, form == Form::nt>(b_tiles + step % 2 * BK * B_ROW, b + b_index<form>(p, left, n, k),
                               form == Form::nt ? k : n, n - left, k - p, b_wide);
  };

  const ThreadPosition position;
  REAL sums[TM][TN] = {};
  if (first_step < end_step) load_tiles(first_step);
  for (int step = first_step; step < end_step; ++step) {
    wait_for_copies();
    // After this barrier the step's tiles are complete, and the other buffer is free.
    __syncthreads();
    if (step + 1 < end_step) load_tiles(step + 1);
    multiply_add(sums, a_tiles, b_tiles, step, position);
  }

  const bool out_wide = n % V == 0 && is_aligned(out) && is_aligned(c);
  // Store elements (i, j) to (i, j + V - 1) of the block's tile.
  auto store_vector = [&](int i, int j, Vector vector) {
    if (i >= m - top || j >= n - left) return;
    size_t index = size_t(top + i) * n + left + j;
    store(out + index, c ? c + index : c, vector, n - left - j, out_wide);
  };
  if (BLOCKS_PER_TILE > 1) __syncthreads();  // the sums overwrite tiles that other threads may be reading
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN / V; ++j) {
      const int tile_row = position.row(i), tile_column = position.column(j);
      Vector vector;
#pragma unroll
      for (int v = 0; v < V; ++v) vector.value[v] = sums[i][j * V + v];
      if constexpr (BLOCKS_PER_TILE > 1)
        memory[(tile_row * BN + tile_column) / V] = vector;
      else
        store_vector(tile_row, tile_column, vector);
    }
  if constexpr (BLOCKS_PER_TILE > 1) {
    cluster_barrier();
    for (int index = blockIdx.z * THREADS + threadIdx.x; index < PARTIAL_VECTORS; index += BLOCKS_PER_TILE * THREADS) {
      Vector total = {};
#pragma unroll
      for (int rank = 0; rank < BLOCKS_PER_TILE; ++rank) {
        Vector partial = *map_shared_rank(memory + index, rank);
#pragma unroll
        for (int v = 0; v < V; ++v) total.value[v] += partial.value[v];
      }
      store_vector(index * V / BN, index * V % BN, total);
    }
    cluster_barrier();  // no block exits while its sums are read
  }
}

GEMM_KERNELS(CLUSTER_ATTRIBUTE __launch_bounds__(THREADS, MIN_BLOCKS))
