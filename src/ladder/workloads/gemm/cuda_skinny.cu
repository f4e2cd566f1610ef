// GEMM with a short side: few rows or columns of the result, or few terms of its sums. The long operand is read once
// (or the result written once), and what belongs to the short side stays in registers or shared memory.
//
// `gemm_across` and `gemm_along` compute a result of `length` x `side` elements, where `side` is short, from a matrix
// of `length` x `terms` that lies across the terms (element (l, p) at p * stride + l) or along them (l * stride + p).
// Element (s, p) of the short operand is at s * narrow_side + p * narrow_term, element (l, s) of the result at
// l * out_length + s * out_side. gridDim.y blocks share the terms, `chunk` of them each. If there are several, each
// writes a result of its own, one behind the other, which `add` adds up in a fixed order. A side longer than SHORT is
// shared by neighbouring blocks, its `slices`; one reads the matrix from memory, the others find it in the L2 cache.
// `gemm_outer` computes out (m, n) of at most SHORT terms.
//
// Launch: block THREADS = 256; `add` block (32, 8), grid ceil(elements / 32), and shared memory of an element a thread.
//   gemm_across  grid (ceil(length / WIDTH) * slices, ceil(terms / chunk)), shared memory ACROSS_TERMS * ROW elements
//   gemm_along   grid (ceil(length / rows) * slices, as above), SHORT * ALONG_ROW; chunk is at most ALONG_TERMS
//   gemm_outer   grid (ceil(n / WIDTH), ceil(m / rows)), OUTER_ROWS * ROW
#include "vector.cuh"
#include "warp.cuh"

static_assert(SHORT % 4 == 0 && SHORT >= 4 && SHORT <= 32, "short must be a multiple of 4, and at most 32");
constexpr int WARPS = 8, THREADS = WARPS * WARP;
// Elements of the long side that a thread computes with at once; more sums of 8 bytes don't fit in the registers of two
// blocks per multiprocessor.
constexpr int VALUES = SHORT * sizeof(REAL) > 64 && sizeof(REAL) == 8 ? 2 : 4;
constexpr int WIDTH = VALUES * WARP;        // the same of a warp
constexpr int ROW = SHORT + V;              // of the short operand in shared memory, padded against bank conflicts
// Terms in shared memory, whole steps of every kernel.
constexpr int ACROSS_TERMS = 32768 / sizeof(REAL) / SHORT / 128 * 128, ALONG_TERMS = 2 * ACROSS_TERMS;
constexpr int ALONG_ROW = ALONG_TERMS + 1;  // of these terms, padded too
constexpr int SLICE = 4;                    // elements of the short side whose sums the warps add up at once
constexpr int OUTER_ROWS = 128;             // of A in shared memory
constexpr int MIN_BLOCKS = SHORT <= 16 ? 2 : 1;
static_assert(ACROSS_TERMS % (WARPS * UNROLL) == 0 && ALONG_TERMS % (WARP * UNROLL) == 0,
              "unroll must be a power of two, at most 8: whole steps fill the shared memory");
static_assert(WARPS * SLICE * WIDTH <= ACROSS_TERMS * ROW, "the sums of the warps don't fit in the tile's memory");

extern __shared__ Vector memory[];

// Fill shared memory with `count` terms of the short operand and with zeros for the other ones up to `padded`, and for
// the rest of SHORT. Element (s, p) goes to s * to_side + p * to_term.
__device__ __forceinline__ void load_narrow(REAL *to, int to_side, int to_term, const REAL *from, long long from_side,
                                            long long from_term, int side, int count, int padded) {
  for (int e = threadIdx.x; e < SHORT * padded; e += THREADS) {
    // Neighbouring threads read neighbouring elements.
    const int s = from_term == 1 ? e / padded : e % SHORT, p = from_term == 1 ? e % padded : e / SHORT;
    to[s * to_side + p * to_term] = s < side && p < count ? from[s * from_side + p * from_term] : REAL(0);
  }
}

