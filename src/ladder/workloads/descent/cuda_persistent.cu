// A whole solve in one cooperative launch.
//
// Shapes: matrix (n, n), b and x (n), history (iterations + 1), steps (1), counts (2), which are 0 before the first
// launch, mail (2, n, WORDS); workspace as in Solve of iteration.cuh.
//
// Launch: grid any number of blocks that run at once, for `solve_in_registers` ceil(n / (BLOCK / 32 * ROWS)); block
// BLOCK; dynamic shared memory for `solve` as Shared in iteration.cuh, for `solve_resident` the block's rows and one of
// `stride` elements and 2 * WARP elements, for `solve_in_registers` none.
#include "algorithms.cuh"
#include "block.cuh"
#include "grid.cuh"
#include "iteration.cuh"
#include "warp.cuh"
#if COLUMNS
#include "in_registers.cuh"
#endif

// A is read from global memory in every step, after a barrier of the grid.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, REAL *vectors, REAL *weights,
          REAL *products, int n, int iterations, int algorithm, REAL tolerance, int columns, int period,
          unsigned *counts) {
  const Solve s = {matrix, b, x, history, steps, vectors, weights, products, n, iterations, algorithm, tolerance};
  extern __shared__ int4 memory[];
  const Rows rows = {matrix + s.first(blockIdx.x) * (long long)n, n};
  const Shared shared(reinterpret_cast<REAL *>(memory), s.first(blockIdx.x + 1) - s.first(blockIdx.x), columns);
  clear_sums(s, shared);
  GridBarrier barrier = {counts};
  for (int step = 0;; ++step) {
    const bool is_due = period && step && step % period == 0;
    if (is_due) {
      advance_x(s, step);
      barrier.wait();
      recompute(s, step, shared, rows);
      barrier.wait();
    }
    if (!advance(s, step, is_due ? RECOMPUTED : CARRIED, shared, rows)) break;
    barrier.wait();
  }
  barrier.leave();
}

#if TEAM == 32  // otherwise n is large
constexpr int ELEMENTS = (FLOAT64 ? 2048 : 3072) / BLOCK;  // elements of a vector that a thread has

// Call work(u, i) for each of this thread's elements of a vector: its index u in the thread, and i in the vector.
template <typename Work>
__device__ __forceinline__ void for_each(int n, Work work) {
#pragma unroll
  for (int u = 0; u < ELEMENTS; ++u)
    if (const int i = u * BLOCK + threadIdx.x; i < n) work(u, i);
}
#endif

// Count a launch once all blocks have called this; counts (2) are the number of launches so far, and of blocks arrived.
__device__ __forceinline__ void count_launch(unsigned *counts) {
  if (threadIdx.x || atomicAdd(counts + 1, 1u) < gridDim.x - 1) return;
  counts[1] = 0, ++counts[0];
}

// The block's rows of A stay in its shared memory, `stride` elements each, zeros beyond n; all vectors are in the
// registers of every block's threads. Blocks exchange their elements of A v as flagged values in mail (2, n, WORDS),
// double-buffered: a block stores its part of a turn only after it has read all of the previous turn, whose writers had
// read the one before.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve_resident(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps,
                   unsigned long long *mail, int n, int iterations, int algorithm, REAL tolerance, int stride,
                   int period, unsigned *counts) {
#if TEAM == 32
  extern __shared__ int4 memory[];
  const int first = (long long)n * blockIdx.x / gridDim.x, end = (long long)n * (blockIdx.x + 1) / gridDim.x;
  REAL *rows = reinterpret_cast<REAL *>(memory), *staged = rows + (end - first) * stride, *scratch = staged + stride;
  for (int row = first; row < end; ++row)
    for (int i = threadIdx.x; i < stride; i += BLOCK)
      rows[(row - first) * stride + i] = i < n ? matrix[(long long)row * n + i] : REAL(0);
  unsigned turn = __ldcg(counts) * (2 * iterations + 2);  // unique across launches
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;

  REAL r[ELEMENTS] = {}, p[ELEMENTS] = {}, q[ELEMENTS] = {}, of_x[ELEMENTS] = {}, inverse[ELEMENTS] = {};
  // q = A v, in all blocks.
  auto multiply = [&](const REAL *v) {
    ++turn;
#pragma unroll
    for (int u = 0; u < ELEMENTS; ++u)
      if (const int i = u * BLOCK + threadIdx.x; i < stride) staged[i] = i < n ? v[u] : REAL(0);
    __syncthreads();
    unsigned long long *place = mail + (turn & 1) * WORDS * n;
    const auto *factors = reinterpret_cast<const Vector<WIDE> *>(staged);
    for (int top = warp * ROWS; top < end - first; top += WARPS_OF_BLOCK * ROWS) {
      REAL sums[ROWS] = {};
      for (int access = lane; access < stride / WIDE; access += WARP) {
        const Vector<WIDE> factor = factors[access];
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {
          const int row = top + k < end - first ? top + k : top;
          const Vector<WIDE> of_row = reinterpret_cast<const Vector<WIDE> *>(rows + row * stride)[access];
#pragma unroll
          for (int w = 0; w < WIDE; ++w) sums[k] += of_row.value[w] * factor.value[w];
        }
      }
#pragma unroll
      for (int k = 0; k < ROWS; ++k) {
        const REAL sum = sum_of_warp(sums[k]);
        if (lane == 0 && top + k < end - first) store_flagged(place + (first + top + k) * WORDS, sum, turn);
      }
    }
    bool is_whole;
    do {  // all loads are issued at once, so that their latencies overlap
      unsigned long long words[ELEMENTS][WORDS];
      for_each(n, [&](int u, int i) { load_flagged(words[u], place + i * WORDS); });
      is_whole = true;
      for_each(n, [&](int u, int i) { is_whole &= is_ready(words[u], turn, q[u]); });
    } while (!is_whole);
  };
  // r.r and r.z, the same in all threads.
  auto squares = [&](REAL &square, REAL &product) {
    square = product = 0;
    for_each(n, [&](int u, int i) { square += r[u] * r[u], product += r[u] * r[u] * inverse[u]; });
    sum_of_block(square, product, scratch);
  };

  REAL square, product, before = 0, limit = 0;
  for_each(n, [&](int u, int i) {
    r[u] = b[i];
    inverse[u] = algorithm == JACOBI ? 1 / matrix[(long long)i * (n + 1)] : REAL(1);
  });
  int step = 0;
  for (;; ++step) {
    squares(square, product);
    if (step == 0) limit = tolerance * tolerance * square;
    if (blockIdx.x == 0 && threadIdx.x == 0) history[step] = square;
    if (step == iterations || square <= limit) break;
    const REAL beta = algorithm != STEEPEST && before > SMALLEST_NORMAL ? product / before : REAL(0);
    for_each(n, [&](int u, int i) { p[u] = r[u] * inverse[u] + beta * p[u]; });
    multiply(p);
    REAL curvature = 0, unused = 0;
    for_each(n, [&](int u, int i) { curvature += p[u] * q[u]; });
    sum_of_block(curvature, unused, scratch);
    const REAL alpha = curvature > SMALLEST_NORMAL ? product / curvature : REAL(0);
    before = product;
    for_each(n, [&](int u, int i) { of_x[u] += alpha * p[u], r[u] -= alpha * q[u]; });
    if (period && (step + 1) % period == 0) {
      multiply(of_x);
      for_each(n, [&](int u, int i) { r[u] = b[i] - q[u]; });
    }
  }
  if (blockIdx.x == 0) {
    for_each(n, [&](int u, int i) { x[i] = of_x[u]; });
    if (threadIdx.x == 0) *steps = step;
    for (int i = step + 1 + threadIdx.x; i <= iterations; i += BLOCK) history[i] = 0;
  }
  count_launch(counts);
#endif
}

