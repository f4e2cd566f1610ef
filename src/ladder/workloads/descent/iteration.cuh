// A step of steepest descent or conjugate gradients by a grid of blocks, each with a share of A's rows, that exchange
// results once per step.
//
// At the start of a step all blocks compute the same r and p redundantly from the q = A p of the previous step: n
// elements, compared with the n n / gridDim.x of a block's share of A. A block writes only the elements of its rows,
// and a step reads only what the previous step has written: r, p, q and the parts of p.q are double-buffered. Sums are
// in a fixed order: all blocks have bitwise the same r.r, and stop at the same step.
//
// This is one file of over 300 lines, since a step is one kernel whose parts are of no use on their own.
#pragma once
#include "algorithms.cuh"
#include "block.cuh"
#include "warp.cuh"

static_assert(BLOCK % TEAM == 0 && BLOCK <= 1024, "block must be a multiple of team and at most 1024");
static_assert(TEAM % WARP == 0, "team must be a multiple of 32, the threads of a warp");
static_assert(ROWS >= 1 && UNROLL >= 1, "rows and unroll must be at least 1");

constexpr int WIDE = 16 / sizeof(REAL);   // elements of one access
constexpr int SLOTS = TEAM / WARP;        // sums of a row, one for each warp of its team
constexpr int KEPT = FLOAT64 ? 2 : 4;     // elements of a vector that a thread holds in registers if n is small
constexpr bool IS_FOR_SMALL = TEAM == WARP;  // else n is large, and the registers are for A
constexpr int SCRATCH = 2 * WARP;

// The start of a step: from the r and x of the previous step, or from an r and x that have been recomputed.
enum Start { CARRIED, RECOMPUTED };

struct Solve {
  const REAL *matrix, *b;  // (n, n) and (n)
  REAL *x, *history;       // (n) and (iterations + 1)
  long long *steps;        // (1)
  REAL *vectors;           // (6 n + 2 gridDim.x): two of each, r, p, q and the blocks' parts of p.q
  REAL *weights;           // (n): the diagonal of A
  REAL *products;          // (iterations + 1): r.z of every step
  int n, iterations, algorithm;
  REAL tolerance;

  __device__ REAL *r(int step) const { return vectors + (step & 1) * (long long)n; }
  // In steepest descent p is r.
  __device__ REAL *p(int step) const {
    return algorithm == STEEPEST ? r(step) : vectors + (2 + (step & 1)) * (long long)n;
  }
  __device__ REAL *q(int step) const { return vectors + (4 + (step & 1)) * (long long)n; }
  __device__ REAL *parts(int step) const { return vectors + 6 * (long long)n + (step & 1) * gridDim.x; }
  // The first row of a block's share; n for the block after the last.
  __device__ int first(int block) const { return (long long)n * block / gridDim.x; }
  __device__ REAL diagonal(int i) const { return matrix[i * (n + 1ll)]; }
};

// A block's shared memory: columns + rows * (1 + SLOTS) + SCRATCH elements for `rows` rows of A.
struct Shared {
  REAL *staged;     // (columns): the part of the vector that is multiplied
  REAL *direction;  // (rows): p of the block's rows
  REAL *sums;       // (rows, SLOTS)
  REAL *scratch;    // (SCRATCH)
  int columns;

  __device__ Shared(REAL *start, int rows, int columns)
      : staged(start),
        direction(staged + columns),
        sums(direction + rows),
        scratch(sums + rows * SLOTS),
        columns(columns) {}
};

// The length alpha of the previous step, from all blocks' parts of p.q; 0 if p.q is tiny.
__device__ __forceinline__ REAL length_of_step(const Solve &s, int step) {
  REAL sum = 0;
  for (int i = threadIdx.x % WARP; i < gridDim.x; i += WARP) sum += __ldcg(s.parts(step - 1) + i);
  sum = sum_of_warp(sum);
  return sum > SMALLEST_NORMAL ? __ldcg(s.products + step - 1) / sum : REAL(0);
}

