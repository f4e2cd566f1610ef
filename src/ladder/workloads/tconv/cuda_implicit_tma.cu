// The transposed convolution on tensor cores with operands copied by the TMA: compute capability 9.0 only. It is a
// producer-consumer pipeline: one thread copies, two warpgroups multiply.
//
// A block computes, for BN output channels, the four elements around each pixel of a tile. A tile is two rows of
// TILE_COLUMNS pixels of 8 OCTETS images; each warpgroup has one of the rows, 64 pixels in all. A patch in shared
// memory holds 128 bytes of the channels of these pixels and of their neighbours. A stage holds the same channels of
// one row of the filter, whose five products read the patch at three shifts and contribute to two elements. The
// producer runs ahead of both warpgroups, even into the next tile. The blocks of a CLUSTER multicast stages to each
// other.
//
// Images are in groups of eight, so that a shift by a pixel is a multiple of 1024 bytes, as tensor cores require.
// Products have at most 64 columns: wider ones, for only some of the elements, couldn't share registers, and the
// compiler would serialise them. Rejected experiments: docs/experiments/tconv.md.
//
//   barrier      arrivals per phase                                                waiting threads
//   patch_full   1: the block's producer, which expects the patch's bytes          both warpgroups of the block
//   patch_empty  8: a lane of each warp of both warpgroups, for its own block      the block's producer
//   stage_full   1: the block's producer, which expects the bytes from any block   both warpgroups of the block
//   stage_empty  8 * CLUSTER: a lane of each warp, at the barriers of all blocks   the producers of all blocks
//
// A phase is one use of a buffer, by a patch or a stage. The producer's first wait is for the phase before the first
// one, which counts as ended. All blocks call cluster_barrier() twice: after the initialisation of the barriers and at
// the end.
//
// Shapes: image (images, h, h, padded_c), packed filter (25, columns, padded_c), out (images, 2 h, 2 h, padded_k), bias
// (k). `padded_c` and `padded_k` are the channels of a pixel and of an element in memory.
//
// Launch: grid (a multiple of CLUSTER, at most the multiprocessors), block 384, dynamic shared memory sizeof(Shared).
#include "activation.cuh"
#include "lines.cuh"
#include "pipeline.cuh"
#include "ptx/arithmetic.cuh"
#include "ptx/cluster.cuh"
#include "ptx/math.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/programmatic_launch.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "tensor_operands.cuh"

// GROUPS: warpgroups that multiply; TILE_IMAGES and TILE_COLUMNS: images of a tile, and pixels of each in a row;
// PATCHES and STAGES: buffers.
constexpr int GROUPS = 2, THREADS = 128 * (GROUPS + 1), FILTER_SIDE = 5;
constexpr int TILE_IMAGES = 8 * OCTETS, TILE_COLUMNS = 64 / TILE_IMAGES;
// Numbers of vectors of 16 bytes: of the lines that all images of a tile have for a pixel, of a row of a patch, of a
// patch, and below of a tap of the filter and of a stage.
constexpr int PIXEL_VECTORS = TILE_IMAGES * LINE_VECTORS, PATCH_ROW_VECTORS = (TILE_COLUMNS + 2) * PIXEL_VECTORS;
constexpr int PATCH_VECTORS = (GROUPS + 2) * PATCH_ROW_VECTORS;
constexpr int TAP_VECTORS = BN * LINE_VECTORS, STAGE_VECTORS = FILTER_SIDE * TAP_VECTORS, PATCHES = 2;
constexpr int STAGES = (226 * 64 - PATCHES * PATCH_VECTORS) / STAGE_VECTORS;

static_assert(STAGES >= 2, "The tiles need more than 227 KiB of shared memory: lower OCTETS or BN.");
static_assert(64 % TILE_IMAGES == 0, "OCTETS must be 1, 2, 4 or 8.");
static_assert(CLUSTER >= 1 && CLUSTER <= 8, "CLUSTER must be from 1 to 8.");
static_assert(BN == 32 || BN == 64, "BN must be 32 or 64.");

