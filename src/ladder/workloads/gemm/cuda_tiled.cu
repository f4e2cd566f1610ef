// GEMM on the ordinary floating-point units (no tensor cores): tiles in shared memory, smaller tiles in registers.
//
// A block computes BM x BN elements of out, in steps of BK along k: it copies a tile of op(A) and one of op(B) to
// shared memory, asynchronously and into the one of two buffers that it isn't computing from. A thread keeps TM x TN
// sums.
// With SPLITK > 1 that many blocks, a cluster, share one BM x BN tile: each sums over its part of k, and they add up
// their sums through one another's shared memory, always in the same order.
//
// Launch: grid (ceil(n / BN), ceil(m / BM), SPLITK), block BM / TM * (BN / TN), no dynamic shared memory.
// The grid's y is at most 65535. SPLITK may be left out: 1.

#include "staged.cuh"

constexpr int ROWS = BM / TM, COLUMNS = BN / TN;   // threads along m and n
constexpr int THREADS = ROWS * COLUMNS;
constexpr int A_ROW = BM / V + 1, B_ROW = BN / V + 1;  // vectors in a row of a tile: one more than needed, see load()
constexpr int TILES = 2 * BK * (A_ROW + B_ROW);        // vectors in both buffers
constexpr int PARTIAL = SHARERS > 1 ? BM * BN / V : 0;  // vectors of sums that a cluster exchanges
constexpr int MEMORY = TILES > PARTIAL ? TILES : PARTIAL;
// Registers for a thread: its sums and as many again, at least LEAST. Telling how many blocks then fit on a
// multiprocessor keeps the compiler from using more.
constexpr int SUMS = TM * TN * sizeof(REAL) / 4;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int LEAST = 144;  // the code for these GPUs spills with 128
#else
constexpr int LEAST = 128;
#endif
constexpr int REGISTERS = THREADS * (SUMS > 64 ? 2 * SUMS : LEAST);
constexpr int FITTING = REGISTERS < 65536 ? 65536 / REGISTERS : 1;

static_assert(BM % TM == 0 && BN % TN == 0, "A thread's elements must divide the block's: BM by TM, BN by TN.");
static_assert(TM % V == 0 && TN % V == 0, "TM and TN must be multiples of 16 bytes: 4 for float32, 2 for float64.");
static_assert(ROWS % 4 == 0 && COLUMNS % 8 == 0, "A warp is 4 x 8 threads: 4 must divide BM / TM, and 8 BN / TN.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: raise TM or TN, or lower BM or BN.");
static_assert(THREADS % (BM / V) == 0 && THREADS % (BN / V) == 0,
              "The BM / TM * (BN / TN) threads must copy whole rows of BM and of BN elements, 16 bytes each.");
static_assert(BK % 8 == 0, "BK must be a multiple of 8.");
static_assert(SUMS <= 128, "A thread's TM x TN sums don't fit in its registers: lower TM or TN.");
static_assert(MEMORY <= 3072, "The tiles need more than 48 KiB of shared memory: lower BM, BN or BK.");
__device__ __forceinline__ bool aligned(const void *pointer) { return reinterpret_cast<size_t>(pointer) % 16 == 0; }

// Write the first `count` (at least 1) of V sums, with the addend. A wide store needs `to` and `c` aligned and all V.
__device__ __forceinline__ void store(REAL *to, const REAL *c, Vector sums, int count, bool wide) {
  if (wide) {
    if (c) {
      Vector addend = *reinterpret_cast<const Vector *>(c);
#pragma unroll
      for (int v = 0; v < V; ++v) sums.of[v] += addend.of[v];
    }
    *reinterpret_cast<Vector *>(to) = sums;
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count) to[v] = c ? sums.of[v] + c[v] : sums.of[v];
  }
}

// Copy a tile, `length` (along m or n) x BK, whose corner in device memory is `corner`; it is kept with k as its first
// index, so that a thread reads its elements of one k side by side. Beyond the matrix, `left` and `k_left` away, it is
// 0.
template <int length, bool along_k>
__device__ __forceinline__ void load(Vector *tile, const REAL *corner, int stride, int left, int k_left, bool wide) {
  constexpr int row = length + V;
  REAL *const to = reinterpret_cast<REAL *>(tile);
  if constexpr (along_k) {
    // Consecutive in k, so transposed on the way: a warp copies 8 of k (a whole sector of memory, or two) for 4 rows.
    // A tile's row has one vector more than it needs, so that these are in different banks.
    constexpr int step = THREADS / 8;
    const int p = threadIdx.x % 8, first = threadIdx.x / 8;
    const REAL *from = corner + size_t(first) * stride + p;
#pragma unroll
    for (int done = 0; done < length; done += step, from += size_t(step) * stride)
#pragma unroll
      for (int q = 0; q < BK; q += 8)
        if (length % step == 0 || first + done < length)
          copy<sizeof(REAL)>(to + (p + q) * row + first + done, from + q, first + done < left && p + q < k_left);
  } else if (wide) {
    constexpr int width = length / V, step = THREADS / width;
    const int i = threadIdx.x % width * V, first = threadIdx.x / width;
    const REAL *from = corner + size_t(first) * stride + i;
#pragma unroll
    for (int done = 0; done < BK; done += step, from += size_t(step) * stride)
      if (BK % step == 0 || first + done < BK)
        copy<16>(to + (first + done) * row + i, from, i < left && first + done < k_left);
  } else {
#pragma unroll 1
    for (unsigned e = threadIdx.x; e < length * BK; e += THREADS) {
      int p = e / length, i = e % length;
      copy<sizeof(REAL)>(to + p * row + i, corner + size_t(p) * stride + i, i < left && p < k_left);
    }
  }
}

