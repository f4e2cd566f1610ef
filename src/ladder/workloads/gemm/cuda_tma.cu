// GEMM on tensor cores in float64 by persistent blocks: compute capability 9.0 only. It is a
// producer-consumer pipeline: one warpgroup copies tiles to shared memory, the others multiply.
//
// A block computes tiles of BM x BN elements of out, a warp WM x WN of them in registers. A step multiplies BK columns
// of a tile's rows of op(A) by as many rows of its columns of op(B), which are copied to one of STAGES buffers. The
// producer runs ahead of the other warps, even into the next tile. One thread copies an operand with the Tensor Memory
// Accelerator (TMA) if its rows are aligned to 16 bytes; else all threads of the warpgroup copy single elements.
//
// Tiles that don't divide evenly among the blocks are split among them along k, so that all have equal work
// ("stream-K", Osama, Merrill, Cecka, Garland and Owens, 2023). A block leaves the sums of such a part of a tile in
// `partial` (blocks, 2, BM * BN): at index 1 if it has the tile's first step, else at 0. A second kernel, add_parts,
// adds them in a fixed order. So no block waits for another one, which may not have started.
//
//   barrier   arrivals per phase                                                     waiting threads
//   full      1, or 129 if elements are copied: the producer's first thread, which   all warps that multiply
//             expects the bytes of the TMA, and all its threads after their copies
//   empty     WARPS: a lane of each warp that multiplies                             the producer
//
// A phase is one use of a buffer. The producer's first wait is for the phase before the first, which counts as ended.
//
// Launch: grid (at most BLOCKS per multiprocessor), block THREADS, dynamic shared memory sizeof(Shared). Of add_parts:
// grid (split_tiles, PAIRS / CONSUMER_THREADS), block CONSUMER_THREADS.
#include "operands.cuh"
#include "pipeline.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "ptx/registers.cuh"
#include "ptx/wgmma.cuh"

constexpr int WARPS = (BM / WM) * (BN / WN), CONSUMER_THREADS = 32 * WARPS, CLUSTER = 1;
#include "stream_k.cuh"

constexpr int THREADS = CONSUMER_THREADS + PRODUCER_THREADS;
constexpr int MMA_K = 8;  // k of an instruction, which computes 16 x 8 sums
constexpr int K_SLICES = BK / MMA_K, MMA_ROWS = WM / 16, MMA_COLUMNS = WN / 8;  // instructions along k, m and n

static_assert(BM % WM == 0 && BN % WN == 0, "A warp's WM x WN elements must divide the block's: BM by WM, BN by WN.");
static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16.");
static_assert(BM <= 256 && BN <= 256, "The TMA copies at most 256 rows or columns: lower BM or BN.");
static_assert(WARPS % 4 == 0, "The warps that multiply must be a multiple of 4: change BM, BN, WM or WN.");
static_assert(MMA_ROWS * MMA_COLUMNS * 8 <= 192, "A warp's WM x WN sums don't fit in its registers: lower WM or WN.");
static_assert(STAGES >= 3, "STAGES must be at least 3: the buffers of a step, of the last one and of the next one.");

struct Shared {
  Vector a[STAGES][BM * 8], b[STAGES][BN * 8];
  Mbarrier full[STAGES], empty[STAGES];
};
// Of a multiprocessor's 228 KiB, the system reserves 1 KiB for each block.
static_assert(sizeof(Shared) * BLOCKS <= (227 + 1 - BLOCKS) * 1024, "The tiles need more shared memory than the GPU has.");

extern __shared__ __align__(1024) unsigned char memory[];  // aligned as the TMA's swizzle requires

// An operand; `stride`, the elements of a row, is 0 if the TMA copies it.
struct Operand {
  OperandMaps maps;
  const REAL *array;
  int stride;
};

