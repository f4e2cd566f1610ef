// GEMV by teams of TEAM threads: with TEAM = 32 a team is a warp, with less a part of one, with TEAM = BLOCK a whole
// block. A team multiplies ROWS rows of the matrix by x at once, over a part of their columns. To keep the memory busy,
// each thread starts UNROLL loads per row before it uses the first; each loaded element of x is used for ROWS rows.
//
// Shapes: matrix (n, m), x (m), out (n, parts), where parts = gridDim.y is the number of parts of the columns.
//
// Launch: `gemv_wide` and `gemv_single` grid (ceil(n / (ROWS * BLOCK / TEAM)), parts), `add_up` grid ceil(32 n /
// BLOCK). Block BLOCK, no dynamic shared memory.
#include "warp.cuh"

static_assert(BLOCK % TEAM == 0 && BLOCK <= 1024, "block must be a multiple of team and at most 1024");
static_assert(TEAM >= 1 && (TEAM % 32 == 0 || 32 % TEAM == 0), "team must be a multiple or a divisor of 32");
static_assert(ROWS >= 1 && ROWS <= 32 && UNROLL >= 1, "rows must be 1 to 32, and unroll at least 1");
constexpr int TEAMS = BLOCK / TEAM;  // of a block
// Launch bounds of few blocks per multiprocessor leave the compiler registers for UNROLL pending loads.
constexpr int MIN_BLOCKS = BLOCK < 512 ? 512 / BLOCK : 1;

// WIDTH neighbouring elements, which one access loads.
template <int WIDTH>
struct alignas(WIDTH * sizeof(REAL)) Vector {
  REAL value[WIDTH];
};

// Load a vector that is read only once, as the first to be evicted, so that the caches keep x.
__device__ __forceinline__ Vector<1> load_streaming(const Vector<1> *from) { return {__ldcs(from->value)}; }
__device__ __forceinline__ Vector<16 / sizeof(REAL)> load_streaming(const Vector<16 / sizeof(REAL)> *from) {
  const int4 bits = __ldcs(reinterpret_cast<const int4 *>(from));
  return reinterpret_cast<const Vector<16 / sizeof(REAL)> &>(bits);
}

// Add up the sums (ROWS) of a team's threads, and write them to `out`. `row` is the team's first row; the next one is
// TEAMS rows further.
__device__ __forceinline__ void store_sums(const REAL *sums, REAL *out, long long row, long long n) {
  const int team = threadIdx.x / TEAM, team_thread = threadIdx.x % TEAM;
  if constexpr (TEAM <= WARP) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const REAL sum = sum_of_lanes<TEAM>(sums[r]);
      if (team_thread == r % TEAM && row + r * TEAMS < n) out[(row + r * TEAMS) * gridDim.y + blockIdx.y] = sum;
    }
  } else {
    constexpr int WARPS = TEAM / WARP;  // of a team
    __shared__ REAL warp_sums[BLOCK / WARP][ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const REAL sum = sum_of_warp(sums[r]);
      if (team_thread % WARP == 0) warp_sums[threadIdx.x / WARP][r] = sum;
    }
    __syncthreads();  // the sums of all warps are complete
    if (team_thread >= ROWS || row + team_thread * TEAMS >= n) return;
    REAL sum = 0;
#pragma unroll
    for (int warp = 0; warp < WARPS; ++warp) sum += warp_sums[team * WARPS + warp][team_thread];
    out[(row + team_thread * TEAMS) * gridDim.y + blockIdx.y] = sum;
  }
}

// Write this block's partial sums to element [row][part] of `out`, where part is blockIdx.y. A part has `part_columns`
// columns. `part_columns` and m are multiples of WIDTH; if WIDTH isn't 1, the arrays are aligned to 16 bytes.
template <int WIDTH>
__device__ __forceinline__ void compute_product(const REAL *matrix, const REAL *x, REAL *out, long long n, long long m,
                                        long long part_columns) {
  // The teams of a block read neighbouring rows at the same time.
  const long long row = (long long)blockIdx.x * (TEAMS * ROWS) + threadIdx.x / TEAM;
  const long long start = blockIdx.y * part_columns, end = start + part_columns < m ? start + part_columns : m;
  const auto *x_vectors = reinterpret_cast<const Vector<WIDTH> *>(x);
  const Vector<WIDTH> *row_vectors[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r)  // beyond the last row, that row is read again and its sums are discarded
    row_vectors[r] =
        reinterpret_cast<const Vector<WIDTH> *>(matrix + (row + r * TEAMS < n ? row + r * TEAMS : n - 1) * m);

  REAL sums[ROWS] = {};
  for (long long v = start / WIDTH + threadIdx.x % TEAM; v < end / WIDTH; v += TEAM * UNROLL) {
    Vector<WIDTH> factors[UNROLL], elements[UNROLL][ROWS];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long index = v + u * TEAM;
      const bool inside = index < end / WIDTH;
      factors[u] = inside ? x_vectors[index] : Vector<WIDTH>{};
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        elements[u][r] = inside ? load_streaming(row_vectors[r] + index) : Vector<WIDTH>{};
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) sums[r] += elements[u][r].value[w] * factors[u].value[w];
  }
  store_sums(sums, out, row, n);
}

// With 16-byte accesses; the size of a row must be a multiple of 16 bytes, and the arrays aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv_wide(const REAL *__restrict__ matrix, const REAL *__restrict__ x, REAL *out, long long n, long long m,
              long long part_columns) {
  compute_product<16 / sizeof(REAL)>(matrix, x, out, n, m, part_columns);
}

// Element by element, for unaligned rows.
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv_single(const REAL *__restrict__ matrix, const REAL *__restrict__ x, REAL *out, long long n, long long m,
                long long part_columns) {
  compute_product<1>(matrix, x, out, n, m, part_columns);
}

// y (n) = the sums of the rows of partial (n, parts), in a fixed order, with a warp per row.
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_up(const REAL *__restrict__ partial, REAL *y, long long n, int parts) {
  const long long i = ((long long)blockIdx.x * BLOCK + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (i >= n) return;
  REAL sum = 0;
  for (int part = lane; part < parts; part += 32) sum += partial[i * parts + part];
  sum = sum_of_warp(sum);
  if (lane == 0) y[i] = sum;
}
