// GEMM with a short side: few rows or columns of the result, or few terms of its sums. The long operand is read once
// (or the result written once), and what belongs to the short side stays in registers or shared memory.
//
// `gemm_across` and `gemm_along` compute a result of `long_side` x `short_side` elements from a long operand of
// `long_side` x `terms` that lies across the terms (element (l, p) at p * stride + l) or along them (l * stride + p).
// Element (s, p) of the short operand is at s * short_side_stride + p * short_term_stride, element (l, s) of the result
// at l * out_long_stride + s * out_short_stride. gridDim.y blocks share the terms, `terms_per_block` of them each. If
// there are several, each writes a result of its own, one behind the other, which `add` adds up in a fixed order. A
// short side longer than SHORT is shared by neighbouring blocks, its `slices`; one reads the long operand from memory,
// the others find it in the L2 cache. `gemm_outer` computes out (m, n) of at most SHORT terms.
//
// Launch: block THREADS = 256; `add` block (32, 8), grid ceil(elements / 32), and shared memory of an element a thread.
//   gemm_across  grid (ceil(long_side / WARP_ELEMENTS) * slices, ceil(terms / terms_per_block)), shared memory
//                ACROSS_TERMS * PITCH elements
//   gemm_along   grid (ceil(long_side / rows) * slices, as above), SHORT * ALONG_PITCH; terms_per_block is at most
//                ALONG_TERMS
//   gemm_outer   grid (ceil(n / WARP_ELEMENTS), ceil(m / rows)), OUTER_ROWS * PITCH
#include "vector.cuh"
#include "warp.cuh"

static_assert(SHORT % 4 == 0 && SHORT >= 4 && SHORT <= 32, "short must be a multiple of 4, and at most 32");
constexpr int WARPS = 8, THREADS = WARPS * WARP;
// Elements of the long side that a lane computes with at once; more sums of 8 bytes don't fit in the registers of two
// blocks per multiprocessor.
constexpr int LANE_ELEMENTS = SHORT * sizeof(REAL) > 64 && sizeof(REAL) == 8 ? 2 : 4;
constexpr int WARP_ELEMENTS = LANE_ELEMENTS * WARP;
constexpr int PITCH = SHORT + V;  // of the short operand in shared memory, padded against bank conflicts
// Terms in shared memory, whole steps of every kernel.
constexpr int ACROSS_TERMS = 32768 / sizeof(REAL) / SHORT / 128 * 128, ALONG_TERMS = 2 * ACROSS_TERMS;
constexpr int ALONG_PITCH = ALONG_TERMS + 1;  // of these terms, padded too
constexpr int REDUCTION_SIZE = 4;             // elements of the short side whose sums the warps add up at once
constexpr int OUTER_ROWS = 128;               // of A in shared memory
constexpr int MIN_BLOCKS = SHORT <= 16 ? 2 : 1;
static_assert(ACROSS_TERMS % (WARPS * UNROLL) == 0 && ALONG_TERMS % (WARP * UNROLL) == 0,
              "unroll must be a power of two, at most 8: whole steps fill the shared memory");
static_assert(WARPS * REDUCTION_SIZE * WARP_ELEMENTS <= ACROSS_TERMS * PITCH,
              "the sums of the warps don't fit in the tile's memory");

extern __shared__ Vector memory[];

// Fill shared memory with `terms` terms of the short operand, with zeros for the other ones up to `padded_terms`, and
// with zeros for the rest of SHORT. Element (s, p) goes to s * to_side_stride + p * to_term_stride.
__device__ __forceinline__ void load_short_operand(REAL *to, int to_side_stride, int to_term_stride, const REAL *from,
                                                   long long side_stride, long long term_stride, int short_side,
                                                   int terms, int padded_terms) {
  for (int e = threadIdx.x; e < SHORT * padded_terms; e += THREADS) {
    // Neighbouring threads read neighbouring elements.
    const int s = term_stride == 1 ? e / padded_terms : e % SHORT, p = term_stride == 1 ? e % padded_terms : e / SHORT;
    to[s * to_side_stride + p * to_term_stride] =
        s < short_side && p < terms ? from[s * side_stride + p * term_stride] : REAL(0);
  }
}

