// A whole solve in one cooperative launch.
//
// Shapes: matrix (n, n), b and x (n), history (iterations + 1), steps (1), counts (2), which are 0 before the first
// launch, slots (2, n, VALUE_WORDS); workspace as in SolveState of iteration.cuh.
//
// Launch: grid any number of blocks that run at once, for `solve_in_registers` ceil(n / (BLOCK / 32 * ROWS)); block
// BLOCK; dynamic shared memory for `solve` as SharedMemory in iteration.cuh, for `solve_resident` the block's rows of A
// and one vector, `stride` elements each, and 2 * WARP elements, for `solve_in_registers` none.
#include "algorithms.cuh"
#include "block.cuh"
#include "grid.cuh"
#include "iteration.cuh"
#include "warp.cuh"
#if COLUMNS
#include "register_solve.cuh"
#endif

// A is read from global memory in every step, after a barrier of the grid. r is recomputed every `period` steps, or
// never if that is 0; `staged_columns` elements of a vector are staged at once.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *vectors, REAL *diagonal,
          REAL *rz, int n, int iterations, int algorithm, REAL tolerance, int staged_columns, int period,
          unsigned *counts) {
  const SolveState state = {matrix, b, x, history, steps, vectors, diagonal, rz, n, iterations, algorithm, tolerance};
  extern __shared__ int4 memory[];
  const Rows rows = {matrix + state.first_row(blockIdx.x) * (long long)n, n};
  const int row_count = state.first_row(blockIdx.x + 1) - state.first_row(blockIdx.x);
  const SharedMemory shared(reinterpret_cast<REAL *>(memory), row_count, staged_columns);
  clear_row_sums(state, shared);
  GridBarrier barrier = {counts};
  for (int step = 0;; ++step) {
    const bool is_recomputed = period && step && step % period == 0;
    if (is_recomputed) {
      update_block_x(state, step);
      barrier.wait();
      recompute_block_residual(state, step, shared, rows);
      barrier.wait();
    }
    if (!advance(state, step, is_recomputed ? RECOMPUTED : UPDATED, shared, rows)) break;
    barrier.wait();
  }
  barrier.leave();
}

#if TEAM == 32  // otherwise n is large
constexpr int ELEMENTS_PER_THREAD = (FLOAT64 ? 2048 : 3072) / BLOCK;  // elements of a vector in a thread's registers

// Call function(u, i) for each of this thread's elements of a vector, where its index is u in the thread and i in the
// vector.
template <typename Function>
__device__ __forceinline__ void for_each(int n, Function function) {
#pragma unroll
  for (int u = 0; u < ELEMENTS_PER_THREAD; ++u)
    if (const int i = u * BLOCK + threadIdx.x; i < n) function(u, i);
}
#endif