// The buffers, and the barriers that signal that a buffer is full or empty.
struct Shared {
  Vector patches[PATCHES][PATCH_VECTORS];
  Vector stages[STAGES][STAGE_VECTORS];
  Mbarrier patch_full[PATCHES], patch_empty[PATCHES], stage_full[STAGES], stage_empty[STAGES];
};

extern __shared__ __align__(1024) unsigned char memory[];

// The numbers of the tiles of a block's cluster: `first`, `first + step`, ..., below `end`. For each number, the blocks
// of the cluster have different pixels and the same channels.
struct Tiles {
  const int channel_slices, tiles_across, tiles_down, rank, first, step, end;
  __device__ __forceinline__ Tiles(int images, int h, int k)
      : channel_slices((k - 1) / BN + 1), tiles_across((h - 1) / TILE_COLUMNS + 1), tiles_down((h - 1) / GROUPS + 1),
        rank(blockIdx.x % CLUSTER), first(blockIdx.x / CLUSTER), step(gridDim.x / CLUSTER),
        end(((((images - 1) / TILE_IMAGES + 1) * tiles_across * tiles_down - 1) / CLUSTER + 1) * channel_slices) {}
};

// The first channel (column), pixel (x, y) and image of a block's tile with this number.
struct Tile {
  int column, x, y, image;
  __device__ __forceinline__ Tile(const Tiles &tiles, int number) {
    column = number % tiles.channel_slices * BN;
    const int index = number / tiles.channel_slices * CLUSTER + tiles.rank;
    x = index % tiles.tiles_across * TILE_COLUMNS;
    y = index / tiles.tiles_across % tiles.tiles_down * GROUPS;
    image = index / tiles.tiles_across / tiles.tiles_down * TILE_IMAGES;
  }
};

// A column of the filter: the parity of the elements that it contributes to, and the offset of its pixels.
struct FilterColumn {
  int parity, shift;
  __device__ __forceinline__ FilterColumn(int number)
      : parity((number + 1) % 2), shift((parity + 1 - number) / 2) {}
};

// Start all copies of a block from image and packed, arrays of the above shapes whose channels are `lines` lines of
// `depth`. Up to FILTER_SIDE stages are copied before the first patch: the patch must wait for the previous
// kernel, which may write its pixels.
__device__ __forceinline__ void produce(Shared &shared, const TensorMap &image, const TensorMap &packed,
                                      const Tiles &tiles, int lines, int depth) {
  constexpr int STAGES_AHEAD = STAGES < FILTER_SIDE ? STAGES : FILTER_SIDE;
  PipelineState<PATCHES> patch;
  PipelineState<STAGES> stage;
  int copying_rank = 0;  // the block of the cluster that copies the stage
  for (int number = tiles.first; number < tiles.end; number += tiles.step) {
    const Tile tile(tiles, number);
    for (int channel = 0; channel < lines * depth; channel += depth, patch.next()) {
      const auto copy_patch = [&] {
        shared.patch_empty[patch.index].wait(patch.phase + 1);
        shared.patch_full[patch.index].arrive_and_expect(PATCH_VECTORS * 16);
        copy_box(shared.patches[patch.index], image, shared.patch_full[patch.index], channel, tile.image, tile.x - 1,
                 tile.y - 1);
      };
      const bool is_first = number == tiles.first && channel == 0;
      for (int row = 0; row < FILTER_SIDE; ++row, stage.next(), copying_rank = (copying_rank + 1) % CLUSTER) {
        if (row == 0 && !is_first) copy_patch();
        shared.stage_empty[stage.index].wait(stage.phase + 1);
        shared.stage_full[stage.index].arrive_and_expect(STAGE_VECTORS * 16);
        if (copying_rank == tiles.rank)
          multicast_box((1 << CLUSTER) - 1, shared.stages[stage.index], packed, shared.stage_full[stage.index], channel,
                      tile.column, row * FILTER_SIDE);
        if (is_first && row == STAGES_AHEAD - 1) {
          wait_for_previous_kernel();
          launch_dependents();
          copy_patch();
        }
      }
    }
  }
}

// Arrive at this barrier of a stage in all blocks of the cluster, once per warp.
__device__ __forceinline__ void release(Mbarrier &empty) {
  if (threadIdx.x % 32 == 0)
    for (int block = 0; block < CLUSTER; ++block) empty.arrive(block);
}

