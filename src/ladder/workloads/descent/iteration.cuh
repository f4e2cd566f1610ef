// A step of steepest descent or conjugate gradients by a grid of blocks. Each block has a share of A's rows, and the
// blocks exchange results once per step.
//
// At the start of a step all blocks compute the same r and p redundantly from the q = A p of the previous step. That is
// little work: n elements, compared with n * n / gridDim.x elements in a block's share of A. A block writes only the
// elements of its rows, and a step reads only what the previous step wrote: r, p, q and the blocks' sums of p.q are
// double-buffered. Sums are in a fixed order: r.r is bitwise the same in all blocks, so they stop at the same step.
// The scalars rr and rz are the dot products r.r and r.z; z is r or, for JACOBI, r divided by the diagonal of A.
// This is one file of over 300 lines, since a step is one kernel whose parts are of no use on their own.
#pragma once
#include "algorithms.cuh"
#include "block.cuh"
#include "warp.cuh"

static_assert(BLOCK % TEAM == 0 && BLOCK <= 1024, "block must be a multiple of team and at most 1024");
static_assert(TEAM % WARP == 0, "team must be a multiple of 32, the threads of a warp");
static_assert(ROWS >= 1 && UNROLL >= 1, "rows and unroll must be at least 1");

constexpr int VECTOR_WIDTH = 16 / sizeof(REAL);     // elements of a 16-byte access
constexpr int WARPS_PER_ROW = TEAM / WARP;          // a row has a sum for each warp of its team
constexpr int VALUES_PER_THREAD = FLOAT64 ? 2 : 4;  // elements of a vector in a thread's registers if n is small
constexpr bool IS_FOR_SMALL_N = TEAM == WARP;       // for a large n, registers hold elements of A instead
constexpr int SCRATCH_ELEMENTS = 2 * WARP;          // elements of shared memory for reductions

// How a step obtains its residual: from the previous r and q, or as an r = b - A x that has been recomputed before it.
enum ResidualKind { UPDATED, RECOMPUTED };

struct SolveState {
  const REAL *matrix, *b;  // (n, n) and (n)
  REAL *x, *history;       // (n) and (iterations + 1)
  long long *steps;        // (1): the number of steps once the solve has ended, -1 before
  REAL *vectors;           // (6 n + 2 gridDim.x): two buffers each of r, p, q and the blocks' sums of p.q
  REAL *diagonal;          // (n): a copy of the diagonal of A
  REAL *rz;                // (iterations + 1): r.z of every step
  int n, iterations, algorithm;
  REAL tolerance;

  __device__ REAL *r(int step) const { return vectors + (step & 1) * (long long)n; }
  // In steepest descent p is r.
  __device__ REAL *p(int step) const {
    return algorithm == STEEPEST ? r(step) : vectors + (2 + (step & 1)) * (long long)n;
  }
  __device__ REAL *q(int step) const { return vectors + (4 + (step & 1)) * (long long)n; }
  __device__ REAL *pq_block_sums(int step) const { return vectors + 6 * (long long)n + (step & 1) * gridDim.x; }
  // The first row of a block's share; n for the block after the last.
  __device__ int first_row(int block) const { return (long long)n * block / gridDim.x; }
  __device__ REAL matrix_diagonal(int i) const { return matrix[i * (n + 1ll)]; }
};

// A block's shared memory, for `rows` rows of A: staged_columns + rows * (1 + WARPS_PER_ROW) + SCRATCH_ELEMENTS.
struct SharedMemory {
  REAL *staged_vector;  // (staged_columns): the part of the vector that is multiplied
  REAL *p_of_rows;      // (rows): p of the block's rows
  REAL *row_sums;       // (rows, WARPS_PER_ROW)
  REAL *scratch;        // (SCRATCH_ELEMENTS)
  int staged_columns;

  __device__ SharedMemory(REAL *start, int rows, int staged_columns)
      : staged_vector(start),
        p_of_rows(staged_vector + staged_columns),
        row_sums(p_of_rows + rows),
        scratch(row_sums + rows * WARPS_PER_ROW),
        staged_columns(staged_columns) {}
};

// The length alpha of the previous step, from all blocks' sums of p.q; 0 if p.q is tiny.
__device__ __forceinline__ REAL step_length(const SolveState &state, int step) {
  REAL sum = 0;
  for (int i = threadIdx.x % WARP; i < gridDim.x; i += WARP) sum += __ldcg(state.pq_block_sums(step - 1) + i);
  sum = sum_of_warp(sum);
  return sum > SMALLEST_NORMAL ? __ldcg(state.rz + step - 1) / sum : REAL(0);
}