// Start this thread's copies of a tile, as copy_tile() (operand_tiles.cuh); `k` is the operand's depth.
template <bool along_k, int rows>
__device__ __forceinline__ void copy_operand(Vector *to, const Operand &operand, Mbarrier &full, int thread, int first,
                                           int count, int p, int k) {
  if (operand.stride) {
    // Each thread copies element `e` of every eighth line.
    const int line = thread / BK, e = thread % BK;
    char *const target = reinterpret_cast<char *>(to) + line * LINE_BYTES + (e / V ^ line) * 16 + e % V * 8;
#pragma unroll 8
    for (int i = 0; i < rows / 8; ++i) {
      const int row = first + (along_k ? line + i * 8 : i / 2 * BK + e), depth = p + (along_k ? e : line + i % 2 * 8);
      const size_t index = along_k ? size_t(row) * operand.stride + depth : size_t(depth) * operand.stride + row;
      copy_async<sizeof(REAL)>(target + i * 8 * LINE_BYTES, operand.array + index, row < count && depth < k);
    }
  } else if (thread == 0) {
    copy_tile<along_k, rows>(to, operand.maps, full, first, count, p);
  }
}

// Start all copies of a block.
template <Form form>
__device__ __forceinline__ void produce(Shared &shared, const Operand &a, const Operand &b, Schedule schedule, int m,
                                      int n, int k) {
  const int thread = threadIdx.x - CONSUMER_THREADS;
  const int bytes = (a.stride ? 0 : BM * LINE_BYTES) + (b.stride ? 0 : BN * LINE_BYTES);
  const bool copies_elements = a.stride || b.stride;
  if (thread && !copies_elements) return;
  PipelineState<STAGES> ring;
  for (Part part; schedule.take_next(part);) {
    const Corner corner(part.tile, 0, m, n);
    for (int step = part.first_step; step < part.first_step + part.step_count; ++step, ring.next()) {
      Mbarrier &full = shared.full[ring.index];
      shared.empty[ring.index].wait(ring.phase + 1);
      if (thread == 0) full.arrive_and_expect(bytes);
      copy_operand<form != Form::tn, BM>(shared.a[ring.index], a, full, thread, corner.row, m, step * BK, k);
      copy_operand<form == Form::nt, BN>(shared.b[ring.index], b, full, thread, corner.column, n, step * BK, k);
      if (copies_elements) full.arrive_after_copies();
    }
  }
}

// For t = lane % 4, the depth of a lane's elements in the first of a line's four groups of depths; those in the other
// groups are at this depth ^ 2, ^ 4 and ^ 6. The sum over k may have any order. In this one, the lanes of an access
// read different banks whichever axis is contiguous: each half of a warp covers all 16 elements of a line's length.
__device__ __forceinline__ int lane_depth(int t) { return t % 2 * 3 + t / 2 * 12; }

// A lane's element of a tile, from the `offset` of its element in the first eight rows and the first group of depths:
// 8 * `row_group` rows further, and at the depth ^ 2 * `depth_group` (see lane_depth()). Such steps are exclusive ors
// of the offset, or whole lines.
template <bool along_k>
__device__ __forceinline__ REAL element(const char *tile, int offset, int row_group, int depth_group) {
  const int index = along_k ? (offset ^ depth_group * 16) + row_group * 8 * LINE_BYTES
                            : (offset ^ depth_group * (2 * LINE_BYTES + 32) ^ row_group % 2 * 64) +
                                  row_group / 2 * BK * LINE_BYTES;
  return *reinterpret_cast<const REAL *>(tile + index);
}

// Store a thread's pair of sums, the one of this index, in its place of the result.
__device__ __forceinline__ void store(const Result &result, const Corner &corner, int index, Pair pair) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  result.store(corner.row + warp / (BN / WN) * WM + index / MMA_COLUMNS * 8 + lane / 4,
               corner.column + warp % (BN / WN) * WN + index % MMA_COLUMNS * 8 + lane % 4 * 2, pair);
}

