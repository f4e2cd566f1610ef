// GEMM on tensor cores in TF32 by warpgroups and persistent clusters: compute capability 9.0 only. It is a
// producer-consumer pipeline: one thread copies tiles to shared memory, the warpgroups multiply.
//
// A block computes BM x BN sums of X Y^T, a warpgroup 64 x BN of them, in registers. A step multiplies BK columns of a
// tile's rows of X and Y, which the Tensor Memory Accelerator (TMA) rounds to TF32 and copies to one of STAGES buffers.
// The producer runs ahead, even into the next tile. Y lies along k in shared memory, as tensor cores require of it. X
// comes from registers, so that it may also lie across k:
//
//   form   X    lies       Y   sums
//   nt     A    along k    B   the result
//   nn     B^T  across k   A   the transposed result
//   tn     B^T  across k   A^T, transposed by pack() before the product, which is that of nn
//
// The CLUSTER blocks of a cluster have different rows of X and the same rows of Y, of which each multicasts a part.
// Tiles that don't divide evenly among the clusters are split among them along k (stream_k.cuh): a block leaves the
// sums of such a part of a tile in `partial` (blocks, 2, BM * BN), at index 1 if it has the tile's first step, else at
// 0, and the kernels add_nn and add_nt add them in a fixed order.
//
//   barrier   arrivals per phase                                                   waiting threads
//   full      1: the block's producer, which expects the bytes from all blocks     the block's warps that multiply
//   empty     CLUSTER * WARPS: a lane of each such warp, at those of all blocks    the producers of all blocks
//
// A phase is one use of a buffer. The producer's first wait is for the phase before the first, which counts as ended.
//
// Launch: grid (a multiple of CLUSTER, at most BLOCKS per multiprocessor), block THREADS, dynamic shared memory
// sizeof(Shared). Of add_nn and add_nt: grid (CLUSTER * split_tiles, PAIRS / CONSUMER_THREADS), block CONSUMER_THREADS.
#include "pack.cuh"
#include "pipeline.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

// Warpgroups that multiply, and their warps and threads.
constexpr int WARPGROUPS = BM / 64, WARPS = 4 * WARPGROUPS, CONSUMER_THREADS = 32 * WARPS;
#include "stream_k.cuh"

constexpr int THREADS = CONSUMER_THREADS + PRODUCER_THREADS;

static_assert(BM % 64 == 0, "BM must be a multiple of 64, the rows of a warpgroup.");
static_assert(BN / CLUSTER % 8 == 0, "BN must be a multiple of 8 * CLUSTER, since each block copies a part of Y.");

struct Shared {
  Vector x[STAGES][BM * 8], y[STAGES][BN * 8];
  Mbarrier full[STAGES], empty[STAGES];
};
// Of a multiprocessor's 228 KiB, the system reserves 1 KiB for each block.
static_assert(sizeof(Shared) * BLOCKS <= (227 + 1 - BLOCKS) * 1024, "The tiles need more shared memory than the GPU has.");

// Start all copies of a block, by one thread.
template <bool x_along_k>
__device__ __forceinline__ void produce(Shared &shared, const OperandMaps &x, const TensorMap &y, Schedule schedule,
                                      int rank, int rows, int columns) {
  constexpr int Y_ROWS = BN / CLUSTER;  // rows of Y that this block copies for all
  PipelineState<STAGES> ring;
  for (Part part; schedule.take_next(part);) {
    const Corner corner(part.tile, rank, rows, columns);
    for (int step = part.first_step; step < part.first_step + part.step_count; ++step, ring.next()) {
      Mbarrier &full = shared.full[ring.index];
      shared.empty[ring.index].wait(ring.phase + 1);
      full.arrive_and_expect((BM + BN) * LINE_BYTES);
      copy_tile<x_along_k, BM>(shared.x[ring.index], x, full, corner.row, rows, step * BK);
      Vector *const y_part = shared.y[ring.index] + rank * Y_ROWS * 8;
      if constexpr (CLUSTER == 1)
        copy_box(y_part, y, full, step * BK, corner.column);
      else
        multicast_box((1 << CLUSTER) - 1, y_part, y, full, step * BK, corner.column + rank * Y_ROWS);
    }
  }
}

// The row of X, in its tile, of a lane's elements in the upper half of its warp's 16 rows. That in the lower half is 8
// rows further if X lies along k. Across k it is the next row, so that the lanes of an access read different banks.
template <bool along_k>
__device__ __forceinline__ int lane_row() {
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4;
  return along_k ? warp * 16 + g : warp / 2 * 32 + g / 2 % 2 * 16 + (warp % 2 * 2 + g / 4) * 4 + g % 2 * 2;
}

// A lane's elements of a slice of a tile of X, eight columns of it.
template <bool along_k>
__device__ __forceinline__ void load_k_slice(float (&to)[4], const Vector *tile, int k_slice) {
  const char *const bytes = reinterpret_cast<const char *>(tile);
  const int t = threadIdx.x % 4, row = lane_row<along_k>();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const char *const element = bytes + tile_offset<along_k>(row, k_slice * 8 + half * 4 + t);
    if constexpr (along_k) {
      to[half * 2] = *reinterpret_cast<const float *>(element);
      to[half * 2 + 1] = *reinterpret_cast<const float *>(element + 8 * LINE_BYTES);
    } else {
      const float2 pair = *reinterpret_cast<const float2 *>(element);
      to[half * 2] = pair.x, to[half * 2 + 1] = pair.y;
    }
  }
}

