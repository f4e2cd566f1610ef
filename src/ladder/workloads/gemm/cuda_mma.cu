// GEMM on tensor cores: float64 in full precision, float32 with operands rounded to TF32, 11 significant bits.
//
// A block computes BM x BN elements of out, a warp WM x WN of them in registers. Tiles of op(A) and op(B), BK deep, are
// copied to shared memory through a ring of STAGES buffers, STAGES - 1 of which are filled while one is in use.
// With SPLITK > 1, a cluster of SPLITK blocks shares one BM x BN tile: each block sums over its part of k, and the sums
// are then added through distributed shared memory, in a fixed order.
//
// Launch: grid (ceil(n / BN), ceil(m / BM), SPLITK), block 32 * BM / WM * (BN / WN), dynamic shared memory
// sizeof(REAL) * STAGES * (BM + BN) * BK bytes, or, if that is more and SPLITK > 1, sizeof(REAL) * BM * BN.
// The grid's y is at most 65535. SPLITK is 1 by default.
#include "operands.cuh"
#include "ptx/arithmetic.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mma.cuh"
#include "split_k.cuh"
#include "vector.cuh"

constexpr int LINE_ELEMENTS = 8 * V;  // of a line of 128 bytes, which covers all banks once
constexpr int MMA_K = sizeof(REAL) == 8 ? 4 : 8;  // k of an instruction; for float64, 8 needs more registers
constexpr int WARPS_ALONG_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_ALONG_N;
constexpr int A_TILE_VECTORS = BM * BK / V, STAGE_VECTORS = (BM + BN) * BK / V;
constexpr int PARTIAL_VECTORS = BLOCKS_PER_TILE > 1 ? BM * BN / V : 0;  // of sums that a cluster exchanges
constexpr int SHARED_VECTORS = STAGES * STAGE_VECTORS > PARTIAL_VECTORS ? STAGES * STAGE_VECTORS : PARTIAL_VECTORS;
// A thread needs registers for its sums, for its fragments of A and B at a depth of 8, and 40 more, at least 104.
// Launch bounds of as many blocks as then fit on a multiprocessor keep the compiler from using many more.
constexpr int SUM_REGISTERS = WM * WN / 32 * sizeof(REAL) / 4;
constexpr int FRAGMENT_REGISTERS = (WM / 4 + WN / 4) * sizeof(REAL) / 4;
constexpr int REGISTERS_PER_THREAD = SUM_REGISTERS + FRAGMENT_REGISTERS + 40;
constexpr int REGISTERS_PER_BLOCK = THREADS * (REGISTERS_PER_THREAD > 104 ? REGISTERS_PER_THREAD : 104);
constexpr int MIN_BLOCKS = REGISTERS_PER_BLOCK < 65536 ? 65536 / REGISTERS_PER_BLOCK : 1;

// The shared memory that a block can have.
#if !defined(__CUDA_ARCH__)
constexpr int MAX_SHARED_KIB = 227;
#else
constexpr int MAX_SHARED_KIB =
    __CUDA_ARCH__ >= 1200 ? 99 : __CUDA_ARCH__ >= 900 ? 227 : __CUDA_ARCH__ == 800 ? 163 : 99;
#endif

static_assert(BM % WM == 0 && BN % WN == 0, "A warp's WM x WN elements must divide the block's: BM by WM, BN by WN.");
static_assert(WM % LINE_ELEMENTS == 0 && WN % LINE_ELEMENTS == 0,
              "WM and WN must be multiples of 128 bytes: 16 float64, 32 float32.");
static_assert(BK % LINE_ELEMENTS == 0, "BK must be a multiple of 128 bytes: 16 float64, 32 float32.");
static_assert(THREADS % (BM / V) == 0 && THREADS % (BN / V) == 0 && THREADS % (BK / V) == 0,
              "A block's threads must copy whole rows of BM, of BN and of BK elements, 16 bytes each.");