// Multiply the produced buffers, by one of GROUPS warpgroups, and call `epilogue(sums, tile, group)` for each tile. Its
// sums (4, BN / 8, 4) are those of the four elements around a pixel, each in the layout of multiply_warpgroup().
template <Math math, class Epilogue>
__device__ __forceinline__ void multiply(Shared &shared, const Tiles &tiles, int h, int lines,
                                         const Epilogue &epilogue) {
  const int group = threadIdx.x / 128;
  PipelineState<PATCHES> patch;
  PipelineState<STAGES> stage;
  for (int number = tiles.first; number < tiles.end; number += tiles.step) {
    const Tile tile(tiles, number);
    const int top = tile.y + group;
    float sums[4][BN / 8][4] = {};  // by the element around a pixel: (0, 0), (0, 1), (1, 0), (1, 1)
    Mbarrier *pending_stage = nullptr, *pending_patch = nullptr;  // read by products that may still run
    for (int line = 0; line < lines; ++line, patch.next()) {
      shared.patch_full[patch.index].wait(patch.phase);
      const Vector *const pixels = shared.patches[patch.index] + (group + 1) * PATCH_ROW_VECTORS + PIXEL_VECTORS;
      // Rows of the filter in pairs, one of each parity, for short code.
#pragma unroll 1
      for (int first_row = 0; first_row < FILTER_SIDE; first_row += 2)
#pragma unroll
        for (int row_parity = 0; row_parity < 2; ++row_parity) {
          const int row = first_row + row_parity, parity = 1 - row_parity, shift = parity - first_row / 2;
          if (row == FILTER_SIDE) break;
          shared.stage_full[stage.index].wait(stage.phase);
          if (unsigned(top + shift) < unsigned(h)) {  // else all pixels are zeros
            fence_products();
#pragma unroll
            for (int u = 0; u < LINE_VECTORS; u += 2)
#pragma unroll
              for (int column = 0; column < FILTER_SIDE; ++column) {
                const FilterColumn filter_column(column);
                multiply_warpgroup<math>(
                    sums[2 * parity + filter_column.parity],
                    tile_descriptor(pixels + shift * PATCH_ROW_VECTORS + filter_column.shift * PIXEL_VECTORS + u),
                    tile_descriptor(shared.stages[stage.index] + column * TAP_VECTORS + u));
              }
            commit_products();
            wait_for_products<1>();
          } else {
            wait_for_products<0>();
          }
          if (pending_stage) release(*pending_stage);
          pending_stage = &shared.stage_empty[stage.index];
          if (row == 0 && pending_patch && threadIdx.x % 32 == 0) pending_patch->arrive(tiles.rank);
          stage.next();
        }
      pending_patch = &shared.patch_empty[patch.index];
    }
    wait_for_products<0>();
    release(*pending_stage);
    if (threadIdx.x % 32 == 0) pending_patch->arrive(tiles.rank);
    epilogue(sums, tile, group);
  }
}

// The epilogue of a warpgroup's sums: bias, activation, and stores. The columns of the products are permuted channels
// (cuda_implicit_tma.py) so that a lane stores V neighbours at once: with V = 4, lane 1 of a row has columns 2, 3, 10
// and 11 of a product, which are channels 4 to 7. Rows of operands are whole vectors, with zeros after the last
// channel, as in the sums.
template <class Format, bool is_operand>
struct Epilogue {
  using Out = typename Format::Type;
  static constexpr int V = 16 / sizeof(Out), LANES = 4;  // lanes of a row
  struct alignas(16) Values {
    Out value[V];
  };
  const float *bias;
  Out *out;
  int images, h, k, padded_k;
  float lower_bound;  // of the activation: 0 for RELU, else -infinity