// Element i of the diagonal preconditioner, by which r is divided: that of A, or 1 for STEEPEST and CG.
__device__ __forceinline__ REAL preconditioner(const SolveState &state, int step, int i) {
  if (state.algorithm != JACOBI) return 1;
  return step ? __ldcg(state.diagonal + i) : state.matrix_diagonal(i);
}

// Element i of the new r; alpha is the length of the step.
__device__ __forceinline__ REAL residual(const SolveState &state, int step, ResidualKind kind, REAL alpha, int i) {
  if (step == 0) return state.b[i];
  if (kind == RECOMPUTED) return __ldcg(state.r(step) + i);
  return __ldcg(state.r(step - 1) + i) - alpha * __ldcg(state.q(step - 1) + i);
}

// Compute r, x and r.r, and return whether the solve continues. If it does, and IS_SMALL, also compute p of the block's
// rows, and stage all of p. Sets the step length alpha, and beta, the coefficient of the old p in the new one.
template <bool IS_SMALL>
__device__ __forceinline__ bool update_vectors(const SolveState &state, int step, ResidualKind kind,
                                               const SharedMemory &shared, REAL &alpha, REAL &beta) {
  const int first = state.first_row(blockIdx.x), end = state.first_row(blockIdx.x + 1);
  const bool is_updated = step && kind == UPDATED;
  REAL r[VALUES_PER_THREAD], p[VALUES_PER_THREAD], q[VALUES_PER_THREAD], rr = 0, rz = 0;
  if constexpr (IS_SMALL) {  // all loads are issued at once, so that their latencies overlap
#pragma unroll
    for (int u = 0; u < VALUES_PER_THREAD; ++u) {
      const int i = u * BLOCK + threadIdx.x;
      const bool is_inside = i < state.n;
      r[u] = !is_inside ? REAL(0) : step == 0 ? state.b[i] : __ldcg(state.r(step - (kind == UPDATED)) + i);
      q[u] = is_inside && is_updated ? __ldcg(state.q(step - 1) + i) : REAL(0);
      p[u] = is_inside && step ? __ldcg(state.p(step - 1) + i) : REAL(0);
    }
  }
  alpha = is_updated ? step_length(state, step) : REAL(0);

  // Add the element `value` = r[i] to r.r and r.z; if it is in the block's share, store it, and update x by the old p.
  auto add = [&](int i, REAL value, REAL old_p) {
    const REAL z = state.algorithm == JACOBI ? value / preconditioner(state, step, i) : value;
    rr += value * value, rz += value * z;
    if (i < first || i >= end) return;
    state.r(step)[i] = value;
    if (kind == UPDATED) state.x[i] = step ? state.x[i] + alpha * old_p : REAL(0);
    if (state.algorithm == JACOBI && step == 0) state.diagonal[i] = state.matrix_diagonal(i);
  };
  if constexpr (IS_SMALL) {
#pragma unroll
    for (int u = 0; u < VALUES_PER_THREAD; ++u) {
      r[u] -= alpha * q[u];
      if (u * BLOCK + threadIdx.x < state.n) add(u * BLOCK + threadIdx.x, r[u], p[u]);
    }
  } else {
#pragma unroll 2
    for (int i = threadIdx.x; i < state.n; i += BLOCK) {
      const bool is_in_share = i >= first && i < end && is_updated;
      add(i, residual(state, step, kind, alpha, i), is_in_share ? __ldcg(state.p(step - 1) + i) : REAL(0));
    }
  }
  sum_over_block(rr, rz, shared.scratch);

  const bool is_done =
      step == state.iterations || rr <= state.tolerance * state.tolerance * (step ? __ldcg(state.history) : rr);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state.history[step] = rr, state.rz[step] = rz;
    *state.steps = is_done ? step : -1;
  }
  if (step == 0)  // beyond the last step the history is 0
    for (int i = 1 + blockIdx.x * BLOCK + threadIdx.x; i <= state.iterations; i += gridDim.x * BLOCK)
      state.history[i] = 0;
  if (is_done) return false;

  const REAL previous_rz = step ? __ldcg(state.rz + step - 1) : REAL(0);
  beta = step && state.algorithm != STEEPEST && previous_rz > SMALLEST_NORMAL ? rz / previous_rz : REAL(0);
  if constexpr (IS_SMALL) {
#pragma unroll
    for (int u = 0; u < VALUES_PER_THREAD; ++u) {
      const int i = u * BLOCK + threadIdx.x;
      if (i >= shared.staged_columns) continue;
      const REAL value = i < state.n ? r[u] / preconditioner(state, step, i) + beta * p[u] : REAL(0);
      shared.staged_vector[i] = value;
      if (i < first || i >= end) continue;
      shared.p_of_rows[i - first] = value;
      if (state.algorithm != STEEPEST) state.p(step)[i] = value;
    }
  }
  return true;
}

