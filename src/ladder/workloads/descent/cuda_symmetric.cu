// A whole solve in one cooperative launch that reads only the lower triangle of A, and uses each element for two
// products with p: that of its row, and that of its column, which is a row of the upper triangle. A is read in tiles of
// TILE x TILE. A warp has 32 rows of a tile. Each lane accumulates the sums of its columns and of all 32 rows in
// registers; those of rows are reduced across lanes once per tile. A tile's sums are stored in `tile_sums`, and the
// block that owns an element of q adds them up. The scalars rr, rz and pq are the dot products r.r, r.z and p.q; z is r
// or, for JACOBI, r divided by the diagonal of A.
//
// Shapes: matrix (n, n), b, x, r and p (n), history (iterations + 1), steps (1), tile_sums (ceil(n / TILE), n),
// block_sums (4, gridDim.x), counts (2), which are 0 before the launch.
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
  REAL *r, *p;       // n each
  REAL *tile_sums;   // (ceil(n / TILE), n): the sums of tiles, for each element of q one from every tile across
  REAL *block_sums;  // (4, gridDim.x): the blocks' sums of p.q, zeros, r.r and r.z
  long long n;
  int iterations, algorithm;
  REAL tolerance;
};

// Load values (WIDTH) at `source` by one access; zeros unless `remaining`, the elements left in the row, is above 0.
template <int WIDTH>
__device__ __forceinline__ void load_elements(const REAL *source, long long remaining, REAL *values) {
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
    const REAL value_for_partner = is_upper ? values[k] : values[k + HALF];
    values[k] = (is_upper ? values[k + HALF] : values[k]) + __shfl_xor_sync(~0u, value_for_partner, HALF);
  }
  if constexpr (HALF > 1)
    return sums_by_lane<HALF / 2>(values);
  else
    return values[0];
}

// Store the sums of the tile with first row `top` and first column `left`; column_sums (BLOCK / WARP, TILE), in shared
// memory, holds each warp's sums of columns.
template <int WIDTH>
__device__ __forceinline__ void multiply(const SolveState &state, long long top, long long left,
                                         REAL (*column_sums)[TILE]) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const bool is_diagonal = top == left;
  const long long first_row = top + warp * WARP;
  const REAL p_of_row = first_row + lane < state.n ? __ldcg(state.p + first_row + lane) : REAL(0);
  REAL row_sums[WARP] = {};  // this lane's part of the sum of each of the warp's rows
#pragma unroll 1  // there are registers for the loads of only one strip
  for (int strip = 0; strip < TILE; strip += WARP * WIDTH) {
    const long long column = left + strip + lane * WIDTH, remaining = state.n - column;
    REAL p_of_columns[WIDTH], strip_sums[WIDTH] = {};
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) p_of_columns[w] = w < remaining ? __ldcg(state.p + column + w) : REAL(0);
#pragma unroll
    for (int start = 0; start < WARP; start += ROWS_IN_FLIGHT) {
      REAL values[ROWS_IN_FLIGHT][WIDTH];
#pragma unroll
      for (int k = 0; k < ROWS_IN_FLIGHT; ++k) {
        const long long row = first_row + start + k;
        load_elements<WIDTH>(state.matrix + row * state.n + column, row < state.n ? remaining : 0, values[k]);
      }
#pragma unroll
      for (int k = 0; k < ROWS_IN_FLIGHT; ++k) {
        const REAL factor = __shfl_sync(~0u, p_of_row, start + k);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
          row_sums[start + k] += values[k][w] * p_of_columns[w];
          strip_sums[w] += values[k][w] * factor;
        }
      }
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) column_sums[warp][strip + lane * WIDTH + w] = strip_sums[w];
  }
  const REAL sum = sums_by_lane<WARP / 2>(row_sums);
  if (first_row + lane < state.n) state.tile_sums[left / TILE * state.n + first_row + lane] = sum;
  __syncthreads();  // the sums of all warps are complete
  if (is_diagonal || left + threadIdx.x >= state.n) return;
  REAL total = 0;
#pragma unroll
  for (int k = 0; k < BLOCK / WARP; ++k) total += column_sums[k][threadIdx.x];
  state.tile_sums[top / TILE * state.n + left + threadIdx.x] = total;
}

