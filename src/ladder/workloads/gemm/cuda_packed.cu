// GEMM in float32 without tensor cores, by persistent blocks: compute capability 9.0 only. It is a producer-consumer
// pipeline: one thread copies tiles to shared memory with the Tensor Memory Accelerator (TMA), the warps multiply.
//
// Both operands lie across k, X (k, m) and Y (k, n): pack() transposes those that don't. So a lane loads neighbouring
// rows and columns at one depth, and needs few registers besides its LANE_ROWS x LANE_COLUMNS sums. Rejected
// experiments: docs/experiments/gemm.md.
//
// A block computes BM x BN elements of out, a warp WM x WN of them, its lanes 4 x 8. A step multiplies BK rows of X and
// Y, in one of STAGES buffers. The producer runs ahead, even into the next tile. Tiles that don't divide evenly among
// the blocks are split among them along k (stream_k.cuh): a block leaves the sums of such a part of a tile in `partial`
// (blocks, 2, BM * BN), at index 1 if it has the tile's first step, else at 0, and the kernel add_packed adds them in a
// fixed order.
//
//   barrier   arrivals per phase                                  waiting threads
//   full      1: the producer, which expects the bytes            all warps that multiply
//   empty     WARPS: a lane of each warp that multiplies          the producer
//
// A phase is one use of a buffer. The producer's first wait is for the phase before the first, which counts as ended.
//
// Launch: grid (at most BLOCKS per multiprocessor), block THREADS, dynamic shared memory sizeof(Shared). Of add_packed:
// grid (split_tiles, PAIRS / CONSUMER_THREADS), block CONSUMER_THREADS.
#include "pack.cuh"
#include "pipeline.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

constexpr int WARPS = (BM / WM) * (BN / WN), CONSUMER_THREADS = 32 * WARPS, CLUSTER = 1;
#include "stream_k.cuh"

constexpr int THREADS = CONSUMER_THREADS + PRODUCER_THREADS, LANE_ROWS = WM / 4, LANE_COLUMNS = WN / 8;

static_assert(BM % WM == 0 && BN % WN == 0, "A warp's WM x WN elements must divide the block's: BM by WM, BN by WN.");
static_assert(WM % 32 == 0 && WN % 32 == 0, "WM and WN must be multiples of 32.");
static_assert(BM <= 256 && BN <= 256, "The TMA copies at most 256 rows or columns: lower BM or BN.");
static_assert(WARPS % 4 == 0, "The warps that multiply must be a multiple of 4: change BM, BN, WM or WN.");
static_assert(STAGES >= 3, "STAGES must be at least 3: the buffers of a step, of the last one and of the next one.");
static_assert(LANE_ROWS * LANE_COLUMNS <= 64, "A warp's WM x WN sums don't fit in its registers: lower WM or WN.");

struct Shared {
  Vector x[STAGES][BM * 8], y[STAGES][BN * 8];
  Mbarrier full[STAGES], empty[STAGES];
};
// Of a multiprocessor's 228 KiB, the system reserves 1 KiB for each block.
static_assert(sizeof(Shared) * BLOCKS <= (227 + 1 - BLOCKS) * 1024, "The tiles need more shared memory than the GPU has.");

// Start all copies of a block, by one thread.
__device__ __forceinline__ void produce(Shared &shared, const OperandMaps &x, const OperandMaps &y, Schedule schedule,
                                      int m, int n) {
  PipelineState<STAGES> ring;
  for (Part part; schedule.take_next(part);) {
    const Corner corner(part.tile, 0, m, n);
    for (int step = part.first_step; step < part.first_step + part.step_count; ++step, ring.next()) {
      Mbarrier &full = shared.full[ring.index];
      shared.empty[ring.index].wait(ring.phase + 1);
      full.arrive_and_expect((BM + BN) * LINE_BYTES);
      copy_tile<false, BM>(shared.x[ring.index], x, full, corner.row, m, step * BK);
      copy_tile<false, BN>(shared.y[ring.index], y, full, corner.column, n, step * BK);
    }
  }
}

// The sums of a lane: in vectors of V rows that are 4 V apart, and of V columns that are 8 V apart.
struct LaneSums {
  REAL sums[LANE_ROWS][LANE_COLUMNS] = {};

  // Add the products of a row of X and one of Y.
  __device__ __forceinline__ void add_products(const Vector (&x)[LANE_ROWS / V], const Vector (&y)[LANE_COLUMNS / V]) {
#pragma unroll
    for (int i = 0; i < LANE_ROWS; ++i)
#pragma unroll
      for (int j = 0; j < LANE_COLUMNS; ++j) sums[i][j] += x[i / V].value[i % V] * y[j / V].value[j % V];
  }
  // Call function(index, pair) for all pairs of neighbours in a row.
  template <class Function>
  __device__ __forceinline__ void for_each_pair(const Function &function) {
#pragma unroll
    for (int index = 0; index < LANE_ROWS * LANE_COLUMNS / 2; ++index) {
      const REAL *const first = &sums[index / (LANE_COLUMNS / 2)][index % (LANE_COLUMNS / 2) * 2];
      function(index, Pair{first[0], first[1]});
    }
  }
};

// Store the pair of this index of a thread's sums in a tile.
__device__ __forceinline__ void store(const Result &result, const Corner &corner, int index, Pair pair) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int i = index / (LANE_COLUMNS / 2), j = index % (LANE_COLUMNS / 2) * 2;
  result.store(corner.row + warp / (BN / WN) * WM + (i / V * 4 + lane / 8) * V + i % V,
               corner.column + warp % (BN / WN) * WN + (j / V * 8 + lane % 8) * V + j % V, pair);
}