__device__ __forceinline__ int round_up(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// The arguments of the first two kernels, as described above; c may be null, for no addend.
#define SKINNY_ARGUMENTS                                                                                              \
  const REAL *__restrict__ long_operand, long long stride, const REAL *__restrict__ short_operand,                    \
      long long short_side_stride, long long short_term_stride, const REAL *c, REAL *out, long long out_long_stride,  \
      long long out_short_stride, int long_side, int short_side, int terms, int terms_per_block

// A block's parts of both sides and of the terms, and its result.
struct Block {
  const int slices, first_short, short_count, first_term, term_count;
  const long long position;  // along the long side, in blocks
  const REAL *const c;
  REAL *const out;
  const long long out_long_stride, out_short_stride;
  __device__ __forceinline__ Block(const REAL *c, REAL *out, long long out_long_stride, long long out_short_stride,
                                   int long_side, int short_side, int terms, int terms_per_block)
      : slices((short_side - 1) / SHORT + 1), first_short(blockIdx.x % slices * SHORT),
        short_count(min(short_side - first_short, SHORT)), first_term(blockIdx.y * terms_per_block),
        term_count(min(terms_per_block, terms - first_term)), position(blockIdx.x / slices), c(c),
        out(out + (long long)blockIdx.y * long_side * short_side), out_long_stride(out_long_stride),
        out_short_stride(out_short_stride) {}
  // Store element (l, s) of the block's part of the result.
  __device__ __forceinline__ void store(long long l, int s, REAL sum) const {
    const long long index = l * out_long_stride + (first_short + s) * out_short_stride;
    out[index] = c ? sum + c[index] : sum;
  }
};

// A block computes WARP_ELEMENTS elements of the long side; its warps share the terms.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm_across(SKINNY_ARGUMENTS) {
  REAL *const tile = memory->value;
  const Block block(c, out, out_long_stride, out_short_stride, long_side, short_side, terms, terms_per_block);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const long long first = block.position * WARP_ELEMENTS;
  const int remaining = min((long long)WARP_ELEMENTS, long_side - first) - lane;  // elements from the lane's first on
  // Points to the lane's first element of the warp's next term. Tiles have whole steps, so that it is never reset.
  const REAL *elements = long_operand + (block.first_term + warp * UNROLL) * stride + first + lane;
  REAL sums[SHORT][LANE_ELEMENTS] = {};
  for (int begin = 0; begin < block.term_count; begin += ACROSS_TERMS) {
    const int term = block.first_term + begin, term_count = min(ACROSS_TERMS, block.term_count - begin);
    __syncthreads();  // the tile before has been used
    load_short_operand(
        tile, 1, PITCH, short_operand + block.first_short * short_side_stride + term * short_term_stride,
        short_side_stride, short_term_stride, block.short_count, term_count, round_up(term_count, WARPS * UNROLL));
    __syncthreads();
    for (int p = warp * UNROLL; p < term_count; p += WARPS * UNROLL, elements += WARPS * UNROLL * stride) {
      REAL values[UNROLL][LANE_ELEMENTS];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int v = 0; v < LANE_ELEMENTS; ++v)
          values[u][v] =
              p + u < term_count && v * WARP < remaining ? __ldcs(elements + u * stride + v * WARP) : REAL(0);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int s = 0; s < SHORT; s += V) {
          const Vector factors = *reinterpret_cast<const Vector *>(tile + (p + u) * PITCH + s);
#pragma unroll
          for (int i = 0; i < V; ++i)
#pragma unroll
            for (int v = 0; v < LANE_ELEMENTS; ++v) sums[s + i][v] += values[u][v] * factors.value[i];
        }
    }
  }
