// A team of TEAM threads computes ROWS rows of the matrix at once, for a part of their columns: with TEAM = 32 a team
// is a warp, with TEAM = BLOCK a whole block. Each thread has UNROLL pending loads per row before it uses the first, to
// keep the memory busy, and a load of x is used for ROWS rows.
//
// Shapes: matrix (n, m), x (m), out (n, gridDim.y).
//
// Launch: `gemv_wide` and `gemv_single` grid (ceil(n / (ROWS * BLOCK / TEAM)), parts of the columns), `add_up` grid
// ceil(32 n / BLOCK). Block BLOCK, no dynamic shared memory.
#include "warp.cuh"

static_assert(BLOCK % TEAM == 0 && BLOCK <= 1024, "block must be a multiple of team and at most 1024");
static_assert(TEAM % 32 == 0 && TEAM >= 32, "team must be a multiple of 32, the threads of a warp");
static_assert(ROWS >= 1 && ROWS <= 32 && UNROLL >= 1, "rows must be 1 to 32, and unroll at least 1");
constexpr int WARPS = TEAM / WARP;  // of a team
// Launch bounds of so few blocks per multiprocessor let the compiler use the registers for UNROLL pending loads.
constexpr int MIN_BLOCKS = BLOCK < 512 ? 512 / BLOCK : 1;

// WIDTH neighbouring elements, one access.
template <int WIDTH>
struct alignas(WIDTH * sizeof(REAL)) Vector {
  REAL value[WIDTH];
};

// The elements at `place` (1), a vector, that are read once: they bypass the caches, which keep x.
__device__ __forceinline__ Vector<1> streamed(const Vector<1> *place) { return {__ldcs(place->value)}; }
__device__ __forceinline__ Vector<16 / sizeof(REAL)> streamed(const Vector<16 / sizeof(REAL)> *place) {
  const int4 bits = __ldcs(reinterpret_cast<const int4 *>(place));
  return reinterpret_cast<const Vector<16 / sizeof(REAL)> &>(bits);
}

// Write this block's partial sums, element [row][part] of `out`, where part is blockIdx.y. `columns`, the number of
// columns of a part, and m are multiples of WIDTH; if WIDTH isn't 1, the arrays are aligned to 16 bytes.
template <int WIDTH>
__device__ __forceinline__ void product(const REAL *matrix, const REAL *x, REAL *out, long long n, long long m,
                                        long long columns) {
  const int team = threadIdx.x / TEAM, lane = threadIdx.x % TEAM;
  const long long top = ((long long)blockIdx.x * (BLOCK / TEAM) + team) * ROWS;
  const long long start = blockIdx.y * columns, end = start + columns < m ? start + columns : m;
  const auto *of_x = reinterpret_cast<const Vector<WIDTH> *>(x);
  const Vector<WIDTH> *of_row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r)  // past the last row, that row is used again and its sums are discarded
    of_row[r] = reinterpret_cast<const Vector<WIDTH> *>(matrix + (top + r < n ? top + r : n - 1) * m);

  REAL sums[ROWS] = {};
  for (long long v = start / WIDTH + lane; v < end / WIDTH; v += TEAM * UNROLL) {
    Vector<WIDTH> factors[UNROLL], elements[UNROLL][ROWS];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long place = v + u * TEAM;
      const bool inside = place < end / WIDTH;
      factors[u] = inside ? of_x[place] : Vector<WIDTH>{};
#pragma unroll
      for (int r = 0; r < ROWS; ++r) elements[u][r] = inside ? streamed(of_row[r] + place) : Vector<WIDTH>{};
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) sums[r] += elements[u][r].value[w] * factors[u].value[w];
  }

  __shared__ REAL of_warp[BLOCK / 32][ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const REAL sum = sum_of_warp(sums[r]);
    if (lane % 32 == 0) of_warp[threadIdx.x / 32][r] = sum;
  }
  __syncthreads();  // the sums of all warps are complete
  if (lane >= ROWS || top + lane >= n) return;
  REAL sum = 0;
#pragma unroll
  for (int warp = 0; warp < WARPS; ++warp) sum += of_warp[team * WARPS + warp][lane];
  out[(top + lane) * gridDim.y + blockIdx.y] = sum;
}

// By accesses of 16 bytes: rows of m elements are a multiple of that.
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv_wide(const REAL *__restrict__ matrix, const REAL *__restrict__ x, REAL *out, long long n, long long m,
              long long columns) {
  product<16 / sizeof(REAL)>(matrix, x, out, n, m, columns);
}

// Element by element, for unaligned rows.
extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS)
    gemv_single(const REAL *__restrict__ matrix, const REAL *__restrict__ x, REAL *out, long long n, long long m,
                long long columns) {
  product<1>(matrix, x, out, n, m, columns);
}

// y (n) = the sums over the rows of partial (n, parts), in a fixed order: a warp per element.
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