// Element i of the diagonal of A, by which r is divided; 1 without a preconditioner.
__device__ __forceinline__ REAL weight(const Solve &s, int step, int i) {
  if (s.algorithm != JACOBI) return 1;
  return step ? __ldcg(s.weights + i) : s.diagonal(i);
}

// Element i of the new r; alpha is the length of the step.
__device__ __forceinline__ REAL residual(const Solve &s, int step, Start start, REAL alpha, int i) {
  if (step == 0) return s.b[i];
  if (start == RECOMPUTED) return __ldcg(s.r(step) + i);
  return __ldcg(s.r(step - 1) + i) - alpha * __ldcg(s.q(step - 1) + i);
}

// Compute r, x and r.r, and return whether the solve continues; then compute p of the block's rows, and all of `staged`
// if it holds all of p. Sets the step length alpha and beta, the coefficient of the old p in the new one.
template <bool IS_SMALL>
__device__ __forceinline__ bool renew(const Solve &s, int step, Start start, const Shared &shared, REAL &alpha,
                                      REAL &beta) {
  const int first = s.first(blockIdx.x), end = s.first(blockIdx.x + 1);
  const bool uses_old = step && start == CARRIED;
  REAL r[KEPT], p[KEPT], q[KEPT], square = 0, product = 0;
  if constexpr (IS_SMALL) {  // all loads are issued at once, so that their latencies overlap
#pragma unroll
    for (int u = 0; u < KEPT; ++u) {
      const int i = u * BLOCK + threadIdx.x;
      const bool inside = i < s.n;
      r[u] = !inside ? REAL(0) : step == 0 ? s.b[i] : __ldcg(s.r(step - (start == CARRIED)) + i);
      q[u] = inside && uses_old ? __ldcg(s.q(step - 1) + i) : REAL(0);
      p[u] = inside && step ? __ldcg(s.p(step - 1) + i) : REAL(0);
    }
  }
  alpha = uses_old ? length_of_step(s, step) : REAL(0);

  auto add = [&](int i, REAL value, REAL old_p) {
    const REAL of_z = s.algorithm == JACOBI ? value / weight(s, step, i) : value;
    square += value * value, product += value * of_z;
    if (i < first || i >= end) return;
    s.r(step)[i] = value;
    if (start == CARRIED) s.x[i] = step ? s.x[i] + alpha * old_p : REAL(0);
    if (s.algorithm == JACOBI && step == 0) s.weights[i] = s.diagonal(i);
  };
  if constexpr (IS_SMALL) {
#pragma unroll
    for (int u = 0; u < KEPT; ++u) {
      r[u] -= alpha * q[u];
      if (u * BLOCK + threadIdx.x < s.n) add(u * BLOCK + threadIdx.x, r[u], p[u]);
    }
  } else {
#pragma unroll 2
    for (int i = threadIdx.x; i < s.n; i += BLOCK) {
      const bool is_own = i >= first && i < end && uses_old;
      add(i, residual(s, step, start, alpha, i), is_own ? __ldcg(s.p(step - 1) + i) : REAL(0));
    }
  }
  sum_of_block(square, product, shared.scratch);

  const bool is_done =
      step == s.iterations || square <= s.tolerance * s.tolerance * (step ? __ldcg(s.history) : square);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    s.history[step] = square, s.products[step] = product;
    *s.steps = is_done ? step : -1;
  }
  if (step == 0)  // beyond the last step the history is 0
    for (int i = 1 + blockIdx.x * BLOCK + threadIdx.x; i <= s.iterations; i += gridDim.x * BLOCK) s.history[i] = 0;
  if (is_done) return false;

  const REAL before = step ? __ldcg(s.products + step - 1) : REAL(0);
  beta = step && s.algorithm != STEEPEST && before > SMALLEST_NORMAL ? product / before : REAL(0);
  if constexpr (IS_SMALL) {
#pragma unroll
    for (int u = 0; u < KEPT; ++u) {
      const int i = u * BLOCK + threadIdx.x;
      if (i >= shared.columns) continue;
      const REAL value = i < s.n ? r[u] / weight(s, step, i) + beta * p[u] : REAL(0);
      shared.staged[i] = value;
      if (i < first || i >= end) continue;
      shared.direction[i - first] = value;
      if (s.algorithm != STEEPEST) s.p(step)[i] = value;
    }
  }
  return true;
}