__device__ __forceinline__ int round_up(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// The arguments of the first two kernels, as described above; c may be null, for no addend.
#define SKINNY_ARGUMENTS                                                                                             \
  const REAL *__restrict__ matrix, long long stride, const REAL *__restrict__ narrow, long long narrow_side,         \
      long long narrow_term, const REAL *c, REAL *out, long long out_length, long long out_side, int length, int side, \
      int terms, int chunk

// A block's parts of both sides and of the terms, and its result.
struct Block {
  const int slices, first_side, side, first_term, count;
  const long long group;  // its number along the long side
  const REAL *const c;
  REAL *const out;
  const long long out_length, out_side;
  __device__ __forceinline__ Block(const REAL *c, REAL *out, long long out_length, long long out_side, int length,
                                   int side, int terms, int chunk)
      : slices((side - 1) / SHORT + 1), first_side(blockIdx.x % slices * SHORT), side(min(side - first_side, SHORT)),
        first_term(blockIdx.y * chunk), count(min(chunk, terms - first_term)), group(blockIdx.x / slices), c(c),
        out(out + (long long)blockIdx.y * length * side), out_length(out_length), out_side(out_side) {}
  // Store element (l, s) of the block's part of the result.
  __device__ __forceinline__ void store(long long l, int s, REAL sum) const {
    const long long to = l * out_length + (first_side + s) * out_side;
    out[to] = c ? sum + c[to] : sum;
  }
};

// A block computes WIDTH elements of the long side; its warps share the terms.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm_across(SKINNY_ARGUMENTS) {
  REAL *const tile = memory->value;
  const Block block(c, out, out_length, out_side, length, side, terms, chunk);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const long long first = block.group * WIDTH;
  const int left = min((long long)WIDTH, length - first) - lane;  // elements from this lane's first one on
  // Of the lane's first element and the warp's next term; it goes on where a tile begins, which has whole steps.
  const REAL *elements = matrix + (block.first_term + warp * UNROLL) * stride + first + lane;
  REAL sums[SHORT][VALUES] = {};
  for (int begin = 0; begin < block.count; begin += ACROSS_TERMS) {
    const int term = block.first_term + begin, count = min(ACROSS_TERMS, block.count - begin);
    __syncthreads();  // the tile before has been used
    load_narrow(tile, 1, ROW, narrow + block.first_side * narrow_side + term * narrow_term, narrow_side, narrow_term,
                block.side, count, round_up(count, WARPS * UNROLL));
    __syncthreads();
    for (int p = warp * UNROLL; p < count; p += WARPS * UNROLL, elements += WARPS * UNROLL * stride) {
      REAL values[UNROLL][VALUES];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int v = 0; v < VALUES; ++v)
          values[u][v] = p + u < count && v * WARP < left ? __ldcs(elements + u * stride + v * WARP) : REAL(0);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int s = 0; s < SHORT; s += V) {
          const Vector factors = *reinterpret_cast<const Vector *>(tile + (p + u) * ROW + s);
#pragma unroll
          for (int i = 0; i < V; ++i)
#pragma unroll
            for (int v = 0; v < VALUES; ++v) sums[s + i][v] += values[u][v] * factors.value[i];
        }
    }
  }
#pragma unroll
  for (int slice = 0; slice < SHORT; slice += SLICE) {
    __syncthreads();  // the memory is free
#pragma unroll
    for (int s = 0; s < SLICE; ++s)
#pragma unroll
      for (int v = 0; v < VALUES; ++v) tile[(warp * SLICE + s) * WIDTH + v * WARP + lane] = sums[slice + s][v];
    __syncthreads();
    for (int e = threadIdx.x; e < SLICE * WIDTH; e += THREADS) {
      const long long l = first + e % WIDTH;
      const int s = slice + e / WIDTH;
      REAL sum = 0;
#pragma unroll
      for (int w = 0; w < WARPS; ++w) sum += tile[w * SLICE * WIDTH + e];
      if (l < length && s < block.side) block.store(l, s, sum);
    }
  }
}

constexpr int COUNT = VALUES * SHORT;                                       // sums of a lane
constexpr int GROUP = (COUNT & -COUNT) < WARP ? COUNT & -COUNT : WARP;  // the largest power of two that divides them

// Add up each of COUNT sums over the lanes of a warp, in a fixed order: of each group of GROUP sums, lane i gets the
// one whose number is i % GROUP, as the group's first. In each step a lane sends its partner half of a group's
// remaining sums and keeps the other half: HALF of them in this step, half as many in the next, and so on down to one.
template <int HALF = GROUP / 2>
__device__ __forceinline__ void add_up_lanes(REAL (&sums)[COUNT], int lane) {
  const bool is_upper = lane & HALF;
#pragma unroll
  for (int group = 0; group < COUNT; group += GROUP)
#pragma unroll
    for (int i = group; i < group + HALF; ++i) {
      const REAL kept = is_upper ? sums[i + HALF] : sums[i], sent = is_upper ? sums[i] : sums[i + HALF];
      sums[i] = kept + __shfl_xor_sync(~0u, sent, HALF);
    }
  if constexpr (HALF > 1) {
    add_up_lanes<HALF / 2>(sums, lane);
  } else {
#pragma unroll
    for (int group = 0; group < COUNT; group += GROUP)
#pragma unroll
      for (int distance = GROUP; distance < WARP; distance *= 2)
        sums[group] += __shfl_xor_sync(~0u, sums[group], distance);
  }
}