// Stage the new p from `column` on, zeros beyond n.
__device__ __forceinline__ void stage_p(const SolveState &state, int step, ResidualKind kind,
                                        const SharedMemory &shared, REAL alpha, REAL beta, int column) {
  const int first = state.first_row(blockIdx.x), end = state.first_row(blockIdx.x + 1);
#pragma unroll 2
  for (int c = threadIdx.x; c < shared.staged_columns; c += BLOCK) {
    const int i = column + c;
    REAL value = 0;
    if (i < state.n) {
      value = residual(state, step, kind, alpha, i) / preconditioner(state, step, i);
      if (beta != 0) value += beta * __ldcg(state.p(step - 1) + i);
    }
    shared.staged_vector[c] = value;
    if (i < first || i >= end) continue;
    shared.p_of_rows[i - first] = value;
    if (state.algorithm != STEEPEST) state.p(step)[i] = value;
  }
}

template <int WIDTH>
struct alignas(WIDTH * sizeof(REAL)) Vector {
  REAL value[WIDTH];
};

// Load WIDTH elements of A at `source`, as the first to be evicted, since a step reads each element only once.
template <int WIDTH>
__device__ __forceinline__ Vector<WIDTH> load_elements(const REAL *source) {
  if constexpr (WIDTH == 1) {
    return {__ldcs(source)};
  } else {
    const int4 bits = __ldcs(reinterpret_cast<const int4 *>(source));
    return reinterpret_cast<const Vector<WIDTH> &>(bits);
  }
}

// Add to the sums the products of the block's rows with `count` staged elements. The `row_count` rows begin at `rows`
// and are `stride` elements apart. With a WIDTH above 1, rows are aligned to 16 bytes and count is a multiple of WIDTH.
template <int WIDTH>
__device__ __forceinline__ void multiply(const SharedMemory &shared, const REAL *rows, int row_count, long long stride,
                                         int count) {
  const int team = threadIdx.x / TEAM, team_thread = threadIdx.x % TEAM;
  const auto *factors = reinterpret_cast<const Vector<WIDTH> *>(shared.staged_vector);
  const int accesses = count / WIDTH;
  for (int top = team * ROWS; top < row_count; top += BLOCK / TEAM * ROWS) {
    REAL sums[ROWS] = {};
    const REAL *row[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; ++k)  // beyond the last row, the last row is repeated and its sums are discarded
      row[k] = rows + (top + k < row_count ? top + k : row_count - 1) * stride;
    int v = team_thread;
    for (; v + (UNROLL - 1) * TEAM < accesses; v += UNROLL * TEAM) {
      Vector<WIDTH> row_elements[UNROLL][ROWS];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
          row_elements[u][k] = load_elements<WIDTH>(row[k] + (long long)(v + u * TEAM) * WIDTH);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const Vector<WIDTH> factor = factors[v + u * TEAM];
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
#pragma unroll
          for (int w = 0; w < WIDTH; ++w) sums[k] += row_elements[u][k].value[w] * factor.value[w];
      }
    }
    for (; v < accesses; v += TEAM) {
      const Vector<WIDTH> factor = factors[v];
#pragma unroll
      for (int k = 0; k < ROWS; ++k) {
        const Vector<WIDTH> row_elements = load_elements<WIDTH>(row[k] + (long long)v * WIDTH);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) sums[k] += row_elements.value[w] * factor.value[w];
      }
    }
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
      const REAL sum = sum_of_warp(sums[k]);
      if (team_thread % WARP == 0 && top + k < row_count)
        shared.row_sums[(top + k) * WARPS_PER_ROW + team_thread / WARP] += sum;
    }
  }
}