// Multiply this block's share of the tiles of the lower triangle, one after the other; column_sums is (2, BLOCK / WARP,
// TILE).
__device__ __forceinline__ void multiply(const SolveState &state, REAL (*column_sums)[BLOCK / WARP][TILE]) {
  const long long tiles_across = (state.n + TILE - 1) / TILE, tiles = tiles_across * (tiles_across + 1) / 2;
  int buffer = 0;
  for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    long long tile_row = (long long)((sqrt(8.0 * tile + 1) - 1) / 2);  // possibly off by one through rounding
    while (tile_row * (tile_row + 1) / 2 > tile) --tile_row;
    while ((tile_row + 1) * (tile_row + 2) / 2 <= tile) ++tile_row;
    const long long top = tile_row * TILE, left = (tile - tile_row * (tile_row + 1) / 2) * TILE;
    if (state.n % VECTOR_WIDTH == 0)
      multiply<VECTOR_WIDTH>(state, top, left, column_sums[buffer]);
    else
      multiply<1>(state, top, left, column_sums[buffer]);
    buffer = !buffer;  // some warps may still read the sums of the previous tile's columns
  }
}

// The totals of two arrays of the blocks' sums, block_sums (2, gridDim.x), in all threads.
__device__ __forceinline__ void sum_over_grid(const REAL *block_sums, REAL &first_total, REAL &second_total) {
  first_total = second_total = 0;
  for (int i = threadIdx.x % WARP; i < gridDim.x; i += WARP)
    first_total += __ldcg(block_sums + i), second_total += __ldcg(block_sums + gridDim.x + i);
  first_total = sum_of_warp(first_total), second_total = sum_of_warp(second_total);
}

// The solve of matrix (n, n) and b (n), with four barriers per step.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *r, REAL *p,
          REAL *tile_sums, REAL *block_sums, long long n, int iterations, int algorithm, REAL tolerance,
          unsigned *counts) {
  const SolveState state = {matrix, b, x, history, steps, r, p, tile_sums, block_sums,
                            n, iterations, algorithm, tolerance};
  extern __shared__ int4 memory[];
  auto *column_sums = reinterpret_cast<REAL(*)[BLOCK / WARP][TILE]>(memory);  // two buffers
  __shared__ REAL scratch[2 * WARP];
  const long long first = n * blockIdx.x / gridDim.x, end = n * (blockIdx.x + 1) / gridDim.x;
  const long long tiles_across = (n + TILE - 1) / TILE;
  REAL *pq_block_sums = block_sums, *residual_block_sums = block_sums + 2 * gridDim.x;
  GridBarrier barrier = {counts};
  REAL rz = 0, previous_rz = 0, limit = 0;

  for (int step = 0;; ++step) {
    // r and x of the block's rows, from the q of the previous step.
    REAL pq = 0, unused = 0, rr = 0, block_rz = 0;
    if (step) sum_over_grid(pq_block_sums, pq, unused);
    const REAL alpha = pq > SMALLEST_NORMAL ? rz / pq : REAL(0);
    for (long long i = first + threadIdx.x; i < end; i += BLOCK) {
      REAL value = step ? r[i] : b[i];
      if (step) {
        REAL q = 0;
        for (long long k = 0; k < tiles_across; ++k) q += __ldcg(tile_sums + k * n + i);
        value -= alpha * q;
      }
      x[i] = step ? x[i] + alpha * __ldcg(p + i) : REAL(0);
      r[i] = value;
      rr += value * value;
      block_rz += algorithm == JACOBI ? value * value / matrix[i * (n + 1)] : value * value;
    }
    sum_over_block(rr, block_rz, scratch);
    if (threadIdx.x == 0) residual_block_sums[blockIdx.x] = rr, residual_block_sums[gridDim.x + blockIdx.x] = block_rz;
    barrier.wait();
    previous_rz = rz;
    sum_over_grid(residual_block_sums, rr, rz);
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
    multiply(state, column_sums);
    barrier.wait();
    REAL block_pq = 0;
    for (long long i = first + threadIdx.x; i < end; i += BLOCK) {
      REAL q = 0;
      for (long long k = 0; k < tiles_across; ++k) q += __ldcg(tile_sums + k * n + i);
      block_pq += q * __ldcg(p + i);
    }
    unused = 0;
    sum_over_block(block_pq, unused, scratch);
    if (threadIdx.x == 0) pq_block_sums[blockIdx.x] = block_pq, pq_block_sums[gridDim.x + blockIdx.x] = 0;
    barrier.wait();
  }
  barrier.leave();
}
