// A whole solve in one cooperative launch that reads only the lower triangle of A, and uses each element for two
// products with p: that of its row, and that of its column, which is a row of the upper triangle. A is read in tiles of
// TILE x TILE. A warp has 32 rows of a tile. Each lane accumulates the sums of its columns and of all 32 rows in
// registers; those of rows are reduced across lanes once per tile. A tile's sums are stored in `partial`, and the block
// that owns an element of q adds them up. The scalars rr, rz and pq are the dot products r.r, r.z and p.q; z is r or,
// for JACOBI, r divided by the diagonal of A.
//
// Shapes: matrix (n, n), b, x, r and p (n), history (iterations + 1), steps (1), partial (ceil(n / TILE), n), parts (4,
// gridDim.x), counts (2), which are 0 before the launch.
//
// Launch: cooperative, grid any number of blocks that run at once, block BLOCK, dynamic shared memory for (2, BLOCK /
// 32, TILE) elements.
#include "algorithms.cuh"
#include "block.cuh"
#include "grid.cuh"
#include "warp.cuh"

constexpr int TILE = BLOCK;  // 32 rows for each warp
constexpr int VECTOR_WIDTH = 16 / sizeof(REAL);  // elements of a 16-byte access
constexpr int ROWS_IN_FLIGHT = FLOAT64 ? 4 : 8;  // rows whose loads a warp issues before it uses any
static_assert(BLOCK % (WARP * VECTOR_WIDTH) == 0 && BLOCK <= 512, "block must be a multiple of 128, and at most 512");

struct SolveState {
  const REAL *matrix, *b;
  REAL *x, *history;
  long long *steps;
  REAL *r, *p;      // n each
  REAL *partial;    // sums of tiles (ceil(n / TILE), n): for each element of q, one from every tile across
  REAL *parts;      // of p.q, zeros, r.r and r.z, gridDim.x each
  long long n;
  int iterations, algorithm;
  REAL tolerance;
};

// Load values (WIDTH) at `source` by one access; zeros unless `remaining`, the elements left in the row, is above 0.
template <int WIDTH>
__device__ __forceinline__ void load(const REAL *source, long long remaining, REAL *values) {
  if constexpr (WIDTH == 1) {
    values[0] = remaining > 0 ? __ldcs(source) : REAL(0);
  } else {
    const int4 bits = remaining > 0 ? __ldcs(reinterpret_cast<const int4 *>(source)) : int4{};
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) values[w] = reinterpret_cast<const REAL *>(&bits)[w];
  }
}

// Sum the values (2 HALF) of each lane over all lanes; return sum l in lane l. For 32 values this takes 31 shuffles,
// whereas 32 reductions would take 160.
template <int HALF>
__device__ __forceinline__ REAL sums_by_lane(REAL *values) {
  const bool is_upper = threadIdx.x & HALF;
#pragma unroll
  for (int k = 0; k < HALF; ++k) {
    const REAL other = is_upper ? values[k] : values[k + HALF];
    values[k] = (is_upper ? values[k + HALF] : values[k]) + __shfl_xor_sync(~0u, other, HALF);
  }
  if constexpr (HALF > 1)
    return sums_by_lane<HALF / 2>(values);
  else
    return values[0];
}

// Store the sums of the tile with first row `top` and first column `left`; columns (BLOCK / WARP, TILE), in shared
// memory, holds each warp's sums of columns.
template <int WIDTH>
__device__ __forceinline__ void multiply(const SolveState &state, long long top, long long left,
                                         REAL (*columns)[TILE]) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const bool is_diagonal = top == left;
  const long long first = top + warp * WARP;
  const REAL p_of_row = first + lane < state.n ? __ldcg(state.p + first + lane) : REAL(0);
  REAL rows[WARP] = {};  // this lane's part of the sum of each of the warp's rows
#pragma unroll 1  // there are registers for the loads of only one strip
  for (int strip = 0; strip < TILE; strip += WARP * WIDTH) {
    const long long column = left + strip + lane * WIDTH, remaining = state.n - column;
    REAL p_of_columns[WIDTH], sums[WIDTH] = {};
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) p_of_columns[w] = w < remaining ? __ldcg(state.p + column + w) : REAL(0);
#pragma unroll
    for (int start = 0; start < WARP; start += ROWS_IN_FLIGHT) {
      REAL values[ROWS_IN_FLIGHT][WIDTH];
#pragma unroll
      for (int k = 0; k < ROWS_IN_FLIGHT; ++k) {
        const long long row = first + start + k;
        load<WIDTH>(state.matrix + row * state.n + column, row < state.n ? remaining : 0, values[k]);
      }
#pragma unroll
      for (int k = 0; k < ROWS_IN_FLIGHT; ++k) {
        const REAL factor = __shfl_sync(~0u, p_of_row, start + k);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
          rows[start + k] += values[k][w] * p_of_columns[w];
          sums[w] += values[k][w] * factor;
        }
      }
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) columns[warp][strip + lane * WIDTH + w] = sums[w];
  }
  const REAL sum = sums_by_lane<WARP / 2>(rows);
  if (first + lane < state.n) state.partial[left / TILE * state.n + first + lane] = sum;
  __syncthreads();  // the sums of all warps are complete
  if (is_diagonal || left + threadIdx.x >= state.n) return;
  REAL total = 0;