// The fragments of a warp's tiles, of which each lane loads its own, depth by depth.
struct Fragments {
  Shared &shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int x_vector = lane / 8, y_vector = lane % 8;  // in a line, before the swizzle
  const Vector *x_tile, *y_tile;                       // the lane's rows and columns in the current buffer
  PipelineState<STAGES> ring;
  int previous_buffer = -1;  // the buffer of the previous step, all of whose fragments have arrived in registers
  Vector x[2][LANE_ROWS / V], y[2][LANE_COLUMNS / V];  // of a depth and of the next one

  __device__ __forceinline__ Fragments(Shared &shared) : shared(shared) {}

  // Enter the current buffer, which must be full.
  __device__ __forceinline__ void set_tiles() {
    x_tile = shared.x[ring.index] + warp / (BN / WN) * WM * 8;
    y_tile = shared.y[ring.index] + warp % (BN / WN) * WN * 8;
  }
  // Load the fragments of a depth. A line is 32 rows or columns at one depth; lanes read four or eight vectors of it.
  __device__ __forceinline__ void load(int depth) {
#pragma unroll
    for (int i = 0; i < LANE_ROWS / V; ++i)
      x[depth % 2][i] = x_tile[(i / 2 * BK + depth) * 8 + ((x_vector ^ depth % 4) + (i % 2 * 4 ^ depth % 8 / 4 * 4))];
#pragma unroll
    for (int j = 0; j < LANE_COLUMNS / V; ++j) y[depth % 2][j] = y_tile[(j * BK + depth) * 8 + (y_vector ^ depth % 8)];
  }
  __device__ __forceinline__ void begin() {
    shared.full[0].wait(0);
    set_tiles();
    load(0);
  }
  // Enter the next buffer, unless this was the last one. The previous one can be filled from then on: the products of
  // its last fragments have begun. An arrival right after the loads would come too early, since they may still be
  // waiting for shared memory when the next copy arrives there.
  __device__ __forceinline__ void enter_next(bool is_last) {
    const int current = ring.index;
    ring.next();
    if (!is_last) {
      shared.full[ring.index].wait(ring.phase);
      set_tiles();
      __syncwarp();
      if (previous_buffer >= 0 && lane == 0) shared.empty[previous_buffer].arrive();
    }
    previous_buffer = current;
  }
};

// Multiply and store all parts of a block's tiles.
__device__ __forceinline__ void multiply(Shared &shared, Schedule schedule, const Result &result, Pair *partial) {
  Fragments fragments(shared);
  int remaining_steps = schedule.step_count();
  if (remaining_steps) fragments.begin();
  for (Part part; schedule.take_next(part);) {
    LaneSums lane_sums;  // for the part
    for (int step = 0; step < part.step_count; ++step) {
      --remaining_steps;
#pragma unroll
      for (int depth = 0; depth < BK; ++depth) {
        if (depth == BK - 1) fragments.enter_next(remaining_steps == 0);
        fragments.load((depth + 1) % BK);
        lane_sums.add_products(fragments.x[depth % 2], fragments.y[depth % 2]);
      }
    }
    if (part.step_count < schedule.steps_per_tile) {
      Pair *const partial_sums = partial_sums_of(partial, blockIdx.x, part.first_step == 0);
      lane_sums.for_each_pair([&](int index, Pair pair) { partial_sums[index * CONSUMER_THREADS] = pair; });
    } else {
      const Corner corner(part.tile, 0, result.rows, result.columns);
      lane_sums.for_each_pair([&](int index, Pair pair) { store(result, corner, index, pair); });
    }
  }
}

__device__ __forceinline__ void compute_product(const OperandMaps &x, const OperandMaps &y, const Result &result, int k,
                                      int split_tiles, Pair *partial) {
  Shared &shared = *reinterpret_cast<Shared *>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) shared.full[i].init(1), shared.empty[i].init(WARPS);
    publish_mbarriers();
  }
  __syncthreads();
  const Schedule schedule(result.rows, result.columns, k, split_tiles, gridDim.x, blockIdx.x);
  if (threadIdx.x >= CONSUMER_THREADS) {
    release_registers<24>();
    if (threadIdx.x == CONSUMER_THREADS) produce(shared, x, y, schedule, result.rows, result.columns);
  } else {
    claim_registers<consumer_registers(BLOCKS, THREADS, PRODUCER_THREADS, 24)>();
    multiply(shared, schedule, result, partial);
  }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define BODY(...) { __VA_ARGS__; }
#else  // empty kernels: cuda_packed.py refuses other GPUs
#define BODY(...) {}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_packed(const __grid_constant__ TensorMap x_tile, const __grid_constant__ TensorMap x_group,
                const __grid_constant__ TensorMap y_tile, const __grid_constant__ TensorMap y_group, const REAL *c,
                REAL *out, int m, int n, int k, int split_tiles, Pair *partial)
BODY(compute_product({x_tile, x_group}, {y_tile, y_group}, {c, out, m, n}, k, split_tiles, partial))

extern "C" __global__ void __launch_bounds__(CONSUMER_THREADS)
    add_packed(const REAL *c, REAL *out, int m, int n, int k, int split_tiles, Pair *partial, int blocks)
BODY(const Result result{c, out, m, n};
     add_split_tile(m, n, k, split_tiles, partial, blocks,
         [&](const Corner &corner, int index, Pair pair) { store(result, corner, index, pair); }))
