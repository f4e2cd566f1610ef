// Tiled products without tensor cores: a block computes BM x BN sums in steps of BK along k, each of its THREADS
// threads TM x TN of them. Both operands' tiles are in shared memory, double-buffered: Vector [TILE_VECTORS]. p is an
// index along k.
#pragma once
#include "ptx/async_copy.cuh"
#include "vector.cuh"

constexpr int THREAD_ROWS = BM / TM, THREAD_COLUMNS = BN / TN;  // of a block's threads, along m and n
constexpr int THREADS = THREAD_ROWS * THREAD_COLUMNS;
constexpr int WARPS_ALONG_N = THREAD_COLUMNS < 8 ? 1 : THREAD_COLUMNS / 8;  // of 4 x 8 threads: see ThreadPosition
constexpr int A_ROW = BM / V + 1, B_ROW = BN / V + 1;  // vectors in a row of a tile, padded by one: see load()
constexpr int TILE_VECTORS = 2 * BK * (A_ROW + B_ROW);  // of the tiles in both buffers, 16 bytes each
// A thread needs twice as many registers as its sums, at least MIN_REGISTERS. Launch bounds of as many blocks as then
// fit on a multiprocessor keep the compiler from using more.
constexpr int SUM_REGISTERS = TM * TN * sizeof(REAL) / 4;  // a thread's registers for its sums
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int MIN_REGISTERS = 144;  // the code for these GPUs spills with 128
#else
constexpr int MIN_REGISTERS = 128;
#endif
constexpr int REGISTERS_PER_BLOCK = (THREADS + 31) / 32 * 32 * (SUM_REGISTERS > 64 ? 2 * SUM_REGISTERS : MIN_REGISTERS);
constexpr int MIN_BLOCKS = REGISTERS_PER_BLOCK < 65536 ? 65536 / REGISTERS_PER_BLOCK : 1;

static_assert(BM % TM == 0 && BN % TN == 0, "A thread's elements must divide the block's: BM by TM, BN by TN.");
static_assert(TM % V == 0 && TN % V == 0, "TM and TN must be multiples of 16 bytes: 4 for float32, 2 for float64.");
static_assert(THREAD_COLUMNS < 8 || THREAD_ROWS % 4 == 0 && THREAD_COLUMNS % 8 == 0,
              "A warp is 4 x 8 threads: 4 must divide BM / TM, and 8 BN / TN, if that is not less than 8.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: raise TM or TN, or lower BM or BN.");
static_assert(BK % 8 == 0, "BK must be a multiple of 8.");
static_assert(SUM_REGISTERS <= 128, "A thread's TM x TN sums don't fit in its registers: lower TM or TN.");

__device__ __forceinline__ bool is_aligned(const void *pointer) { return reinterpret_cast<size_t>(pointer) % 16 == 0; }

// to (count) = the first `count`, at least 1, of V sums, plus c (count) unless that is null. A wide store is a single
// access; it requires that `to` and `c` are aligned and count >= V.
__device__ __forceinline__ void store(REAL *to, const REAL *c, Vector sums, int count, bool is_wide) {
  if (is_wide) {
    if (c) {
      Vector addend = *reinterpret_cast<const Vector *>(c);
#pragma unroll
      for (int v = 0; v < V; ++v) sums.value[v] += addend.value[v];
    }
    *reinterpret_cast<Vector *>(to) = sums;
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count) to[v] = c ? sums.value[v] + c[v] : sums.value[v];
  }
}