#pragma unroll
  for (int first_s = 0; first_s < SHORT; first_s += REDUCTION_SIZE) {
    __syncthreads();  // the memory is free
#pragma unroll
    for (int s = 0; s < REDUCTION_SIZE; ++s)
#pragma unroll
      for (int v = 0; v < LANE_ELEMENTS; ++v)
        tile[(warp * REDUCTION_SIZE + s) * WARP_ELEMENTS + v * WARP + lane] = sums[first_s + s][v];
    __syncthreads();
    for (int e = threadIdx.x; e < REDUCTION_SIZE * WARP_ELEMENTS; e += THREADS) {
      const long long l = first + e % WARP_ELEMENTS;
      const int s = first_s + e / WARP_ELEMENTS;
      REAL sum = 0;
#pragma unroll
      for (int w = 0; w < WARPS; ++w) sum += tile[w * REDUCTION_SIZE * WARP_ELEMENTS + e];
      if (l < long_side && s < block.short_count) block.store(l, s, sum);
    }
  }
}

constexpr int LANE_SUMS = LANE_ELEMENTS * SHORT;
// The largest power of two, at most WARP, that divides LANE_SUMS.
constexpr int GROUP_SIZE = (LANE_SUMS & -LANE_SUMS) < WARP ? LANE_SUMS & -LANE_SUMS : WARP;

// Add up each of LANE_SUMS sums over the lanes of a warp, in a fixed order: of each group of GROUP_SIZE sums, lane i
// gets the one whose number is i % GROUP_SIZE, as the group's first. In each step a lane sends its partner half of a
// group's remaining sums and keeps the other half: HALF of them in this step, half as many in the next, and so on down
// to one.
template <int HALF = GROUP_SIZE / 2>
__device__ __forceinline__ void add_up_lanes(REAL (&sums)[LANE_SUMS], int lane) {
  const bool is_upper = lane & HALF;
#pragma unroll
  for (int group = 0; group < LANE_SUMS; group += GROUP_SIZE)
#pragma unroll
    for (int i = group; i < group + HALF; ++i) {
      const REAL kept_sum = is_upper ? sums[i + HALF] : sums[i], sent_sum = is_upper ? sums[i] : sums[i + HALF];
      sums[i] = kept_sum + __shfl_xor_sync(~0u, sent_sum, HALF);
    }
  if constexpr (HALF > 1) {
    add_up_lanes<HALF / 2>(sums, lane);
  } else {
#pragma unroll
    for (int group = 0; group < LANE_SUMS; group += GROUP_SIZE)
#pragma unroll
      for (int distance = GROUP_SIZE; distance < WARP; distance *= 2)
        sums[group] += __shfl_xor_sync(~0u, sums[group], distance);
  }
}

// A block computes `rows` elements of the long side, a warp LANE_ELEMENTS of them at once, whose terms its lanes share.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm_along(SKINNY_ARGUMENTS, int rows) {
  REAL *const tile = memory->value;
  const Block block(c, out, out_long_stride, out_short_stride, long_side, short_side, terms, terms_per_block);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  load_short_operand(
      tile, ALONG_PITCH, 1,
      short_operand + block.first_short * short_side_stride + block.first_term * short_term_stride, short_side_stride,
      short_term_stride, block.short_count, block.term_count, round_up(block.term_count, WARP * UNROLL));
  __syncthreads();
  const long long first = block.position * rows, end = min(first + rows, (long long)long_side);
  for (long long row = first + warp * LANE_ELEMENTS; row < end; row += WARPS * LANE_ELEMENTS) {
    const REAL *const elements = long_operand + row * stride + block.first_term + lane;
    REAL sums[LANE_SUMS] = {};
    for (int p = 0; p < block.term_count; p += WARP * UNROLL) {
      REAL values[UNROLL][LANE_ELEMENTS];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int v = 0; v < LANE_ELEMENTS; ++v)
          values[u][v] = p + u * WARP + lane < block.term_count && row + v < end
                             ? __ldcs(elements + v * stride + p + u * WARP)
                             : REAL(0);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int s = 0; s < SHORT; ++s) {
          const REAL factor = tile[s * ALONG_PITCH + p + u * WARP + lane];
#pragma unroll
          for (int v = 0; v < LANE_ELEMENTS; ++v) sums[v * SHORT + s] += values[u][v] * factor;
        }
    }
    add_up_lanes(sums, lane);
