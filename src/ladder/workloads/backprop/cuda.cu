// The operations of the training other than its products. Deltas include the rate from the output on, so that a change
// is an addition; for the weights it is the product's addend. Sums are in a fixed order.
//
// Launch: `gather` grid patterns, block 256; `sigmoid`, `scale` and `add` grid ceil(count / 256), block 256; `output`
// and `slope` grid (ceil(columns / 32), ceil(rows / ROWS)), block (32, 32); `add_up` grid columns, block 32. No dynamic
// shared memory.
#include "warp.cuh"

constexpr int ROWS = 256;  // of a block that works on columns

// to (patterns, columns) = rows ranpat (patterns) of from (images, columns): a block per row.
extern "C" __global__ void __launch_bounds__(256)
    gather(const REAL *from, const long long *ranpat, REAL *to, int columns) {
  from += size_t(ranpat[blockIdx.x]) * columns;
  to += size_t(blockIdx.x) * columns;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) to[j] = from[j];
}

// z <- sigmoid(z + bias), with z (count / columns, columns) and bias (columns).
extern "C" __global__ void __launch_bounds__(256) sigmoid(REAL *z, const REAL *bias, int count, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i] = 1 / (1 + exp(-(z[i] + bias[i % columns])));
}

// Store a block's column sums in row blockIdx.y of parts (gridDim.y, columns). Thread (x, y) has the sum of the block's
// column x over every 32nd row from y on.
__device__ void store_sums(REAL sum, REAL *parts, int columns) {
  __shared__ REAL sums[WARP][WARP + 1];
  sums[threadIdx.x][threadIdx.y] = sum;
  __syncthreads();  // the sums are complete; a warp adds those of a column
  sum = sum_of_warp(sums[threadIdx.y][threadIdx.x]);
  const int column = blockIdx.x * WARP + threadIdx.y;
  if (threadIdx.x == 0 && column < columns) parts[size_t(blockIdx.y) * columns + column] = sum;
  __syncthreads();  // all threads have read the sums
}

// Call f(index) for this thread's elements: one column, the block's rows.
template <class Function>
__device__ void each(int rows, int columns, Function f) {
  const int j = blockIdx.x * WARP + threadIdx.x, first = blockIdx.y * ROWS;
  if (j < columns)
    for (int i = first + threadIdx.y; i < min(first + ROWS, rows); i += WARP) f(size_t(i) * columns + j);
}

// delta (rows, columns) of out and targets (rows, columns), times the rate; `parts` and `errors` (blocks, columns) are
// column sums of it and of the error.
extern "C" __global__ void __launch_bounds__(1024)
    output(const REAL *out, const REAL *targets, REAL *delta, REAL *parts, REAL *errors, int rows, int columns,
           REAL rate) {
  REAL sum = 0, error = 0;
  each(rows, columns, [&](size_t at) {
    const REAL o = out[at], off = targets[at] - o;
    error += off * off / 2;
    sum += delta[at] = rate * off * o * (1 - o);
  });
  store_sums(sum, parts, columns);
  store_sums(error, errors, columns);
}

// delta (rows, columns) <- delta times the derivative at out (rows, columns), and its column sums, parts (blocks,
// columns).
extern "C" __global__ void __launch_bounds__(1024)
    slope(REAL *delta, const REAL *out, REAL *parts, int rows, int columns) {
  REAL sum = 0;
  each(rows, columns, [&](size_t at) {
    const REAL o = out[at];
    sum += delta[at] *= o * (1 - o);
  });
  store_sums(sum, parts, columns);
}

// sums (columns) <- kept * sums + the column sums of parts (count, columns), a warp per column; if kept is 0, sums need
// not be initialised.
extern "C" __global__ void __launch_bounds__(WARP)
    add_up(const REAL *parts, REAL *sums, int count, int columns, REAL kept) {
  REAL sum = 0;
  for (int i = threadIdx.x; i < count; i += WARP) sum += parts[size_t(i) * columns + blockIdx.x];
  sum = sum_of_warp(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = kept ? kept * sums[blockIdx.x] + sum : sum;
}

// values (count) <- factor values.
extern "C" __global__ void __launch_bounds__(256) scale(REAL *values, REAL factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

// values (count) <- values + others (count).
extern "C" __global__ void __launch_bounds__(256) add(REAL *values, const REAL *others, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += others[i];
}