// A block's rows of A, `stride` elements apart.
struct Rows {
  const REAL *start;
  long long stride;
};

// The products of the block's rows with the staged part of a vector, which begins at `column`.
__device__ __forceinline__ void multiply(const SolveState &state, const SharedMemory &shared, const Rows &rows,
                                         int column) {
  const int row_count = state.first_row(blockIdx.x + 1) - state.first_row(blockIdx.x);
  const int remaining = state.n - column, count = remaining < shared.staged_columns ? remaining : shared.staged_columns;
  if (state.n % VECTOR_WIDTH == 0)
    multiply<VECTOR_WIDTH>(shared, rows.start + column, row_count, rows.stride, count);
  else
    multiply<1>(shared, rows.start + column, row_count, rows.stride, count);
}

// The total of a row's sums, which are reset to 0.
__device__ __forceinline__ REAL sum_of_row(const SharedMemory &shared, int row) {
  REAL sum = 0;
#pragma unroll
  for (int k = 0; k < WARPS_PER_ROW; ++k)
    sum += shared.row_sums[row * WARPS_PER_ROW + k], shared.row_sums[row * WARPS_PER_ROW + k] = 0;
  return sum;
}

// Reset the sums of the block's rows to 0.
__device__ __forceinline__ void clear_row_sums(const SolveState &state, const SharedMemory &shared) {
  const int row_count = state.first_row(blockIdx.x + 1) - state.first_row(blockIdx.x);
  for (int i = threadIdx.x; i < row_count * WARPS_PER_ROW; i += BLOCK) shared.row_sums[i] = 0;
  __syncthreads();
}

// One step: r, x and p from the previous step, then q = A p and this block's sum of p.q. False if the solve ends.
__device__ __forceinline__ bool advance(const SolveState &state, int step, ResidualKind kind,
                                        const SharedMemory &shared, const Rows &rows) {
  const bool is_small = IS_FOR_SMALL_N && state.n <= VALUES_PER_THREAD * BLOCK && shared.staged_columns >= state.n;
  REAL alpha, beta;
  if (is_small ? !update_vectors<IS_FOR_SMALL_N>(state, step, kind, shared, alpha, beta)
               : !update_vectors<false>(state, step, kind, shared, alpha, beta))
    return false;
  for (int column = 0; column < state.n; column += shared.staged_columns) {
    if (!is_small) stage_p(state, step, kind, shared, alpha, beta, column);
    __syncthreads();  // the part of p is staged
    multiply(state, shared, rows, column);
    __syncthreads();  // the staged part has been read, and the sums are complete
  }
  const int first = state.first_row(blockIdx.x), row_count = state.first_row(blockIdx.x + 1) - first;
  REAL block_pq = 0, unused = 0;
  for (int row = threadIdx.x; row < row_count; row += BLOCK) {
    const REAL sum = sum_of_row(shared, row);
    state.q(step)[first + row] = sum;
    block_pq += shared.p_of_rows[row] * sum;
  }
  sum_over_block(block_pq, unused, shared.scratch);
  if (threadIdx.x == 0) state.pq_block_sums(step)[blockIdx.x] = block_pq;
  return true;
}

// Update x of the block's rows before recompute_block_residual() reads x.
__device__ __forceinline__ void update_block_x(const SolveState &state, int step) {
  const REAL alpha = step_length(state, step);
  for (int i = state.first_row(blockIdx.x) + threadIdx.x; i < state.first_row(blockIdx.x + 1); i += BLOCK)
    state.x[i] += alpha * __ldcg(state.p(step - 1) + i);
}

// r = b - A x for the block's rows.
__device__ __forceinline__ void recompute_block_residual(const SolveState &state, int step,
                                                         const SharedMemory &shared, const Rows &rows) {
  for (int column = 0; column < state.n; column += shared.staged_columns) {
    for (int c = threadIdx.x; c < shared.staged_columns; c += BLOCK)
      shared.staged_vector[c] = column + c < state.n ? __ldcg(state.x + column + c) : REAL(0);
    __syncthreads();
    multiply(state, shared, rows, column);
    __syncthreads();
  }
  const int first = state.first_row(blockIdx.x), row_count = state.first_row(blockIdx.x + 1) - first;
  for (int row = threadIdx.x; row < row_count; row += BLOCK)
    state.r(step)[first + row] = state.b[first + row] - sum_of_row(shared, row);
}
