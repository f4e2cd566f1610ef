// A thread computes a column of a block's tile, with its BM sums in registers. A tile of op(A), BM x BK, is transposed
// in shared memory; an element of op(B) is loaded from global memory to a register and multiplied by the BM elements of
// a column of that tile, which all threads read at once, in vectors. So only one factor of every FMA is loaded from
// shared memory.
//
// While a tile is multiplied, the next one is copied asynchronously into the other of two buffers; an element of op(B)
// is replaced by the one BK further along k as soon as it has been used.
//
// Launch: grid (ceil(n / BN), ceil(m / BM)), block BN, no dynamic shared memory. The grid's y is at most 65535.
#include "operands.cuh"
#include "ptx/async_copy.cuh"
#include "vector.cuh"

constexpr int A_ROW = BM / V + 1;  // vectors in a row of a tile, padded by one against bank conflicts of the copies
constexpr int DATA_REGISTERS = (BM + BK) * sizeof(REAL) / 4;  // for a thread's sums and its elements of op(B)

static_assert(BM % V == 0 && BK % V == 0, "BM and BK must be multiples of 16 bytes: 4 for float32, 2 for float64.");
static_assert(BM * BK % BN == 0, "The BN threads must share the BM x BK elements of a tile evenly.");
static_assert(BN <= 1024, "A block has at most 1024 threads: lower BN.");
static_assert(DATA_REGISTERS <= 160, "A thread's sums and elements of B don't fit in its registers: lower BM or BK.");
static_assert(2 * BK * A_ROW <= 3072, "The tiles need more than 48 KiB of shared memory: lower BM or BK.");

// Elements p to p + V - 1 of column j of op(B) (k, n), zeros outside. `wide` says that rows of B are aligned to
// vectors.
template <Form form>
__device__ __forceinline__ Vector load_column(const REAL *__restrict__ b, int p, int j, int n, int k, bool wide) {
  Vector elements = {};
  if (form == Form::nt && wide) {
    if (j < n && p < k) elements = *reinterpret_cast<const Vector *>(b + b_index<form>(p, j, n, k));
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (j < n && p + v < k) elements.value[v] = b[b_index<form>(p + v, j, n, k)];
  }
  return elements;
}

// Compute a block's part of out (m, n); operands.cuh describes the arguments.
template <Form form>
__device__ __forceinline__ void compute_product(GEMM_ARGUMENTS) {
  __shared__ Vector tiles[2][BK][A_ROW];  // [buffer][p][row of the result]
  const int top = blockIdx.y * BM, j = blockIdx.x * BN + threadIdx.x;
  const bool wide = k % V == 0 && reinterpret_cast<size_t>(b) % sizeof(Vector) == 0;

  auto load_tile = [&](int start) {
#pragma unroll
    for (int offset = 0; offset < BM * BK; offset += BN) {
      const int element = offset + threadIdx.x;  // its number in the tile
      // Neighbouring threads read neighbouring addresses, whichever index is the contiguous one.
      const int i = form == Form::tn ? element % BM : element / BK;
      const int p = form == Form::tn ? element / BM : element % BK;
      copy_async<sizeof(REAL)>(&tiles[start / BK % 2][p][i / V].value[i % V],
                               a + a_index<form>(top + i, start + p, m, k), top + i < m && start + p < k);
    }
  };

  Vector b_vectors[BK / V];
  load_tile(0);
#pragma unroll
  for (int q = 0; q < BK / V; ++q) b_vectors[q] = load_column<form>(b, q * V, j, n, k, wide);
  REAL sums[BM] = {};
  for (int start = 0; start < k; start += BK) {
    wait_for_copies();
    // After this barrier the tile is complete, and the other buffer is free.
    __syncthreads();
    if (start + BK < k) load_tile(start + BK);
    const Vector(*const tile)[A_ROW] = tiles[start / BK % 2];
#pragma unroll
    for (int q = 0; q < BK / V; ++q) {
#pragma unroll
      for (int v = 0; v < V; ++v)
#pragma unroll
        for (int i = 0; i < BM / V; ++i) {
          const Vector a_vector = tile[q * V + v][i];
#pragma unroll
          for (int u = 0; u < V; ++u) sums[i * V + u] += a_vector.value[u] * b_vectors[q].value[v];
        }
      b_vectors[q] = load_column<form>(b, start + BK + q * V, j, n, k, wide);
    }
  }

  if (j >= n) return;
#pragma unroll
  for (int i = 0; i < BM; ++i) {
    if (top + i >= m) return;
    const size_t index = size_t(top + i) * n + j;
    out[index] = c ? sums[i] + c[index] : sums[i];
  }
}

GEMM_KERNELS(__launch_bounds__(BN))