// A block computes `rows` elements of the long side, a warp VALUES of them at once, whose terms its lanes share.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm_along(SKINNY_ARGUMENTS, int rows) {
  REAL *const tile = memory->value;
  const Block block(c, out, out_length, out_side, length, side, terms, chunk);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  load_narrow(tile, ALONG_ROW, 1, narrow + block.first_side * narrow_side + block.first_term * narrow_term, narrow_side,
              narrow_term, block.side, block.count, round_up(block.count, WARP * UNROLL));
  __syncthreads();
  const long long first = block.group * rows, end = min(first + rows, (long long)length);
  for (long long row = first + warp * VALUES; row < end; row += WARPS * VALUES) {
    const REAL *const elements = matrix + row * stride + block.first_term + lane;
    REAL sums[COUNT] = {};
    for (int p = 0; p < block.count; p += WARP * UNROLL) {
      REAL values[UNROLL][VALUES];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int v = 0; v < VALUES; ++v)
          values[u][v] = p + u * WARP + lane < block.count && row + v < end
                             ? __ldcs(elements + v * stride + p + u * WARP)
                             : REAL(0);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int s = 0; s < SHORT; ++s) {
          const REAL factor = tile[s * ALONG_ROW + p + u * WARP + lane];
#pragma unroll
          for (int v = 0; v < VALUES; ++v) sums[v * SHORT + s] += values[u][v] * factor;
        }
    }
    add_up_lanes(sums, lane);
#pragma unroll
    for (int group = 0; group < COUNT; group += GROUP) {
      const int v = (group + lane % GROUP) / SHORT, s = (group + lane % GROUP) % SHORT;
      if (lane < GROUP && row + v < end && s < block.side) block.store(row + v, s, sums[group]);
    }
  }
}

// Element (i, p) of A is at i * a_row + p * a_term, element (p, j) of B at p * b_term + j * b_column. A block computes
// `rows` rows of WIDTH columns: its threads keep their columns of B in registers, and its warps share the rows.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_outer(const REAL *__restrict__ a, long long a_row, long long a_term, const REAL *__restrict__ b,
               long long b_term, long long b_column, const REAL *c, REAL *out, int m, int n, int k, int rows) {
  REAL *const tile = memory->value;
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const long long column = (long long)blockIdx.x * WIDTH + lane;
  REAL columns[SHORT][VALUES];
#pragma unroll
  for (int p = 0; p < SHORT; ++p)
#pragma unroll
    for (int v = 0; v < VALUES; ++v) {
      const long long j = column + v * WARP;
      columns[p][v] = p < k && j < n ? b[p * b_term + j * b_column] : REAL(0);
    }
  const int end = min((long long)(blockIdx.y + 1) * rows, (long long)m);
  for (int begin = blockIdx.y * rows; begin < end; begin += OUTER_ROWS) {
    const int count = min(OUTER_ROWS, end - begin);
    __syncthreads();  // the rows before have been used
    for (int e = threadIdx.x; e < SHORT * OUTER_ROWS; e += THREADS) {
      const int i = a_term == 1 ? e / SHORT : e % OUTER_ROWS, p = a_term == 1 ? e % SHORT : e / OUTER_ROWS;
      tile[i * ROW + p] = i < count && p < k ? a[(begin + i) * a_row + p * a_term] : REAL(0);
    }
    __syncthreads();
    for (int i = warp; i < count; i += WARPS) {
      REAL sums[VALUES] = {};
#pragma unroll
      for (int p = 0; p < SHORT; p += V) {
        const Vector factors = *reinterpret_cast<const Vector *>(tile + i * ROW + p);
#pragma unroll
        for (int w = 0; w < V; ++w)
#pragma unroll
          for (int v = 0; v < VALUES; ++v) sums[v] += factors.value[w] * columns[p + w][v];
      }
      const long long to = (long long)(begin + i) * n + column;
#pragma unroll
      for (int v = 0; v < VALUES; ++v)
        if (column + v * WARP < n) out[to + v * WARP] = c ? sums[v] + c[to + v * WARP] : sums[v];
    }
  }
}

// out (elements) = the sum of `chunks` arrays, one behind the other, and of c, which may be null.
extern "C" __global__ void __launch_bounds__(THREADS)
    add(const REAL *__restrict__ partial, const REAL *c, REAL *out, long long elements, int chunks) {
  REAL *const parts = memory->value;
  const long long e = (long long)blockIdx.x * WARP + threadIdx.x;
  REAL sum = 0;
  if (e < elements)
#pragma unroll 4
    for (int chunk = threadIdx.y; chunk < chunks; chunk += WARPS) sum += partial[chunk * elements + e];
  parts[threadIdx.y * WARP + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y || e >= elements) return;
#pragma unroll
  for (int warp = 1; warp < WARPS; ++warp) sum += parts[warp * WARP + threadIdx.x];
  out[e] = c ? sum + c[e] : sum;
}