#if COLUMNS
// The exchange of q as flagged values in mail (2, n, WORDS), as above: every thread of a block waits for some of its
// elements.
struct ByMail {
  REAL (*products)[LENGTH];
  unsigned long long *mail;
  int n;
  unsigned first_turn;  // unique across launches
  unsigned *counts;

  __device__ __forceinline__ void ready() const {
    for (int i = threadIdx.x; i < LENGTH; i += BLOCK) products[0][i] = products[1][i] = 0;
    __syncthreads();
  }

  __device__ __forceinline__ bool takes_part() const { return true; }  // every warp waits in receive()
  __device__ __forceinline__ void begin(int) const {}
  __device__ __forceinline__ unsigned long long *place(int step, int i) const {
    return mail + ((step & 1) * n + i) * WORDS;
  }

  // Store this warp's sums (ROWS), which all lanes have, by a lane each.
  __device__ __forceinline__ void send(int step, const REAL (&sums)[ROWS]) const {
    const int lane = threadIdx.x % WARP, row = first_row<ROWS>() + lane;
    REAL sum = sums[0];
#pragma unroll
    for (int k = 1; k < ROWS; ++k) sum = lane == k ? sums[k] : sum;
    if (lane < ROWS && row < n) store_flagged(place(step, row), sum, first_turn + step);
  }

  __device__ __forceinline__ const REAL *receive(int step) const {
    constexpr int SHARE = (LENGTH + BLOCK - 1) / BLOCK;
    REAL q[SHARE];
    bool is_whole;
    do {  // all loads are issued at once, so that their latencies overlap
      unsigned long long words[SHARE][WORDS];
#pragma unroll
      for (int u = 0; u < SHARE; ++u)
        if (const int i = u * BLOCK + threadIdx.x; i < n) load_flagged(words[u], place(step, i));
      is_whole = true;
#pragma unroll
      for (int u = 0; u < SHARE; ++u)
        if (const int i = u * BLOCK + threadIdx.x; i < n) is_whole &= is_ready(words[u], first_turn + step, q[u]);
    } while (!is_whole);
#pragma unroll
    for (int u = 0; u < SHARE; ++u)
      if (const int i = u * BLOCK + threadIdx.x; i < n) products[step & 1][i] = q[u];
    __syncthreads();  // all threads have read the previous step's q: its buffer is free for the next one
    return products[step & 1];
  }

  __device__ __forceinline__ void leave() const { count_launch(counts); }
};
#endif

// A and all vectors are in registers, at most LENGTH elements each.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    solve_in_registers(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps,
                       unsigned long long *mail, int n, int iterations, int algorithm, REAL tolerance,
                       unsigned *counts) {
#if COLUMNS
  __shared__ alignas(16) REAL products[2][LENGTH];
  ByMail exchange = {products, mail, n, __ldcg(counts) * (iterations + 1) + 1, counts};
  solve_by<ROWS>(algorithm, {matrix, b, x, history, steps, n, iterations, tolerance}, exchange);
#endif
}