// Start to copy a tile of `length` elements along m or n and BK along k to tile (BK, length / V + 1): k is the first
// index, so that a thread reads its elements of one k contiguously. `corner` is the tile's first element in a matrix in
// global memory, whose rows are contiguous along k or along m (or n) and `stride` apart. From there the matrix has
// `remaining` elements along m or n and `k_remaining` along k; those beyond are 0. A wide copy requires aligned rows.
template <int length, bool along_k>
__device__ __forceinline__ void load(Vector *tile, const REAL *corner, int stride, int remaining, int k_remaining,
                                     bool is_wide) {
  constexpr int pitch = length + V;  // of the rows of the tile
  REAL *const to = reinterpret_cast<REAL *>(tile);
  if constexpr (along_k) {
    // The matrix is contiguous along k, so the copy transposes: a warp copies 8 elements along k (one or two sectors of
    // memory) of 4 rows. The padding of the tile's rows by one vector puts these into different banks.
    constexpr int rows_at_once = THREADS / 8;
    const int p = threadIdx.x % 8, first_row = threadIdx.x / 8;
    const REAL *from = corner + size_t(first_row) * stride + p;
#pragma unroll
    for (int offset = 0; offset < length; offset += rows_at_once, from += size_t(rows_at_once) * stride)
#pragma unroll
      for (int q = 0; q < BK; q += 8)
        if (length % rows_at_once == 0 || first_row + offset < length)
          copy_async<sizeof(REAL)>(to + (p + q) * pitch + first_row + offset, from + q,
                                   first_row + offset < remaining && p + q < k_remaining);
  } else if (is_wide) {
    constexpr int row_vectors = length / V, rows_at_once = THREADS / row_vectors;
    static_assert(THREADS % row_vectors == 0,
                  "The BM / TM * (BN / TN) threads must copy whole rows of BM and of BN elements, 16 bytes each.");
    const int i = threadIdx.x % row_vectors * V, first_row = threadIdx.x / row_vectors;
    const REAL *from = corner + size_t(first_row) * stride + i;
#pragma unroll
    for (int offset = 0; offset < BK; offset += rows_at_once, from += size_t(rows_at_once) * stride)
      if (BK % rows_at_once == 0 || first_row + offset < BK)
        copy_async<16>(to + (first_row + offset) * pitch + i, from, i < remaining && first_row + offset < k_remaining);
  } else {
#pragma unroll 1
    for (unsigned index = threadIdx.x; index < length * BK; index += THREADS) {
      int p = index / length, i = index % length;
      copy_async<sizeof(REAL)>(to + p * pitch + i, corner + size_t(p) * stride + i, i < remaining && p < k_remaining);
    }
  }
}

// The position of a thread's sums within its block's tile.
struct ThreadPosition {
  int x, y;
  __device__ __forceinline__ ThreadPosition() {
    // A warp is 4 x 8 threads whose x and y alternate in the bits of the lane: neighbouring lanes then read the same
    // vector of a tile, and the hardware serves 16 lanes at once instead of 8. The lanes, a row for each y:
    //    0  1  4  5 16 17 20 21
    //    2  3  6  7 18 19 22 23
    //    8  9 12 13 24 25 28 29
    //   10 11 14 15 26 27 30 31
    if (THREAD_COLUMNS < 8) {
      x = threadIdx.x % THREAD_COLUMNS, y = threadIdx.x / THREAD_COLUMNS;
    } else {
      const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
      x = warp % WARPS_ALONG_N * 8 + (lane & 1 | lane >> 1 & 2 | lane >> 2 & 4);
      y = warp / WARPS_ALONG_N * 4 + (lane >> 1 & 1 | lane >> 2 & 2);
    }
  }
  // The index, within the block's tile, of the thread's row i, and of the first column of its vector j.
  __device__ __forceinline__ int row(int i) const { return (i / V * THREAD_ROWS + y) * V + i % V; }
  __device__ __forceinline__ int column(int j) const { return (j * THREAD_COLUMNS + x) * V; }
};

// Add the product of a step's tiles to a thread's sums (TM, TN). a_tiles (2, BK, A_ROW) and b_tiles (2, BK, B_ROW) are
// buffers of vectors.
__device__ __forceinline__ void multiply_add(REAL (&sums)[TM][TN], const Vector *a_tiles, const Vector *b_tiles,
                                             int step, const ThreadPosition &position) {
  const Vector *a_tile = a_tiles + step % 2 * BK * A_ROW + position.y;
  const Vector *b_tile = b_tiles + step % 2 * BK * B_ROW + position.x;
#pragma unroll
  for (int p = 0; p < BK; ++p) {
    Vector a_vectors[TM / V], b_vectors[TN / V];
#pragma unroll
    for (int i = 0; i < TM / V; ++i) a_vectors[i] = a_tile[p * A_ROW + i * THREAD_ROWS];
#pragma unroll
    for (int j = 0; j < TN / V; ++j) b_vectors[j] = b_tile[p * B_ROW + j * THREAD_COLUMNS];
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int index = 0; index < TN; ++index) {
        // In serpentine order consecutive operations share a factor, also at a row's end. The hardware's reuse cache
        // holds that factor; reading three float64 operands from registers would take a cycle more.
        const int j = i % 2 ? TN - 1 - index : index;
        sums[i][j] += a_vectors[i / V].value[i % V] * b_vectors[j / V].value[j % V];
      }
  }
}