static_assert(THREADS <= 1024, "A block has at most 32 warps: raise WM or WN, or lower BM or BN.");
static_assert(SUM_REGISTERS <= 128, "A warp's WM x WN sums don't fit in its registers: lower WM or WN.");
static_assert(STAGES >= 2, "STAGES must be at least 2: one buffer in use and one being filled.");
static_assert(SHARED_VECTORS <= MAX_SHARED_KIB * 64,
              "The tiles need more shared memory than the GPU has: lower BM, BN or STAGES.");

struct alignas(2 * sizeof(REAL)) Pair {
  REAL x, y;
};

template <typename Type>
__device__ __forceinline__ bool is_aligned(const REAL *pointer) {
  return reinterpret_cast<size_t>(pointer) % sizeof(Type) == 0;
}

// Store a pair of sums at `to`, or only the first unless `has_second`, plus the elements of `c` unless that is null. A
// wide store is a single access; it requires aligned `to` and `c`.
__device__ __forceinline__ void store(REAL *to, const REAL *c, Pair sums, bool has_second, bool wide) {
  if (wide) {
    if (c) {
      Pair addend = *reinterpret_cast<const Pair *>(c);
      sums.x += addend.x, sums.y += addend.y;
    }
    *reinterpret_cast<Pair *>(to) = sums;
  } else {
    to[0] = c ? sums.x + c[0] : sums.x;
    if (has_second) to[1] = c ? sums.y + c[1] : sums.y;
  }
}

// The index of vector `u` of row `r` in a tile with `row_vectors` vectors a row. The lanes of one access read 2
// neighbouring vectors of each of 4 rows (float32 along k: 1 vector of each of 8 rows), and all rows begin in the same
// bank. Swizzling the vectors of a line, differently in each of these rows, puts them into different banks. The
// positions of vectors 0 to 7 of a line, on the left for float32 along k, on the right otherwise (vector 5 of row 3 is
// at 6 or at 3):
//
//   row 0   0 1 2 3 4 5 6 7   0 1 2 3 4 5 6 7
//   row 1   1 0 3 2 5 4 7 6   2 3 0 1 6 7 4 5
//   row 2   2 3 0 1 6 7 4 5   4 5 6 7 0 1 2 3
//   row 3   3 2 1 0 7 6 5 4   6 7 4 5 2 3 0 1
//   row 4   4 5 6 7 0 1 2 3   0 1 2 3 4 5 6 7
template <int row_vectors, bool along_k>
__device__ __forceinline__ unsigned swizzle(unsigned r, unsigned u) {
  return r * row_vectors + u / 8 * 8 + (u % 8 ^ (along_k && V == 4 ? r % 8 : r % 4 * 2));
}

// Start the copy of a tile (rows, row_vectors) of vectors, whose rows, like the matrix's, are contiguous along k or
// along m (or n). `corner` is its first element in global memory, where rows are `stride` apart. From there the matrix
// has `remaining_rows` rows and `remaining_columns` columns; elements beyond are 0. A wide copy requires aligned rows.
template <int rows, int row_vectors, bool along_k>
__device__ __forceinline__ void load(Vector *tile, const REAL *corner, int stride, int remaining_rows,
                                     int remaining_columns, bool wide) {
  if (wide) {
    constexpr int rows_at_once = THREADS / row_vectors;
    const int u = threadIdx.x % row_vectors, first_row = threadIdx.x / row_vectors;
    const REAL *from = corner + size_t(first_row) * stride + u * V;
#pragma unroll
    for (int row_offset = 0; row_offset < rows; row_offset += rows_at_once, from += size_t(rows_at_once) * stride)
      if (rows % rows_at_once == 0 || first_row + row_offset < rows)
        copy_async<16>(&tile[swizzle<row_vectors, along_k>(first_row + row_offset, u)], from,
                       first_row + row_offset < remaining_rows && u * V < remaining_columns);
  } else {
#pragma unroll 1
    for (unsigned index = threadIdx.x; index < rows * row_vectors * V; index += THREADS) {
      int row = index / (row_vectors * V), column = index % (row_vectors * V);
      copy_async<sizeof(REAL)>(&tile[swizzle<row_vectors, along_k>(row, column / V)].value[column % V],
                               corner + size_t(row) * stride + column,
                               row < remaining_rows && column < remaining_columns);
    }
  }
}

