// A whole solve in one cooperative launch that reads only the lower triangle of A, and uses each element for two
// products: of its row with p, and of its column, which is a row of the upper triangle. A is read in tiles of TILE x
// TILE. A warp has 32 rows of a tile; each lane accumulates the sums of its columns and of its rows in registers; the
// latter are reduced across lanes once per tile. A tile's sums are stored, and added by the owner of the element of q.
//
// Shapes: matrix (n, n), b, x, r and p (n), history (iterations + 1), steps (1), partial (ceil(n / TILE), n), parts (4,
// gridDim.x), counts (2), which are 0.
//
// Launch: cooperative, grid any number of blocks that run at once, block BLOCK, dynamic shared memory of (2, BLOCK /
// 32, TILE) elements.
#include "algorithms.cuh"
#include "block.cuh"
#include "grid.cuh"
#include "warp.cuh"

constexpr int TILE = BLOCK;  // 32 rows for each warp
constexpr int WIDE = 16 / sizeof(REAL);
constexpr int AT_ONCE = FLOAT64 ? 4 : 8;  // rows with pending loads
static_assert(BLOCK % (WARP * WIDE) == 0 && BLOCK <= 512, "block must be a multiple of 128, and at most 512");

struct Solve {
  const REAL *matrix, *b;
  REAL *x, *history;
  long long *steps;
  REAL *r, *p;      // n each
  REAL *partial;    // sums of tiles, [tile across][n]
  REAL *parts;      // of p.q, r.r and r.z, gridDim.x each
  long long n;
  int iterations, algorithm;
  REAL tolerance;
};

// Load values (WIDTH) at `place` by one access, zeros if none is left; `rest` elements of the row are.
template <int WIDTH>
__device__ __forceinline__ void load(const REAL *place, long long rest, REAL *values) {
  if constexpr (WIDTH == 1) {
    values[0] = rest > 0 ? __ldcs(place) : REAL(0);
  } else {
    const int4 bits = rest > 0 ? __ldcs(reinterpret_cast<const int4 *>(place)) : int4{};
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) values[w] = reinterpret_cast<const REAL *>(&bits)[w];
  }
}

// The sums over all lanes of values (2 HALF) per lane, sum l in lane l: 31 shuffles for 32 values instead of 160.
template <int HALF>
__device__ __forceinline__ REAL sums_by_lane(REAL *values) {
  const bool is_upper = threadIdx.x & HALF;
#pragma unroll
  for (int k = 0; k < HALF; ++k) {
    const REAL sent = is_upper ? values[k] : values[k + HALF];
    values[k] = (is_upper ? values[k + HALF] : values[k]) + __shfl_xor_sync(~0u, sent, HALF);
  }
  if constexpr (HALF > 1)
    return sums_by_lane<HALF / 2>(values);
  else
    return values[0];
}

// The sums of a tile: rows from `top`, columns from `left`; columns (BLOCK / WARP, TILE) is in shared memory.
template <int WIDTH>
__device__ __forceinline__ void multiply(const Solve &s, long long top, long long left, REAL (*columns)[TILE]) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const bool is_diagonal = top == left;
  const long long first = top + warp * WARP;
  const REAL of_row = first + lane < s.n ? __ldcg(s.p + first + lane) : REAL(0);
  REAL rows[WARP] = {};
#pragma unroll 1  // the registers suffice for the loads of one strip
  for (int strip = 0; strip < TILE; strip += WARP * WIDTH) {
    const long long column = left + strip + lane * WIDTH, rest = s.n - column;
    REAL of_column[WIDTH], sums[WIDTH] = {};
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) of_column[w] = w < rest ? __ldcg(s.p + column + w) : REAL(0);
#pragma unroll
    for (int start = 0; start < WARP; start += AT_ONCE) {
      REAL values[AT_ONCE][WIDTH];
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        const long long row = first + start + k;
        load<WIDTH>(s.matrix + row * s.n + column, row < s.n ? rest : 0, values[k]);
      }
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        const REAL factor = __shfl_sync(~0u, of_row, start + k);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
          rows[start + k] += values[k][w] * of_column[w];
          sums[w] += values[k][w] * factor;
        }
      }
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) columns[warp][strip + lane * WIDTH + w] = sums[w];
  }
  const REAL sum = sums_by_lane<WARP / 2>(rows);
  if (first + lane < s.n) s.partial[left / TILE * s.n + first + lane] = sum;
  __syncthreads();  // the sums of all warps are complete
  if (is_diagonal || left + threadIdx.x >= s.n) return;
  REAL total = 0;
#pragma unroll
  for (int k = 0; k < BLOCK / WARP; ++k) total += columns[k][threadIdx.x];
  s.partial[top / TILE * s.n + left + threadIdx.x] = total;
}