// The block's rows of A stay in its shared memory, `stride` elements each, zeros beyond n; all vectors are in the
// registers of every block's threads. Blocks exchange their elements of A v as flagged values (see grid.cuh) through
// slots (2, n, VALUE_WORDS). The flag is the number of the product. Two buffers suffice: a block stores its part of a
// product only after it has read all of the previous product, so all blocks have read the product that it overwrites.
// The kernel is empty unless TEAM is 32.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve_resident(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps,
                   unsigned long long *slots, int n, int iterations, int algorithm, REAL tolerance, int stride,
                   int period, unsigned *counts) {
#if TEAM == 32
  extern __shared__ int4 memory[];
  const int first = (long long)n * blockIdx.x / gridDim.x, end = (long long)n * (blockIdx.x + 1) / gridDim.x;
  REAL *rows = reinterpret_cast<REAL *>(memory), *staged_vector = rows + (end - first) * stride;
  REAL *scratch = staged_vector + stride;
  for (int row = first; row < end; ++row)
    for (int i = threadIdx.x; i < stride; i += BLOCK)
      rows[(row - first) * stride + i] = i < n ? matrix[(long long)row * n + i] : REAL(0);
  unsigned flag = __ldcg(counts) * (2 * iterations + 2);  // a launch has at most 2 * iterations products
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;

  REAL r[ELEMENTS_PER_THREAD] = {}, p[ELEMENTS_PER_THREAD] = {}, q[ELEMENTS_PER_THREAD] = {};
  REAL x_elements[ELEMENTS_PER_THREAD] = {}, inverse_diagonal[ELEMENTS_PER_THREAD] = {};
  // q = A v, in all blocks.
  auto multiply = [&](const REAL *v) {
    ++flag;
#pragma unroll
    for (int u = 0; u < ELEMENTS_PER_THREAD; ++u)
      if (const int i = u * BLOCK + threadIdx.x; i < stride) staged_vector[i] = i < n ? v[u] : REAL(0);
    __syncthreads();
    unsigned long long *buffer = slots + (flag & 1) * VALUE_WORDS * n;
    const auto *factors = reinterpret_cast<const Vector<VECTOR_WIDTH> *>(staged_vector);
    for (int top = warp * ROWS; top < end - first; top += WARPS_OF_BLOCK * ROWS) {
      REAL sums[ROWS] = {};
      for (int access = lane; access < stride / VECTOR_WIDTH; access += WARP) {
        const Vector<VECTOR_WIDTH> factor = factors[access];
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {
          const int row = top + k < end - first ? top + k : top;
          const auto row_elements = reinterpret_cast<const Vector<VECTOR_WIDTH> *>(rows + row * stride)[access];
#pragma unroll
          for (int w = 0; w < VECTOR_WIDTH; ++w) sums[k] += row_elements.value[w] * factor.value[w];
        }
      }
#pragma unroll
      for (int k = 0; k < ROWS; ++k) {
        const REAL sum = sum_of_warp(sums[k]);
        if (lane == 0 && top + k < end - first) store_flagged(buffer + (first + top + k) * VALUE_WORDS, sum, flag);
      }
    }
    bool is_complete;
    do {  // all loads are issued at once, so that their latencies overlap
      unsigned long long words[ELEMENTS_PER_THREAD][VALUE_WORDS];
      for_each(n, [&](int u, int i) { load_flagged(words[u], buffer + i * VALUE_WORDS); });
      is_complete = true;
      for_each(n, [&](int u, int i) { is_complete &= is_ready(words[u], flag, q[u]); });
    } while (!is_complete);
  };
  // rr = r.r and rz = r.z, the same in all threads.
  auto sum_residual = [&](REAL &rr, REAL &rz) {
    rr = rz = 0;
    for_each(n, [&](int u, int i) { rr += r[u] * r[u], rz += r[u] * r[u] * inverse_diagonal[u]; });
    sum_over_block(rr, rz, scratch);
  };

  REAL rr, rz, previous_rz = 0, limit = 0;
  for_each(n, [&](int u, int i) {
    r[u] = b[i];
    inverse_diagonal[u] = algorithm == JACOBI ? 1 / matrix[(long long)i * (n + 1)] : REAL(1);
  });
  int step = 0;
  for (;; ++step) {
    sum_residual(rr, rz);
    if (step == 0) limit = tolerance * tolerance * rr;
    if (blockIdx.x == 0 && threadIdx.x == 0) history[step] = rr;
    if (step == iterations || rr <= limit) break;
    const REAL beta = algorithm != STEEPEST && previous_rz > SMALLEST_NORMAL ? rz / previous_rz : REAL(0);
    for_each(n, [&](int u, int i) { p[u] = r[u] * inverse_diagonal[u] + beta * p[u]; });
    multiply(p);
    REAL pq = 0, unused = 0;
    for_each(n, [&](int u, int i) { pq += p[u] * q[u]; });
    sum_over_block(pq, unused, scratch);
    const REAL alpha = pq > SMALLEST_NORMAL ? rz / pq : REAL(0);
    previous_rz = rz;
    for_each(n, [&](int u, int i) { x_elements[u] += alpha * p[u], r[u] -= alpha * q[u]; });
    if (period && (step + 1) % period == 0) {
      multiply(x_elements);
      for_each(n, [&](int u, int i) { r[u] = b[i] - q[u]; });
    }
  }
  if (blockIdx.x == 0) {
    for_each(n, [&](int u, int i) { x[i] = x_elements[u]; });
    if (threadIdx.x == 0) *steps = step;
    for (int i = step + 1 + threadIdx.x; i <= iterations; i += BLOCK) history[i] = 0;
  }
  count_launch(counts);
#endif
}