#pragma unroll
  for (int k = 0; k < BLOCK / WARP; ++k) total += columns[k][threadIdx.x];
  state.partial[top / TILE * state.n + left + threadIdx.x] = total;
}

// Multiply this block's share of the tiles of the lower triangle, one after the other; columns (2, BLOCK / WARP, TILE).
__device__ __forceinline__ void multiply(const SolveState &state, REAL (*columns)[BLOCK / WARP][TILE]) {
  const long long tiles_across = (state.n + TILE - 1) / TILE, tiles = tiles_across * (tiles_across + 1) / 2;
  int buffer = 0;
  for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    long long row = (long long)((sqrt(8.0 * tile + 1) - 1) / 2);  // of tiles, possibly off by one through rounding
    while (row * (row + 1) / 2 > tile) --row;
    while ((row + 1) * (row + 2) / 2 <= tile) ++row;
    const long long top = row * TILE, left = (tile - row * (row + 1) / 2) * TILE;
    if (state.n % VECTOR_WIDTH == 0)
      multiply<VECTOR_WIDTH>(state, top, left, columns[buffer]);
    else
      multiply<1>(state, top, left, columns[buffer]);
    buffer = !buffer;  // some warps may still read the sums of the previous tile's columns
  }
}

// The sums of the two arrays of parts (2, gridDim.x), in all threads.
__device__ __forceinline__ void sum_of_parts(const REAL *parts, REAL &a, REAL &b) {
  a = b = 0;
  for (int i = threadIdx.x % WARP; i < gridDim.x; i += WARP) a += __ldcg(parts + i), b += __ldcg(parts + gridDim.x + i);
  a = sum_of_warp(a), b = sum_of_warp(b);
}

// The solve of matrix (n, n) and b (n), with four barriers per step.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *r, REAL *p, REAL *partial,
          REAL *parts, long long n, int iterations, int algorithm, REAL tolerance, unsigned *counts) {
  const SolveState state = {matrix, b, x, history, steps, r, p, partial, parts, n, iterations, algorithm, tolerance};
  extern __shared__ int4 memory[];
  auto *columns = reinterpret_cast<REAL(*)[BLOCK / WARP][TILE]>(memory);  // two buffers
  __shared__ REAL scratch[2 * WARP];
  const long long first = n * blockIdx.x / gridDim.x, end = n * (blockIdx.x + 1) / gridDim.x;
  const long long tiles_across = (n + TILE - 1) / TILE;
  REAL *pq_parts = parts, *residual_parts = parts + 2 * gridDim.x;
  GridBarrier barrier = {counts};
  REAL rz = 0, previous_rz = 0, limit = 0;

  for (int step = 0;; ++step) {
    // r and x of the block's rows, from the q of the previous step.
    REAL pq = 0, unused = 0, rr = 0, rz_part = 0;
    if (step) sum_of_parts(pq_parts, pq, unused);
    const REAL alpha = pq > SMALLEST_NORMAL ? rz / pq : REAL(0);
    for (long long i = first + threadIdx.x; i < end; i += BLOCK) {
      REAL value = step ? r[i] : b[i];
      if (step) {
        REAL q = 0;
        for (long long k = 0; k < tiles_across; ++k) q += __ldcg(partial + k * n + i);
        value -= alpha * q;
      }
      x[i] = step ? x[i] + alpha * __ldcg(p + i) : REAL(0);
      r[i] = value;
      rr += value * value;
      rz_part += algorithm == JACOBI ? value * value / matrix[i * (n + 1)] : value * value;
    }
    sum_over_block(rr, rz_part, scratch);
    if (threadIdx.x == 0) residual_parts[blockIdx.x] = rr, residual_parts[gridDim.x + blockIdx.x] = rz_part;
    barrier.wait();
    previous_rz = rz;
    sum_of_parts(residual_parts, rr, rz);
    if (step == 0) limit = tolerance * tolerance * rr;
    const bool is_done = step == iterations || rr <= limit;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      history[step] = rr;
      if (is_done) *steps = step;
    }
    if (is_done) {
      if (blockIdx.x == 0)
        for (int i = step + 1 + threadIdx.x; i <= iterations; i += BLOCK) history[i] = 0;
      break;
    }
    const REAL beta = step && algorithm != STEEPEST && previous_rz > SMALLEST_NORMAL ? rz / previous_rz : REAL(0);
    for (long long i = first + threadIdx.x; i < end; i += BLOCK)
      p[i] = (algorithm == JACOBI ? r[i] / matrix[i * (n + 1)] : r[i]) + (beta != 0 ? beta * __ldcg(p + i) : REAL(0));
    barrier.wait();
    multiply(state, columns);
    barrier.wait();
    REAL part = 0;
    for (long long i = first + threadIdx.x; i < end; i += BLOCK) {
      REAL q = 0;
      for (long long k = 0; k < tiles_across; ++k) q += __ldcg(partial + k * n + i);
      part += q * __ldcg(p + i);
    }
    unused = 0;
    sum_over_block(part, unused, scratch);
    if (threadIdx.x == 0) pq_parts[blockIdx.x] = part, pq_parts[gridDim.x + blockIdx.x] = 0;
    barrier.wait();
  }
  barrier.leave();
}