// A warp's part of the products, which it adds in registers.
template <Form form>
struct Multiplier {
  static constexpr bool a_along_k = form != Form::tn, b_along_k = form == Form::nt;
  Shared &shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  int a_offset = tile_offset<a_along_k>(g, lane_depth(t)), b_offset = tile_offset<b_along_k>(g, lane_depth(t));
  REAL sums[MMA_ROWS][MMA_COLUMNS][4];
  // Fragments of a slice of a buffer, MMA_K deep: of op(A) for one of MMA_ROWS, of op(B) for all MMA_COLUMNS. While one
  // is multiplied, the next one is loaded.
  REAL a_fragments[2][MMA_K / 2], b_fragments[2][MMA_COLUMNS][MMA_K / 4];
  const char *a_tile, *b_tile;  // the warp's rows and columns in the current buffer
  PipelineState<STAGES> ring;
  int previous_buffer = -1;  // the buffer of the previous step, all of whose fragments have arrived in registers

  __device__ __forceinline__ Multiplier(Shared &shared) : shared(shared) {
    keep_in_register(a_offset), keep_in_register(b_offset);
  }

  __device__ __forceinline__ void set_tiles() {
    a_tile = reinterpret_cast<const char *>(shared.a[ring.index]) + warp_row * LINE_BYTES;
    b_tile = reinterpret_cast<const char *>(shared.b[ring.index]) + warp_column * LINE_BYTES;
  }
  __device__ __forceinline__ void load_a(int buffer, const char *tile, int k_slice, int row) {
#pragma unroll
    for (int h = 0; h < MMA_K / 2; ++h)
      a_fragments[buffer][h] = element<a_along_k>(tile, a_offset, row * 2 + h % 2, k_slice * MMA_K / 4 + h / 2);
  }
  __device__ __forceinline__ void load_b(int buffer, int k_slice, int first, int end) {
#pragma unroll
    for (int j = first; j < end; ++j)
#pragma unroll
      for (int h = 0; h < MMA_K / 4; ++h)
        b_fragments[buffer][j][h] = element<b_along_k>(b_tile, b_offset, j, k_slice * MMA_K / 4 + h);
  }
  // Wait for the first buffer, and load its first fragments.
  __device__ __forceinline__ void begin() {
    shared.full[0].wait(0);
    set_tiles();
    load_a(0, a_tile, 0, 0);
    load_b(0, 0, 0, MMA_COLUMNS);
  }

  // Add the products of a step. Before the last slice is multiplied, the next buffer is entered, unless `is_last`. The
  // previous buffer can be filled from then on: the products with its last fragments have begun. An arrival right after
  // the loads would come too early, since they may still be waiting for shared memory when the next copy arrives there.
  __device__ __forceinline__ void step(bool is_last) {
    const char *const tile = a_tile;
    PipelineState<STAGES> next = ring;
    next.next();
    const bool is_full = shared.full[next.index].has_ended(next.phase);  // queried early, to hide its latency
#pragma unroll
    for (int k_slice = 0; k_slice < K_SLICES; ++k_slice)
#pragma unroll
      for (int row = 0; row < MMA_ROWS; ++row) {
        if (k_slice == K_SLICES - 1 && row == 0) {
          const int current = ring.index;
          ring = next;
          if (!is_last) {
            if (!is_full) shared.full[ring.index].wait(ring.phase);
            set_tiles();
            __syncwarp();
            if (previous_buffer >= 0 && lane == 0) shared.empty[previous_buffer].arrive();
          }
          previous_buffer = current;
        }
        const int a_fragment = k_slice * MMA_ROWS + row;  // its number in the step
        const int next_k_slice = (k_slice + 1) % K_SLICES;
        if (row + 1 < MMA_ROWS)
          load_a((a_fragment + 1) % 2, tile, k_slice, row + 1);
        else
          load_a((a_fragment + 1) % 2, a_tile, next_k_slice, 0);
        load_b((k_slice + 1) % 2, next_k_slice, row * MMA_COLUMNS / MMA_ROWS, (row + 1) * MMA_COLUMNS / MMA_ROWS);
#pragma unroll
        for (int j = 0; j < MMA_COLUMNS; ++j)
          mma(sums[row][j], a_fragments[a_fragment % 2], b_fragments[k_slice % 2][j]);
      }
  }