#if COLUMNS
// The exchange of q as flagged values through slots (2, n, VALUE_WORDS), as in `solve_resident`: every thread of a
// block waits for some of q's elements.
struct FlaggedExchange {
  REAL (*q_buffers)[VECTOR_LENGTH];
  unsigned long long *slots;
  int n;
  unsigned first_flag;  // that of step 0: no flag of an earlier launch is as large
  unsigned *counts;

  __device__ __forceinline__ void prepare() const {
    for (int i = threadIdx.x; i < VECTOR_LENGTH; i += BLOCK) q_buffers[0][i] = q_buffers[1][i] = 0;
    __syncthreads();
  }

  __device__ __forceinline__ bool is_active() const { return true; }  // every warp waits in receive()
  __device__ __forceinline__ void begin(int) const {}
  __device__ __forceinline__ unsigned long long *slot(int step, int i) const {
    return slots + ((step & 1) * n + i) * VALUE_WORDS;
  }

  // Store this warp's sums (ROWS), which every lane holds: lane l stores sum l.
  __device__ __forceinline__ void send(int step, const REAL (&sums)[ROWS]) const {
    const int lane = threadIdx.x % WARP, row = first_row<ROWS>() + lane;
    REAL sum = sums[0];
#pragma unroll
    for (int k = 1; k < ROWS; ++k) sum = lane == k ? sums[k] : sum;
    if (lane < ROWS && row < n) store_flagged(slot(step, row), sum, first_flag + step);
  }

  __device__ __forceinline__ const REAL *receive(int step) const {
    constexpr int Q_ELEMENTS_PER_THREAD = (VECTOR_LENGTH + BLOCK - 1) / BLOCK;
    REAL q[Q_ELEMENTS_PER_THREAD];
    bool is_complete;
    do {  // all loads are issued at once, so that their latencies overlap
      unsigned long long words[Q_ELEMENTS_PER_THREAD][VALUE_WORDS];
#pragma unroll
      for (int u = 0; u < Q_ELEMENTS_PER_THREAD; ++u)
        if (const int i = u * BLOCK + threadIdx.x; i < n) load_flagged(words[u], slot(step, i));
      is_complete = true;
#pragma unroll
      for (int u = 0; u < Q_ELEMENTS_PER_THREAD; ++u)
        if (const int i = u * BLOCK + threadIdx.x; i < n) is_complete &= is_ready(words[u], first_flag + step, q[u]);
    } while (!is_complete);
#pragma unroll
    for (int u = 0; u < Q_ELEMENTS_PER_THREAD; ++u)
      if (const int i = u * BLOCK + threadIdx.x; i < n) q_buffers[step & 1][i] = q[u];
    __syncthreads();  // all threads have read the previous step's q: its buffer is free for the next one
    return q_buffers[step & 1];
  }

  __device__ __forceinline__ void leave() const { count_launch(counts); }
};
#endif

// A and all vectors are in registers; a vector has at most VECTOR_LENGTH elements. The kernel is empty if COLUMNS is 0.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve_in_registers(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps,
                       unsigned long long *slots, int n, int iterations, int algorithm, REAL tolerance,
                       unsigned *counts) {
#if COLUMNS
  __shared__ alignas(16) REAL q_buffers[2][VECTOR_LENGTH];
  FlaggedExchange exchange = {q_buffers, slots, n, __ldcg(counts) * (iterations + 1) + 1, counts};
  solve_by<ROWS>(algorithm, {matrix, b, x, history, steps, n, iterations, tolerance}, exchange);
#endif
}