// The index in a tile of a lane's first element: (first + g, t) of op(A) or (t, first + g) of op(B), g and t as in
// mma().
template <int row_vectors, bool along_k>
__device__ __forceinline__ int first_element_index(int first, int g, int t) {
  const int row = along_k ? first + g : t, column = along_k ? t : first + g;
  return swizzle<row_vectors, along_k>(row, column / V) * V + column % V;
}

// The element of a tile (rows, row_vectors) at an offset from the lane's first element, whose index is `first_index`:
// `offset` along m (or n), a multiple of 8, and `k_offset` along k, a multiple of 4. Such offsets don't change the bits
// of the row that swizzle() uses, and set only bits of the vector's index that were 0 before swizzling; hence an
// exclusive or adds them. Unrolling makes the offsets constants, so that the index takes hardly an instruction.
template <int row_vectors, bool along_k>
__device__ __forceinline__ REAL element(const Vector *tile, int first_index, int offset, int k_offset) {
  const int row_offset = along_k ? offset : k_offset, column_offset = along_k ? k_offset : offset;
  const int index = (first_index ^ column_offset % LINE_ELEMENTS) + row_offset * row_vectors * V +
                    column_offset / LINE_ELEMENTS * LINE_ELEMENTS;
  return to_mma_operand(reinterpret_cast<const REAL *>(tile)[index]);
}