// Stage the new p from `column` on, zeros beyond n.
__device__ __forceinline__ void stage_p(const Solve &s, int step, Start start, const Shared &shared, REAL alpha,
                                        REAL beta, int column) {
  const int first = s.first(blockIdx.x), end = s.first(blockIdx.x + 1);
#pragma unroll 2
  for (int c = threadIdx.x; c < shared.columns; c += BLOCK) {
    const int i = column + c;
    REAL value = 0;
    if (i < s.n) {
      value = residual(s, step, start, alpha, i) / weight(s, step, i);
      if (beta != 0) value += beta * __ldcg(s.p(step - 1) + i);
    }
    shared.staged[c] = value;
    if (i < first || i >= end) continue;
    shared.direction[i - first] = value;
    if (s.algorithm != STEEPEST) s.p(step)[i] = value;
  }
}

template <int WIDTH>
struct alignas(WIDTH * sizeof(REAL)) Vector {
  REAL value[WIDTH];
};

// The WIDTH elements of A at `place`: read once per step, they bypass the caches.
template <int WIDTH>
__device__ __forceinline__ Vector<WIDTH> elements(const REAL *place) {
  if constexpr (WIDTH == 1) {
    return {__ldcs(place)};
  } else {
    const int4 bits = __ldcs(reinterpret_cast<const int4 *>(place));
    return reinterpret_cast<const Vector<WIDTH> &>(bits);
  }
}

// Add to the sums the products of the block's `number` rows, which begin at `rows` and are `stride` apart, with `count`
// staged elements. With a WIDTH above 1, rows are aligned to 16 bytes and count is a multiple of WIDTH.
template <int WIDTH>
__device__ __forceinline__ void multiply(const Shared &shared, const REAL *rows, int number, long long stride,
                                         int count) {
  const int team = threadIdx.x / TEAM, lane = threadIdx.x % TEAM;
  const auto *factors = reinterpret_cast<const Vector<WIDTH> *>(shared.staged);
  const int accesses = count / WIDTH;
  for (int top = team * ROWS; top < number; top += BLOCK / TEAM * ROWS) {
    REAL sums[ROWS] = {};
    const REAL *row[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; ++k)  // past the last row, that row is used again and its sums are discarded
      row[k] = rows + (top + k < number ? top + k : number - 1) * stride;
    int v = lane;
    for (; v + (UNROLL - 1) * TEAM < accesses; v += UNROLL * TEAM) {
      Vector<WIDTH> of_row[UNROLL][ROWS];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
          of_row[u][k] = elements<WIDTH>(row[k] + (long long)(v + u * TEAM) * WIDTH);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const Vector<WIDTH> factor = factors[v + u * TEAM];
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
#pragma unroll
          for (int w = 0; w < WIDTH; ++w) sums[k] += of_row[u][k].value[w] * factor.value[w];
      }
    }
    for (; v < accesses; v += TEAM) {
      const Vector<WIDTH> factor = factors[v];
#pragma unroll
      for (int k = 0; k < ROWS; ++k) {
        const Vector<WIDTH> of_row = elements<WIDTH>(row[k] + (long long)v * WIDTH);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) sums[k] += of_row.value[w] * factor.value[w];
      }
    }
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
      const REAL sum = sum_of_warp(sums[k]);
      if (lane % WARP == 0 && top + k < number) shared.sums[(top + k) * SLOTS + lane / WARP] += sum;
    }
  }
}

