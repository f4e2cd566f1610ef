// The transposed convolution on tensor cores with operands in registers: a warp computes WM x WN of a block's BM x BN
// elements. STAGES - 1 buffers are filled while one is in use. Shapes are those of implicit_tensor.cuh.
//
// Launch: grid (ceil(columns / BN) * positions, ceil(images / BM)), block 32 * BM / WM * (BN / WN), dynamic shared
// memory STAGES * (BM + BN) * 128 bytes.
#include "epilogue.cuh"
#include "implicit_tensor.cuh"
#include "lines.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/math.cuh"
#include "ptx/mma.cuh"
#include "tensor_operands.cuh"

constexpr int WARPS_ACROSS = BN / WN, THREADS = 32 * (BM / WM) * WARPS_ACROSS;  // WARPS_ACROSS: along the columns
// Registers of a block: each thread's sums, fragments of both operands, and 64 more. The launch bounds of as many
// blocks as then fit on a multiprocessor keep the compiler from using many more.
constexpr int SUM_REGISTERS = WM * WN / 32;
constexpr int REGISTERS_PER_BLOCK = THREADS * (SUM_REGISTERS + WM / 4 + WN / 4 + 64);
constexpr int MIN_BLOCKS = REGISTERS_PER_BLOCK < 65536 ? 65536 / REGISTERS_PER_BLOCK : 1;

static_assert(BM % WM == 0 && BN % WN == 0, "A warp's WM x WN elements must divide the block's: BM by WM, BN by WN.");
static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16.");
static_assert(SUM_REGISTERS <= 128, "A warp's WM x WN sums don't fit in its registers: lower WM or WN.");
static_assert(STAGES >= 2, "STAGES must be at least 2: one buffer in use and one being filled.");

// The kernel's body; see implicit_tensor.cuh for its arrays.
template <Math math, bool is_operand, class Type = typename Operand<math>::Type,
          class Out = typename Result<math, is_operand>::Type>
__device__ __forceinline__ void convolution(CONVOLVE_ARGUMENTS(Type, Out)) {
  const Block block(images, h, k);
  Copies<Type, THREADS> copies(block, image, packed, padded_c);
  const int tiles = copies.steps.count();
  // After the last tile, empty groups keep the number of pending groups the same.
  auto load = [&](int tile) {
    if (tile < tiles) copies.start(tile);
    commit_copies();
  };

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_ACROSS * WM, warp_column = warp % WARPS_ACROSS * WN;
  float sums[WM / 16][WN / 8][4] = {};
#pragma unroll
  for (int tile = 0; tile < STAGES - 1; ++tile) load(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_groups<STAGES - 2>();
    // After this barrier the tile is complete, and the previous one has been read: its buffer is filled next.
    __syncthreads();
    load(tile + STAGES - 1);
    const Vector *const a_tile = memory + tile % STAGES * STAGE_VECTORS, *const b_tile = a_tile + BM * LINE_VECTORS;
#pragma unroll
    for (int u = 0; u < LINE_VECTORS; u += 2) {
      unsigned a_fragments[WM / 16][4], b_fragments[WN / 16][4];
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
        load_matrices(a_fragments[i], a_tile + swizzled_index(warp_row + i * 16 + lane % 16, u + lane / 16));
#pragma unroll
      for (int j = 0; j < WN / 16; ++j)
        load_matrices(b_fragments[j],
                      b_tile + swizzled_index(warp_column + j * 16 + lane / 16 * 8 + lane % 8, u + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) mma_packed<math>(sums[i][j], a_fragments[i], b_fragments[j / 2] + j % 2 * 2);
    }
  }
  const RowAddress<Out> row_address = {block, out, padded_k};
  apply_epilogue<Result<math, is_operand>, 16>(sums, row_address, warp_row, block.first_column + warp_column, h, k,
                                               bias, padded_k, activation);
}

#define ATTRIBUTES __launch_bounds__(THREADS, MIN_BLOCKS)
IMPLICIT_KERNELS(tf32, ATTRIBUTES)
IMPLICIT_KERNELS(float16, ATTRIBUTES)
IMPLICIT_KERNELS(bfloat16, ATTRIBUTES)
OPERAND_KERNELS