// This block's share of the tiles of the lower triangle, one after the other; columns (2, BLOCK / WARP, TILE).
__device__ __forceinline__ void multiply(const Solve &s, REAL (*columns)[BLOCK / WARP][TILE]) {
  const long long across = (s.n + TILE - 1) / TILE, tiles = across * (across + 1) / 2;
  int turn = 0;
  for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    long long row = (long long)((sqrt(8.0 * tile + 1) - 1) / 2);  // up to rounding
    while (row * (row + 1) / 2 > tile) --row;
    while ((row + 1) * (row + 2) / 2 <= tile) ++row;
    const long long top = row * TILE, left = (tile - row * (row + 1) / 2) * TILE;
    if (s.n % WIDE == 0)
      multiply<WIDE>(s, top, left, columns[turn]);
    else
      multiply<1>(s, top, left, columns[turn]);
    turn = !turn;  // some warps may still read the last tile's columns
  }
}

// The sums of the two arrays of parts (2, gridDim.x), in all threads.
__device__ __forceinline__ void sum_of_parts(const REAL *parts, REAL &a, REAL &b) {
  a = b = 0;
  for (int i = threadIdx.x % WARP; i < gridDim.x; i += WARP) a += __ldcg(parts + i), b += __ldcg(parts + gridDim.x + i);
  a = sum_of_warp(a), b = sum_of_warp(b);
}

// The solve of matrix (n, n) and b (n), by four barriers in a step.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *r, REAL *p, REAL *partial,
          REAL *parts, long long n, int iterations, int algorithm, REAL tolerance, unsigned *counts) {
  const Solve s = {matrix, b, x, history, steps, r, p, partial, parts, n, iterations, algorithm, tolerance};
  extern __shared__ int4 memory[];
  auto *columns = reinterpret_cast<REAL(*)[BLOCK / WARP][TILE]>(memory);  // two of them
  __shared__ REAL scratch[2 * WARP];
  const long long first = n * blockIdx.x / gridDim.x, end = n * (blockIdx.x + 1) / gridDim.x;
  const long long across = (n + TILE - 1) / TILE;
  REAL *of_curvature = parts, *of_residual = parts + 2 * gridDim.x;
  GridBarrier barrier = {counts};
  REAL product = 0, before = 0, limit = 0;

  for (int step = 0;; ++step) {
    // r and x of the block's rows, from the q of the previous step.
    REAL curvature = 0, unused = 0, square = 0, dot = 0;
    if (step) sum_of_parts(of_curvature, curvature, unused);
    const REAL alpha = curvature > SMALLEST_NORMAL ? product / curvature : REAL(0);
    for (long long i = first + threadIdx.x; i < end; i += BLOCK) {
      REAL value = step ? r[i] : b[i];
      if (step) {
        REAL q = 0;
        for (long long k = 0; k < across; ++k) q += __ldcg(partial + k * n + i);
        value -= alpha * q;
      }
      x[i] = step ? x[i] + alpha * __ldcg(p + i) : REAL(0);
      r[i] = value;
      square += value * value;
      dot += algorithm == JACOBI ? value * value / matrix[i * (n + 1)] : value * value;
    }
    sum_of_block(square, dot, scratch);
    if (threadIdx.x == 0) of_residual[blockIdx.x] = square, of_residual[gridDim.x + blockIdx.x] = dot;
    barrier.wait();
    before = product;
    sum_of_parts(of_residual, square, product);
    if (step == 0) limit = tolerance * tolerance * square;
    const bool is_done = step == iterations || square <= limit;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      history[step] = square;
      if (is_done) *steps = step;
    }
    if (is_done) {
      if (blockIdx.x == 0)
        for (int i = step + 1 + threadIdx.x; i <= iterations; i += BLOCK) history[i] = 0;
      break;
    }
    const REAL beta = step && algorithm != STEEPEST && before > SMALLEST_NORMAL ? product / before : REAL(0);
    for (long long i = first + threadIdx.x; i < end; i += BLOCK)
      p[i] = (algorithm == JACOBI ? r[i] / matrix[i * (n + 1)] : r[i]) + (beta != 0 ? beta * __ldcg(p + i) : REAL(0));
    barrier.wait();
    multiply(s, columns);
    barrier.wait();
    REAL part = 0;
    for (long long i = first + threadIdx.x; i < end; i += BLOCK) {
      REAL q = 0;
      for (long long k = 0; k < across; ++k) q += __ldcg(partial + k * n + i);
      part += q * __ldcg(p + i);
    }
    unused = 0;
    sum_of_block(part, unused, scratch);
    if (threadIdx.x == 0) of_curvature[blockIdx.x] = part, of_curvature[gridDim.x + blockIdx.x] = 0;
    barrier.wait();
  }
  barrier.leave();
}