  // Call function(index, pair) for all pairs of sums.
  template <class Function>
  __device__ __forceinline__ void for_each_pair(Function function) {
#pragma unroll
    for (int index = 0; index < MMA_ROWS * 2 * MMA_COLUMNS; ++index)
      function(index, reinterpret_cast<Pair *>(
                          sums[index / (2 * MMA_COLUMNS)][index % MMA_COLUMNS])[index / MMA_COLUMNS % 2]);
  }
};

// Multiply and store all parts of a block's tiles.
template <Form form>
__device__ __forceinline__ void multiply(Shared &shared, Schedule schedule, const Result &result, Pair *partial) {
  Multiplier<form> multiplier(shared);
  int remaining_steps = schedule.step_count();
  if (remaining_steps) multiplier.begin();
  for (Part part; schedule.take_next(part);) {
#pragma unroll
    for (auto &row : multiplier.sums)
#pragma unroll
      for (auto &sums : row) sums[0] = sums[1] = sums[2] = sums[3] = 0;
    for (int step = 0; step < part.step_count; ++step) multiplier.step(--remaining_steps == 0);
    if (part.step_count < schedule.steps_per_tile) {
      Pair *const partial_sums = partial_sums_of(partial, blockIdx.x, part.first_step == 0);
      multiplier.for_each_pair([&](int index, Pair pair) { partial_sums[index * CONSUMER_THREADS] = pair; });
    } else {
      const Corner corner(part.tile, 0, result.rows, result.columns);
      multiplier.for_each_pair([&](int index, Pair pair) { store(result, corner, index, pair); });
    }
  }
}

template <Form form>
__device__ __forceinline__ void compute_product(const Operand &a, const Operand &b, const Result &result, int k,
                                      int split_tiles, Pair *partial) {
  Shared &shared = *reinterpret_cast<Shared *>(memory);
  if (threadIdx.x == 0) {
    const int arrivals = a.stride || b.stride ? 1 + PRODUCER_THREADS : 1;
    for (int i = 0; i < STAGES; ++i) shared.full[i].init(arrivals), shared.empty[i].init(WARPS);
    publish_mbarriers();
  }
  __syncthreads();
  const Schedule schedule(result.rows, result.columns, k, split_tiles, gridDim.x, blockIdx.x);
  if (threadIdx.x >= CONSUMER_THREADS) {
    release_registers<40>();
    produce<form>(shared, a, b, schedule, result.rows, result.columns, k);
  } else {
    claim_registers<consumer_registers(BLOCKS, THREADS, PRODUCER_THREADS, 40)>();
    multiply<form>(shared, schedule, result, partial);
  }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define BODY(...) { __VA_ARGS__; }
#else  // empty kernels: cuda_tma.py refuses other GPUs
#define BODY(...) {}
#endif

#define KERNEL(form)                                                                                            \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                 \
      gemm_##form(const __grid_constant__ TensorMap a_tile, const __grid_constant__ TensorMap a_group,          \
                  const __grid_constant__ TensorMap b_tile, const __grid_constant__ TensorMap b_group,          \
                  const REAL *a, const REAL *b, const REAL *c, REAL *out, int m, int n, int k, int a_stride,    \
                  int b_stride, int split_tiles, Pair *partial)                                                 \
  BODY(compute_product<Form::form>({{a_tile, a_group}, a, a_stride}, {{b_tile, b_group}, b, b_stride},           \
                                   {c, out, m, n}, k, split_tiles, partial))
KERNEL(nn)
KERNEL(tn)
KERNEL(nt)

extern "C" __global__ void __launch_bounds__(CONSUMER_THREADS)
    add_parts(const REAL *c, REAL *out, int m, int n, int k, int split_tiles, Pair *partial, int blocks)
BODY(const Result result{c, out, m, n};
     add_split_tile(m, n, k, split_tiles, partial, blocks,
         [&](const Corner &corner, int index, Pair pair) { store(result, corner, index, pair); }))