// Call function(index, pair) for all pairs of a thread's sums that are neighbours in a row of the result.
template <bool transposed, class Function>
__device__ __forceinline__ void for_each_pair(const float (&sums)[BN / 8][4], const Function &function) {
#pragma unroll
  for (int index = 0; index < BN / 4; ++index) {
    const float(&quad)[4] = sums[index / 2];  // two neighbours in each of two rows
    const int i = index % 2;
    function(index, transposed ? Pair{quad[i], quad[i + 2]} : Pair{quad[2 * i], quad[2 * i + 1]});
  }
}

// Store the pair of this index of a thread's sums in a tile.
template <bool transposed>
__device__ __forceinline__ void store(const Result &result, const Corner &corner, int index, Pair pair) {
  const int t = threadIdx.x % 4, row = corner.row + lane_row<!transposed>();
  const int column = corner.column + index / 2 * 8 + t * 2;
  if (transposed)
    result.store(column + index % 2, row, pair);
  else
    result.store(row + index % 2 * 8, column, pair);
}

// Multiply and store all parts of a block's tiles, by a warpgroup.
template <bool x_along_k>
__device__ __forceinline__ void multiply(Shared &shared, Schedule schedule, int rank, int rows, int columns,
                                         const Result &result, Pair *partial) {
  constexpr bool transposed = !x_along_k;
  constexpr int K_SLICES = BK / 8;  // of a step, eight columns of X and Y each
  PipelineState<STAGES> ring;
  for (Part part; schedule.take_next(part);) {
    float sums[BN / 8][4] = {}, x[K_SLICES][4];
    int previous_buffer = -1;  // the buffer of the last step
    const auto release_previous = [&] {
      if (previous_buffer >= 0 && threadIdx.x % 32 == 0)
        for (int block = 0; block < CLUSTER; ++block) shared.empty[previous_buffer].arrive(block);
    };
    for (int step = 0; step < part.step_count; ++step, ring.next()) {
      shared.full[ring.index].wait(ring.phase);
#pragma unroll
      for (int k_slice = 0; k_slice < K_SLICES; ++k_slice) {
        load_k_slice<x_along_k>(x[k_slice], shared.x[ring.index], k_slice);
        fence_products();
        multiply_warpgroup(sums, x[k_slice], tile_descriptor(shared.y[ring.index] + k_slice * 2));
        commit_products();
        wait_for_products<K_SLICES - 1>();  // those that read the next slice's registers have completed
      }
      release_previous();
      previous_buffer = ring.index;
    }
    wait_for_products<0>();
    release_previous();
    if (part.step_count < schedule.steps_per_tile) {
      Pair *const partial_sums = partial_sums_of(partial, blockIdx.x, part.first_step == 0);
      for_each_pair<transposed>(sums, [&](int index, Pair pair) { partial_sums[index * CONSUMER_THREADS] = pair; });
    } else {
      const Corner corner(part.tile, rank, rows, columns);
      for_each_pair<transposed>(sums, [&](int index, Pair pair) { store<transposed>(result, corner, index, pair); });
    }
  }
}

// The sums (rows, columns) of X Y^T, which are the result or, if X lies across k, its transpose.
template <bool x_along_k>
__device__ __forceinline__ void compute_product(const OperandMaps &x, const TensorMap &y, int rows, int columns, int k,
                                      int split_tiles, const Result &result, Pair *partial) {
  Shared &shared = *reinterpret_cast<Shared *>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) shared.full[i].init(1), shared.empty[i].init(CLUSTER * WARPS);
    publish_mbarriers();
  }
  cluster_barrier();
  const int rank = blockIdx.x % CLUSTER;
  const Schedule schedule(rows, columns, k, split_tiles, gridDim.x / CLUSTER, blockIdx.x / CLUSTER);
  if (threadIdx.x >= CONSUMER_THREADS) {
    release_registers<24>();
    if (threadIdx.x == CONSUMER_THREADS) produce<x_along_k>(shared, x, y, schedule, rank, rows, columns);
  } else {
    claim_registers<consumer_registers(BLOCKS, THREADS, PRODUCER_THREADS, 24)>();
    multiply<x_along_k>(shared, schedule, rank, rows, columns, result, partial);
  }
  cluster_barrier();  // no block exits while others may arrive at its barriers
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define ATTRIBUTES __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, BLOCKS)
#define BODY(...) { __VA_ARGS__; }
#else  // empty kernels: cuda_wgmma.py refuses other GPUs
#define ATTRIBUTES __launch_bounds__(THREADS, BLOCKS)
#define BODY(...) {}
#endif

// The kernels of a form: the product, and the sums of split tiles. Y's second map, which all operands have, is unused.
#define FORM_KERNELS(form, x_along_k, m, n)                                                                        \
  extern "C" __global__ void ATTRIBUTES gemm_##form(                                                               \
      const __grid_constant__ TensorMap x_tile, const __grid_constant__ TensorMap x_group,                         \
      const __grid_constant__ TensorMap y, const __grid_constant__ TensorMap, const REAL *c, REAL *out, int rows,  \
      int columns, int k, int split_tiles, Pair *partial)                                                          \
  BODY(compute_product<x_along_k>({x_tile, x_group}, y, rows, columns, k, split_tiles, {c, out, m, n}, partial))   \
  extern "C" __global__ void __launch_bounds__(CONSUMER_THREADS)                                                   \
      add_##form(const REAL *c, REAL *out, int rows, int columns, int k, int split_tiles, Pair *partial,           \
                 int clusters)                                                                                     \
  BODY(const Result result{c, out, m, n};                                                                          \
       add_split_tile(rows, columns, k, split_tiles, partial, clusters,                                            \
                      [&](const Corner &corner, int index, Pair pair) {                                            \
                        store<!x_along_k>(result, corner, index, pair);                                            \
                      }))
FORM_KERNELS(nn, false, columns, rows)
FORM_KERNELS(nt, true, rows, columns)
