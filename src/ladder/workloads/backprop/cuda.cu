// The operations of the training other than its products. The output's deltas include the rate, hence all deltas do:
// products add gradients to dw without a factor. Sums are in a fixed order.
//
// Launch: `gather` grid patterns, block 256; `sigmoid`, `scale` and `add` grid ceil(count / 256), block 256; `output`
// and `slope` grid (ceil(columns / 32), ceil(rows / BLOCK_ROWS)), block (32, 32); `add_up` grid columns, block 32.
// No dynamic shared memory.
#include "warp.cuh"

constexpr int BLOCK_ROWS = 256;  // rows of a block of `output` and `slope`

// to (patterns, columns) = the rows of from (images, columns) that ranpat (patterns) lists, a block per row.
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

// Store a block's column sums in row blockIdx.y of `partials` (gridDim.y, columns). Thread (x, y) passes the sum of the
// block's column x over every 32nd row from y on.
__device__ void store_sums(REAL sum, REAL *partials, int columns) {
  __shared__ REAL sums[WARP][WARP + 1];
  sums[threadIdx.x][threadIdx.y] = sum;
  __syncthreads();  // the sums are complete; a warp adds those of a column
  sum = sum_of_warp(sums[threadIdx.y][threadIdx.x]);
  const int column = blockIdx.x * WARP + threadIdx.y;
  if (threadIdx.x == 0 && column < columns) partials[size_t(blockIdx.y) * columns + column] = sum;
  __syncthreads();  // all threads have read the sums
}

// Call f(index) for this thread's elements of the block: every 32nd row of one column.
template <class Function>
__device__ void for_each_element(int rows, int columns, Function f) {
  const int j = blockIdx.x * WARP + threadIdx.x, first = blockIdx.y * BLOCK_ROWS;
  if (j < columns)
    for (int i = first + threadIdx.y; i < min(first + BLOCK_ROWS, rows); i += WARP) f(size_t(i) * columns + j);
}

// delta (rows, columns) = rate times the deltas of out and targets (rows, columns). `partials` and `errors` (blocks,
// columns) are the column sums of delta and of the error, by block.
extern "C" __global__ void __launch_bounds__(1024)
    output(const REAL *out, const REAL *targets, REAL *delta, REAL *partials, REAL *errors, int rows, int columns,
           REAL rate) {
  REAL sum = 0, error = 0;
  for_each_element(rows, columns, [&](size_t i) {
    const REAL o = out[i], residual = targets[i] - o;
    error += residual * residual / 2;
    sum += delta[i] = rate * residual * o * (1 - o);
  });
  store_sums(sum, partials, columns);
  store_sums(error, errors, columns);
}

// delta (rows, columns) <- delta times the sigmoid's derivative at out (rows, columns); partials (blocks, columns) are
// its column sums, by block.
extern "C" __global__ void __launch_bounds__(1024)
    slope(REAL *delta, const REAL *out, REAL *partials, int rows, int columns) {
  REAL sum = 0;
  for_each_element(rows, columns, [&](size_t i) {
    const REAL o = out[i];
    sum += delta[i] *= o * (1 - o);
  });
  store_sums(sum, partials, columns);
}

// sums (columns) <- beta sums + the column sums of partials (count, columns), a warp per column. If beta is 0, sums may
// be uninitialised.
extern "C" __global__ void __launch_bounds__(WARP)
    add_up(const REAL *partials, REAL *sums, int count, int columns, REAL beta) {
  REAL sum = 0;
  for (int i = threadIdx.x; i < count; i += WARP) sum += partials[size_t(i) * columns + blockIdx.x];
  sum = sum_of_warp(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = beta ? beta * sums[blockIdx.x] + sum : sum;
}

// values (count) <- factor values.
extern "C" __global__ void __launch_bounds__(256) scale(REAL *values, REAL factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

// values (count) <- values + increments (count).
extern "C" __global__ void __launch_bounds__(256) add(REAL *values, const REAL *increments, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += increments[i];
}