template <Form form>
__device__ __forceinline__ void product(GEMM_ARGUMENTS) {
  __shared__ Vector memory[MEMORY];
  Vector *const a_tiles = memory, *const b_tiles = memory + 2 * BK * A_ROW;
  if (blockIdx.z >= SHARERS) return;
  const int row = blockIdx.y * BM, column = blockIdx.x * BN;
  // A tile is read in vectors if every row of the matrix begins with a whole one.
  const bool a_wide = m % V == 0 && aligned(a), b_wide = n % V == 0 && aligned(b);
  const int tiles = (k - 1) / BK + 1, share = (tiles - 1) / SHARERS + 1;
  const int first = min(int(blockIdx.z) * share, tiles), last = min(first + share, tiles);

  auto load_tiles = [&](int tile) {
    int p = tile * BK;
    load<BM, form != Form::tn>(a_tiles + tile % 2 * BK * A_ROW, a + a_index<form>(row, p, m, k), form == Form::tn ? m : k, m - row,
                         k - p, a_wide);
    load<BN, form == Form::nt>(b_tiles + tile % 2 * BK * B_ROW, b + b_index<form>(p, column, n, k), form == Form::nt ? k : n,
                         n - column, k - p, b_wide);
  };

  // A warp is 4 x 8 threads whose x and y take turns in the bits of the lane: neighbouring lanes then read the same
  // vector of a tile, and the hardware serves 16 lanes at once where it would otherwise serve 8.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int x = warp % (COLUMNS / 8) * 8 + (lane & 1 | lane >> 1 & 2 | lane >> 2 & 4);
  const int y = warp / (COLUMNS / 8) * 4 + (lane >> 1 & 1 | lane >> 2 & 2);

  REAL sums[TM][TN] = {};
  if (first < last) load_tiles(first);
  for (int tile = first; tile < last; ++tile) {
    wait_for_copies();
    // After this barrier the tile is whole, and nobody reads the other buffer any more.
    __syncthreads();
    if (tile + 1 < last) load_tiles(tile + 1);
    const Vector *a_tile = a_tiles + tile % 2 * BK * A_ROW + y, *b_tile = b_tiles + tile % 2 * BK * B_ROW + x;
#pragma unroll
    for (int p = 0; p < BK; ++p) {
      Vector of_a[TM / V], of_b[TN / V];
#pragma unroll
      for (int i = 0; i < TM / V; ++i) of_a[i] = a_tile[p * A_ROW + i * ROWS];
#pragma unroll
      for (int j = 0; j < TN / V; ++j) of_b[j] = b_tile[p * B_ROW + j * COLUMNS];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int step = 0; step < TN; ++step) {
          // There and back, so that an operation has a factor in common with the one before it, also at a row's end:
          // the hardware keeps it, where three operands of float64 from the registers would take a cycle more.
          const int j = i % 2 ? TN - 1 - step : step;
          sums[i][j] += of_a[i / V].of[i % V] * of_b[j / V].of[j % V];
        }
    }
  }

  const bool out_wide = n % V == 0 && aligned(out) && aligned(c);
  // Elements (i, j) to (i, j + V - 1) of the block's tile go to the result.
  auto finish = [&](int i, int j, Vector vector) {
    if (i >= m - row || j >= n - column) return;
    size_t at = size_t(row + i) * n + column + j;
    store(out + at, c ? c + at : c, vector, n - column - j, out_wide);
  };
  if (SHARERS > 1) __syncthreads();  // the sums take the place of tiles that others may be reading
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN / V; ++j) {
      const int at_i = (i / V * ROWS + y) * V + i % V, at_j = (j * COLUMNS + x) * V;
      Vector vector;
#pragma unroll
      for (int v = 0; v < V; ++v) vector.of[v] = sums[i][j * V + v];
      if constexpr (SHARERS > 1)
        memory[(at_i * BN + at_j) / V] = vector;
      else
        finish(at_i, at_j, vector);
    }
  if constexpr (SHARERS > 1) {
    cluster_barrier();
    for (int e = blockIdx.z * THREADS + threadIdx.x; e < PARTIAL; e += SHARERS * THREADS) {
      Vector total = {};
#pragma unroll
      for (int rank = 0; rank < SHARERS; ++rank) {
        Vector partial = *theirs(memory + e, rank);
#pragma unroll
        for (int v = 0; v < V; ++v) total.of[v] += partial.of[v];
      }
      finish(e * V / BN, e * V % BN, total);
    }
    cluster_barrier();  // nobody leaves while its sums are being read
  }
}

GEMM_KERNELS(CLUSTER __launch_bounds__(THREADS, FITTING))
