// The operations of the training beside its products. Deltas carry the factor of the rate from the output on, so that
// a change is an addition, which a product's addend does for the weights. Sums are taken in the same order every time.
#include "warp.cuh"

constexpr int ROWS = 256;  // of a block that works on columns

// Rows ranpat of an array: a block a row.
extern "C" __global__ void __launch_bounds__(256)
    gather(const REAL *from, const long long *ranpat, REAL *to, int columns) {
  from += size_t(ranpat[blockIdx.x]) * columns;
  to += size_t(blockIdx.x) * columns;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) to[j] = from[j];
}

// z <- sigmoid(z + bias)
extern "C" __global__ void __launch_bounds__(256) sigmoid(REAL *z, const REAL *bias, int count, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i] = 1 / (1 + exp(-(z[i] + bias[i % columns])));
}

// The sums of what all threads of a block have of their columns, in row blockIdx.y of `parts`. Thread x has the block's
// column x, thread y every 32nd of its rows.
__device__ void store_sums(REAL sum, REAL *parts, int columns) {
  __shared__ REAL sums[WARP][WARP + 1];
  sums[threadIdx.x][threadIdx.y] = sum;
  __syncthreads();  // a warp adds up those of a column
  sum = sum_of_warp(sums[threadIdx.y][threadIdx.x]);
  const int own = blockIdx.x * WARP + threadIdx.y;
  if (threadIdx.x == 0 && own < columns) parts[size_t(blockIdx.y) * columns + own] = sum;
  __syncthreads();  // nobody reads the sums any more
}

// The block's rows of this thread's column: f(index).
template <class Function>
__device__ void each(int rows, int columns, Function f) {
  const int j = blockIdx.x * WARP + threadIdx.x, first = blockIdx.y * ROWS;
  if (j < columns)
    for (int i = first + threadIdx.y; i < min(first + ROWS, rows); i += WARP) f(size_t(i) * columns + j);
}

// delta of the outputs, times the rate; by columns and blocks the sums of it and of the error.
extern "C" __global__ void __launch_bounds__(1024)
    output(const REAL *out, const REAL *targets, REAL *delta, REAL *parts, REAL *errors, int rows, int columns, REAL rate) {
  REAL sum = 0, error = 0;
  each(rows, columns, [&](size_t at) {
    const REAL o = out[at], off = targets[at] - o;
    error += off * off / 2;
    sum += delta[at] = rate * off * o * (1 - o);
  });
  store_sums(sum, parts, columns);
  store_sums(error, errors, columns);
}

// delta <- delta times the slope at `out`; the sums of it by columns and blocks.
extern "C" __global__ void __launch_bounds__(1024)
    slope(REAL *delta, const REAL *out, REAL *parts, int rows, int columns) {
  REAL sum = 0;
  each(rows, columns, [&](size_t at) {
    const REAL o = out[at];
    sum += delta[at] *= o * (1 - o);
  });
  store_sums(sum, parts, columns);
}

// sums <- kept sums + those of all parts, a warp for each column; what isn't kept may be anything.
extern "C" __global__ void __launch_bounds__(WARP) add_up(const REAL *parts, REAL *sums, int count, int columns, REAL kept) {
  REAL sum = 0;
  for (int i = threadIdx.x; i < count; i += WARP) sum += parts[size_t(i) * columns + blockIdx.x];
  sum = sum_of_warp(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = kept ? kept * sums[blockIdx.x] + sum : sum;
}

extern "C" __global__ void __launch_bounds__(256) scale(REAL *values, REAL factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

extern "C" __global__ void __launch_bounds__(256) add(REAL *values, const REAL *others, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += others[i];
}
