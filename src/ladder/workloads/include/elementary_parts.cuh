// The two steps of a matrix-vector product, `product` and `reduction`, with threads numbered linearly over the grid. A
// thread of `reduction` sums LOAD contiguous elements, with 16-byte accesses if they are aligned.
//
// Launch: a grid and a block along x, no dynamic shared memory: at least rows * columns threads for `product`, rows *
// ceil(columns / LOAD) for `reduction`. Excess threads do nothing.
#pragma once
#include "elementary.cuh"

static_assert(LOAD == 4 || LOAD == 8 || LOAD == 12 || LOAD == 16, "load must be 4, 8, 12 or 16");
constexpr unsigned V = 16 / sizeof(REAL);  // elements of a 16-byte access
constexpr unsigned MAX_THREADS = 1024;  // threads of a block
struct alignas(16) Vector {
  REAL value[V];
};

// The first LOAD elements of from (count), with zeros after the last.
struct Part {
  REAL value[LOAD];

  __device__ __forceinline__ Part(const REAL *from, unsigned count) {
    if (count >= LOAD && reinterpret_cast<size_t>(from) % sizeof(Vector) == 0) {
#pragma unroll
      for (unsigned v = 0; v < LOAD / V; ++v) {
        const Vector vector = reinterpret_cast<const Vector *>(from)[v];
#pragma unroll
        for (unsigned w = 0; w < V; ++w) value[v * V + w] = vector.value[w];
      }
    } else {
#pragma unroll
      for (unsigned k = 0; k < LOAD; ++k) value[k] = k < count ? from[k] : REAL(0);
    }
  }
};

// products (rows, columns) = matrix (rows, columns) times x (columns), element by element.
extern "C" __global__ void product(const REAL *matrix, const REAL *x, REAL *products, unsigned rows, unsigned columns) {
  const unsigned i = linear_index();
  if (i < rows * columns) products[i] = matrix[i] * x[i % columns];
}

// One pass over terms (rows, columns): sums (rows, ceil(columns / LOAD)), each of LOAD adjacent elements of a row.
extern "C" __global__ void __launch_bounds__(MAX_THREADS)
    reduction(const REAL *terms, REAL *sums, unsigned rows, unsigned columns) {
  const unsigned i = linear_index(), parts = (columns + LOAD - 1) / LOAD;
  if (i >= rows * parts) return;
  const unsigned row = i / parts, start = i % parts * LOAD;
  const Part part(terms + row * columns + start, columns - start);
  REAL sum = 0;
#pragma unroll
  for (unsigned k = 0; k < LOAD; ++k) sum += part.value[k];
  sums[i] = sum;
}