  // Add the bias to the sums (4, BN / 8, 4) of a warpgroup's row of a tile, activate and store them.
  __device__ __forceinline__ void operator()(float (&sums)[4][BN / 8][4], const Tile &tile, int group) const {
    const int lane = threadIdx.x % 32, column = tile.column + lane % LANES * V;
#pragma unroll
    for (int index = 0; index < BN; index += LANES * V) {
      float addends[V];
#pragma unroll
      for (int v = 0; v < V; ++v) addends[v] = column + index + v < k ? bias[column + index + v] : 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = threadIdx.x / 32 % 4 * 16 + half * 8 + lane / LANES;
        const int image = tile.image + row % TILE_IMAGES, y = tile.y + group, x = tile.x + row / TILE_IMAGES;
        if (image >= images || y >= h || x >= h) continue;
#pragma unroll
        for (int element = 0; element < 4; ++element) {
          Values values;
#pragma unroll
          for (int v = 0; v < V; ++v)
            values.value[v] =
                Format::convert(max_nan(sums[element][index / 8 + v / 2][half * 2 + v % 2] + addends[v], lower_bound));
          const size_t element_index = (size_t(image) * 2 * h + 2 * y + element / 2) * 2 * h + 2 * x + element % 2;
          store(out + element_index * padded_k, column + index, values);
        }
      }
    }
  }

  // Store the values of channels `channel` to channel + V - 1 in target (padded_k).
  __device__ __forceinline__ void store(Out *target, int channel, const Values &values) const {
    if (is_operand || padded_k % V == 0) {
      if (channel < padded_k) *reinterpret_cast<Values *>(target + channel) = values;
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (channel + i < padded_k) target[channel + i] = values.value[i];
    }
  }
};

// The kernel's body, with arrays of the above shapes; if `is_operand`, the next layer reads the results as operands.
template <Math math, bool is_operand, class Format = Result<math, is_operand>, class Out = typename Format::Type>
__device__ __forceinline__ void convolution(const TensorMap &image, const TensorMap &packed, const float *bias,
                                            Out *out, int images, int h, int padded_c, int k, int padded_k,
                                            int activation) {
  Shared &shared = *reinterpret_cast<Shared *>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < PATCHES; ++i) shared.patch_full[i].init(1), shared.patch_empty[i].init(4 * GROUPS);
    for (int i = 0; i < STAGES; ++i) shared.stage_full[i].init(1), shared.stage_empty[i].init(4 * GROUPS * CLUSTER);
    publish_mbarriers();
  }
  cluster_barrier();
  const Tiles tiles(images, h, k);
  constexpr int depth = LINE_VECTORS * 16 / sizeof(typename Operand<math>::Type);
  const int lines = (padded_c - 1) / depth + 1;
  if (threadIdx.x >= 128 * GROUPS) {
    release_registers<40>();  // 128 * 40 + 256 * 232 = 384 * 168, the registers at launch
    if (threadIdx.x == 128 * GROUPS) produce(shared, image, packed, tiles, lines, depth);
  } else {
    claim_registers<232>();
    const float lower_bound = activation == RELU ? 0 : __int_as_float(0xff800000);  // else -infinity
    multiply<math>(shared, tiles, h, lines,
                   Epilogue<Format, is_operand>{bias, out, images, h, k, padded_k, lower_bound});
  }
  cluster_barrier();  // no block exits while others may arrive at its barriers
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define ATTRIBUTES __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
#define BODY(...) { __VA_ARGS__; }
#else  // empty kernels: cuda_implicit_tma.py refuses other GPUs
#define ATTRIBUTES __launch_bounds__(THREADS, 1)
#define BODY(...) {}
#endif

// The kernels for a type of operands, with results in float32 or as operands.
#define KERNEL(math, result, is_operand)                                                                        \
  extern "C" __global__ void ATTRIBUTES math##_to_##result(                                                     \
      const __grid_constant__ TensorMap image, const __grid_constant__ TensorMap packed, const float *bias,     \
      typename Result<Math::math, is_operand>::Type *out, int images, int h, int padded_c, int k, int padded_k, \
      int activation)                                                                                           \
  BODY(convolution<Math::math, is_operand>(image, packed, bias, out, images, h, padded_c, k, padded_k, activation))
#define KERNELS(math) KERNEL(math, float32, false) KERNEL(math, operands, true)
KERNELS(tf32)
KERNELS(float16)
KERNELS(bfloat16)
OPERAND_KERNELS
