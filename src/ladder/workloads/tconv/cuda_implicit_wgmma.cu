// The transposed convolution on tensor cores that read both operands from shared memory (compute capability 9.0): each
// of GROUPS warpgroups computes BM / GROUPS x BN of a block's elements. While the products of one buffer run, those of
// the previous buffer complete, and the other buffers are filled. Shapes are those of implicit_tensor.cuh.
//
// Launch: grid (ceil(columns / BN) * positions, ceil(images / BM)), block 128 * GROUPS, dynamic shared memory
// STAGES * (BM + BN) * 128 bytes.
#include "epilogue.cuh"
#include "implicit_tensor.cuh"
#include "lines.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/math.cuh"
#include "ptx/wgmma.cuh"
#include "tensor_operands.cuh"

constexpr int THREADS = 128 * GROUPS, ROW_TILES = BM / (64 * GROUPS);  // of 64 rows, per warpgroup
// Registers of a block: each thread's sums and 64 more.
constexpr int REGISTERS_PER_BLOCK = THREADS * (ROW_TILES * BN / 2 + 64);
constexpr int MIN_BLOCKS = REGISTERS_PER_BLOCK < 65536 ? 65536 / REGISTERS_PER_BLOCK : 1;

static_assert(BM % (64 * GROUPS) == 0, "BM must be a multiple of 64 rows for each of the GROUPS.");
static_assert(BN == 64 || BN == 128, "BN must be 64 or 128.");
static_assert(ROW_TILES * BN <= 256, "A warpgroup's sums don't fit in its registers: lower BM, or raise GROUPS.");
static_assert(STAGES >= 3, "STAGES must be at least 3: two buffers in use and one being filled.");

// The kernel's body; see implicit_tensor.cuh for its arrays.
template <Math math, bool is_operand, class Type = typename Operand<math>::Type,
          class Out = typename Result<math, is_operand>::Type>
__device__ __forceinline__ void convolution(CONVOLVE_ARGUMENTS(Type, Out)) {
  const Block block(images, h, k);
  Copies<Type, THREADS> copies(block, image, packed, padded_c);
  const int tiles = copies.steps.count();
  auto load = [&](int tile) {
    if (tile < tiles) copies.start(tile);
    commit_copies();
  };

  const int group = threadIdx.x / 128, group_row = group * ROW_TILES * 64;
  float sums[ROW_TILES][BN / 8][4] = {};
#pragma unroll
  for (int tile = 0; tile < STAGES - 2; ++tile) load(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_groups<STAGES - 3>();
    publish_copies();
    // After this barrier the tile is complete, and the products of the tile two before have ended in all warpgroups.
    __syncthreads();
    const Vector *const a_tile = memory + tile % STAGES * STAGE_VECTORS, *const b_tile = a_tile + BM * LINE_VECTORS;
    fence_products();
#pragma unroll
    for (int u = 0; u < LINE_VECTORS; u += 2)
#pragma unroll
      for (int i = 0; i < ROW_TILES; ++i)
        multiply_warpgroup<math>(sums[i], tile_descriptor(a_tile + (group_row + i * 64) * LINE_VECTORS + u),
                             tile_descriptor(b_tile + u));
    commit_products();
    load(tile + STAGES - 2);
    wait_for_products<1>();
  }
  wait_for_products<0>();
  const int warp = threadIdx.x / 32 % 4;
  const RowAddress<Out> row_address = {block, out, padded_k};
  apply_epilogue<Result<math, is_operand>, 64>(sums, row_address, group_row + warp * 16, block.first_column, h, k, bias,
                                               padded_k, activation);
}

#define ATTRIBUTES __launch_bounds__(THREADS, MIN_BLOCKS)
IMPLICIT_KERNELS(tf32, ATTRIBUTES)
IMPLICIT_KERNELS(float16, ATTRIBUTES)
IMPLICIT_KERNELS(bfloat16, ATTRIBUTES)
OPERAND_KERNELS