#pragma unroll
    for (int group = 0; group < LANE_SUMS; group += GROUP_SIZE) {
      const int v = (group + lane % GROUP_SIZE) / SHORT, s = (group + lane % GROUP_SIZE) % SHORT;
      if (lane < GROUP_SIZE && row + v < end && s < block.short_count) block.store(row + v, s, sums[group]);
    }
  }
}

// Element (i, p) of A is at i * a_row_stride + p * a_term_stride, element (p, j) of B at p * b_term_stride +
// j * b_column_stride. A block computes `rows` rows of WARP_ELEMENTS columns: its threads keep their columns of B in
// registers, and its warps share the rows.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_outer(const REAL *__restrict__ a, long long a_row_stride, long long a_term_stride, const REAL *__restrict__ b,
               long long b_term_stride, long long b_column_stride, const REAL *c, REAL *out, int m, int n, int k,
               int rows) {
  REAL *const tile = memory->value;
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const long long column = (long long)blockIdx.x * WARP_ELEMENTS + lane;
  REAL columns[SHORT][LANE_ELEMENTS];
#pragma unroll
  for (int p = 0; p < SHORT; ++p)
#pragma unroll
    for (int v = 0; v < LANE_ELEMENTS; ++v) {
      const long long j = column + v * WARP;
      columns[p][v] = p < k && j < n ? b[p * b_term_stride + j * b_column_stride] : REAL(0);
    }
  const int end = min((long long)(blockIdx.y + 1) * rows, (long long)m);
  for (int begin = blockIdx.y * rows; begin < end; begin += OUTER_ROWS) {
    const int count = min(OUTER_ROWS, end - begin);
    __syncthreads();  // the rows before have been used
    for (int e = threadIdx.x; e < SHORT * OUTER_ROWS; e += THREADS) {
      const int i = a_term_stride == 1 ? e / SHORT : e % OUTER_ROWS;
      const int p = a_term_stride == 1 ? e % SHORT : e / OUTER_ROWS;
      tile[i * PITCH + p] = i < count && p < k ? a[(begin + i) * a_row_stride + p * a_term_stride] : REAL(0);
    }
    __syncthreads();
    for (int i = warp; i < count; i += WARPS) {
      REAL sums[LANE_ELEMENTS] = {};
#pragma unroll
      for (int p = 0; p < SHORT; p += V) {
        const Vector factors = *reinterpret_cast<const Vector *>(tile + i * PITCH + p);
#pragma unroll
        for (int w = 0; w < V; ++w)
#pragma unroll
          for (int v = 0; v < LANE_ELEMENTS; ++v) sums[v] += factors.value[w] * columns[p + w][v];
      }
      const long long index = (long long)(begin + i) * n + column;
#pragma unroll
      for (int v = 0; v < LANE_ELEMENTS; ++v)
        if (column + v * WARP < n) out[index + v * WARP] = c ? sums[v] + c[index + v * WARP] : sums[v];
    }
  }
}

// out (elements) = the sum of `parts` arrays, one behind the other, and of c, which may be null.
extern "C" __global__ void __launch_bounds__(THREADS)
    add(const REAL *__restrict__ partial, const REAL *c, REAL *out, long long elements, int parts) {
  REAL *const warp_sums = memory->value;
  const long long e = (long long)blockIdx.x * WARP + threadIdx.x;
  REAL sum = 0;
  if (e < elements)
#pragma unroll 4
    for (int part = threadIdx.y; part < parts; part += WARPS) sum += partial[part * elements + e];
  warp_sums[threadIdx.y * WARP + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y || e >= elements) return;
#pragma unroll
  for (int warp = 1; warp < WARPS; ++warp) sum += warp_sums[warp * WARP + threadIdx.x];
  out[e] = c ? sum + c[e] : sum;
}