// Compute a block's part of out (m, n); operands.cuh describes the arguments.
template <Form form>
__device__ __forceinline__ void compute_product(GEMM_ARGUMENTS) {
  extern __shared__ Vector memory[];
  constexpr bool a_along_k = form != Form::tn, b_along_k = form == Form::nt;
  constexpr int a_row_vectors = (a_along_k ? BK : BM) / V, b_row_vectors = (b_along_k ? BK : BN) / V;
  if (blockIdx.z >= BLOCKS_PER_TILE) return;
  const int top = blockIdx.y * BM, left = blockIdx.x * BN;
  const int a_stride = a_along_k ? k : m, b_stride = b_along_k ? k : n;
  // A tile is copied in vectors if all rows of the matrix are aligned to vectors.
  const bool a_wide = a_stride % V == 0 && is_aligned<Vector>(a), b_wide = b_stride % V == 0 && is_aligned<Vector>(b);
  const int steps = (k - 1) / BK + 1, steps_per_block = (steps - 1) / BLOCKS_PER_TILE + 1;
  const int first_step = min(int(blockIdx.z) * steps_per_block, steps);
  const int step_count = min(steps_per_block, steps - first_step);

  // Start to copy both tiles of step `step` of this block to the buffer `step` % STAGES. After the last step commit
  // empty groups, so that wait_for_groups() always has the same number of pending groups.
  auto load_tiles = [&](int step) {
    if (step < step_count) {
      Vector *a_tile = memory + step % STAGES * STAGE_VECTORS;
      int p = (first_step + step) * BK;
      load<a_along_k ? BM : BK, a_row_vectors, a_along_k>(
          a_tile, a + a_index<form>(top, p, m, k), a_stride, a_along_k ? m - top : k - p, a_along_k ? k - p : m - top,
          a_wide);
      load<b_along_k ? BN : BK, b_row_vectors, b_along_k>(
          a_tile + A_TILE_VECTORS, b + b_index<form>(p, left, n, k), b_stride, b_along_k ? n - left : k - p,
          b_along_k ? k - p : n - left, b_wide);
    }
    commit_copies();
  };

  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int warp_row = warp / WARPS_ALONG_N * WM, warp_column = warp % WARPS_ALONG_N * WN;
  const int a_first_index = first_element_index<a_row_vectors, a_along_k>(warp_row, g, t);
  const int b_first_index = first_element_index<b_row_vectors, b_along_k>(warp_column, g, t);
  REAL sums[WM / 16][WN / 8][4] = {};
#pragma unroll
  for (int step = 0; step < STAGES - 1; ++step) load_tiles(step);
  for (int step = 0; step < step_count; ++step) {
    wait_for_groups<STAGES - 2>();
    // After this barrier the step's tiles are complete, and the previous ones have been read: their buffer is filled
    // next.
    __syncthreads();
    load_tiles(step + STAGES - 1);
    const Vector *a_tile = memory + step % STAGES * STAGE_VECTORS, *b_tile = a_tile + A_TILE_VECTORS;
    // Element h of a lane's fragment lies h % 2 * 8 rows and h / 2 * 4 columns after its first in op(A), h * 4 rows in
    // op(B).
#pragma unroll
    for (int p = 0; p < BK; p += MMA_K) {
      REAL a_fragments[WM / 16][MMA_K / 2], b_fragments[WN / 8][MMA_K / 4];
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int h = 0; h < MMA_K / 2; ++h)
          a_fragments[i][h] =
              element<a_row_vectors, a_along_k>(a_tile, a_first_index, i * 16 + h % 2 * 8, p + h / 2 * 4);
#pragma unroll
      for (int j = 0; j < WN / 8; ++j)
#pragma unroll
        for (int h = 0; h < MMA_K / 4; ++h)
          b_fragments[j][h] = element<b_row_vectors, b_along_k>(b_tile, b_first_index, j * 8, p + h * 4);
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) mma(sums[i][j], a_fragments[i], b_fragments[j]);
    }
  }

  const bool out_wide = n % 2 == 0 && is_aligned<Pair>(out) && is_aligned<Pair>(c);
  // Store elements (i, j) and (i, j + 1) of the block's tile.
  auto store_pair = [&](int i, int j, Pair pair) {
    if (i >= m - top || j >= n - left) return;
    size_t index = size_t(top + i) * n + left + j;
    store(out + index, c ? c + index : c, pair, j + 1 < n - left, out_wide);
  };
  Pair *const partial_sums = reinterpret_cast<Pair *>(memory);
  if (BLOCKS_PER_TILE > 1) __syncthreads();  // the sums overwrite tiles that other warps may be reading
#pragma unroll
  for (int i = 0; i < WM / 16; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int j = 0; j < WN / 8; ++j) {
        const int tile_row = warp_row + i * 16 + h * 8 + g, tile_column = warp_column + j * 8 + t * 2;
        const Pair pair = {sums[i][j][h * 2], sums[i][j][h * 2 + 1]};
        if constexpr (BLOCKS_PER_TILE > 1)
          partial_sums[(tile_row * BN + tile_column) / 2] = pair;
        else
          store_pair(tile_row, tile_column, pair);
      }
  if constexpr (BLOCKS_PER_TILE > 1) {
    cluster_barrier();
    for (int index = blockIdx.z * THREADS + threadIdx.x; index < BM * BN / 2; index += BLOCKS_PER_TILE * THREADS) {
      Pair total = {};
#pragma unroll
      for (int rank = 0; rank < BLOCKS_PER_TILE; ++rank) {
        const Pair part = *map_shared_rank(partial_sums + index, rank);
        total.x += part.x, total.y += part.y;
      }
      store_pair(index * 2 / BN, index * 2 % BN, total);
    }
    cluster_barrier();  // no block exits while its sums are read
  }
}

GEMM_KERNELS(CLUSTER_ATTRIBUTE __launch_bounds__(THREADS, MIN_BLOCKS))