// A block's rows of A, `stride` elements apart.
struct Rows {
  const REAL *start;
  long long stride;
};

// The products of the block's rows with the staged part of a vector from `column` on.
__device__ __forceinline__ void multiply(const Solve &s, const Shared &shared, const Rows &rows, int column) {
  const int number = s.first(blockIdx.x + 1) - s.first(blockIdx.x);
  const int rest = s.n - column, count = rest < shared.columns ? rest : shared.columns;
  if (s.n % WIDE == 0)
    multiply<WIDE>(shared, rows.start + column, number, rows.stride, count);
  else
    multiply<1>(shared, rows.start + column, number, rows.stride, count);
}

// The sum of a row's slots, which are reset to 0.
__device__ __forceinline__ REAL sum_of_row(const Shared &shared, int row) {
  REAL sum = 0;
#pragma unroll
  for (int k = 0; k < SLOTS; ++k) sum += shared.sums[row * SLOTS + k], shared.sums[row * SLOTS + k] = 0;
  return sum;
}

// Reset the sums of the block's rows to 0.
__device__ __forceinline__ void clear_sums(const Solve &s, const Shared &shared) {
  const int number = s.first(blockIdx.x + 1) - s.first(blockIdx.x);
  for (int i = threadIdx.x; i < number * SLOTS; i += BLOCK) shared.sums[i] = 0;
  __syncthreads();
}

// One step: r, x and p from the previous step, then q = A p and this block's part of p.q. False if the solve ends.
__device__ __forceinline__ bool advance(const Solve &s, int step, Start start, const Shared &shared, const Rows &rows) {
  const bool is_small = IS_FOR_SMALL && s.n <= KEPT * BLOCK && shared.columns >= s.n;
  REAL alpha, beta;
  if (is_small ? !renew<IS_FOR_SMALL>(s, step, start, shared, alpha, beta)
               : !renew<false>(s, step, start, shared, alpha, beta))
    return false;
  for (int column = 0; column < s.n; column += shared.columns) {
    if (!is_small) stage_p(s, step, start, shared, alpha, beta, column);
    __syncthreads();  // all is staged
    multiply(s, shared, rows, column);
    __syncthreads();  // the staged part has been read, and the sums are complete
  }
  const int first = s.first(blockIdx.x), number = s.first(blockIdx.x + 1) - first;
  REAL part = 0, unused = 0;
  for (int row = threadIdx.x; row < number; row += BLOCK) {
    const REAL sum = sum_of_row(shared, row);
    s.q(step)[first + row] = sum;
    part += shared.direction[row] * sum;
  }
  sum_of_block(part, unused, shared.scratch);
  if (threadIdx.x == 0) s.parts(step)[blockIdx.x] = part;
  return true;
}

// Update x of the block's rows before r is recomputed from it.
__device__ __forceinline__ void advance_x(const Solve &s, int step) {
  const REAL alpha = length_of_step(s, step);
  for (int i = s.first(blockIdx.x) + threadIdx.x; i < s.first(blockIdx.x + 1); i += BLOCK)
    s.x[i] += alpha * __ldcg(s.p(step - 1) + i);
}

// r = b - A x for the block's rows.
__device__ __forceinline__ void recompute(const Solve &s, int step, const Shared &shared, const Rows &rows) {
  for (int column = 0; column < s.n; column += shared.columns) {
    for (int c = threadIdx.x; c < shared.columns; c += BLOCK)
      shared.staged[c] = column + c < s.n ? __ldcg(s.x + column + c) : REAL(0);
    __syncthreads();
    multiply(s, shared, rows, column);
    __syncthreads();
  }
  const int first = s.first(blockIdx.x), number = s.first(blockIdx.x + 1) - first;
  for (int row = threadIdx.x; row < number; row += BLOCK)
    s.r(step)[first + row] = s.b[first + row] - sum_of_row(shared, row);
}
