// The operations of the training other than its products. The loss's derivative includes the factor -rate, hence all
// deltas do: updates are additions without a factor. Sums are in a fixed order.
//
// Launch: `gather` grid rows, block 256; `sigmoid` and `relu` grid ceil(count / 256), block 256; `softmax_loss` grid 1,
// block 512; `sigmoid_slope` and `relu_slope` grid ceil(columns / 32), block (32, 32). No dynamic shared memory.
#include "warp.cuh"

// x (rows, columns) = the images whose numbers are in order (rows), scaled to [0, 1]: a block per row. An element of
// pixels (images, columns / 4) holds four pixels.
extern "C" __global__ void __launch_bounds__(256)
    gather(const uchar4 *pixels, const long long *order, REAL *x, int columns) {
  const uchar4 *from = pixels + size_t(order[blockIdx.x]) * (columns / 4);
  REAL *to = x + size_t(blockIdx.x) * columns;
  for (int j = threadIdx.x; j < columns / 4; j += blockDim.x) {
    const uchar4 four = from[j];
    to[4 * j] = four.x / REAL(255);
    to[4 * j + 1] = four.y / REAL(255);
    to[4 * j + 2] = four.z / REAL(255);
    to[4 * j + 3] = four.w / REAL(255);
  }
}

// The two activations: z <- sigmoid(z + bias), or max(z + bias, 0), with z (count / columns, columns) and bias
// (columns).
extern "C" __global__ void __launch_bounds__(256) sigmoid(REAL *z, const REAL *bias, int count, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i] = 1 / (1 + exp(-(z[i] + bias[i % columns])));
}
extern "C" __global__ void __launch_bounds__(256) relu(REAL *z, const REAL *bias, int count, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i] = max(z[i] + bias[i % columns], REAL(0));
}

// Softmax cross-entropy by one block of 512 threads, a thread per row: z (rows, columns) <- -rate times the gradient of
// the mean loss with respect to the logits, for the images whose numbers are in order (rows) and whose labels are in
// labels (images); loss (1) <- the mean loss; bias (columns) <- bias + column sums of z.
extern "C" __global__ void __launch_bounds__(512, 1)
    softmax_loss(REAL *z, REAL *bias, const long long *labels, const long long *order, REAL *loss, int rows,
                 int columns, REAL rate) {
  __shared__ REAL totals[WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  REAL total = 0;
  for (int i = threadIdx.x; i < rows; i += blockDim.x) {
    REAL *row = z + size_t(i) * columns;
    const int label = labels[order[i]];
    REAL max_logit = row[0] + bias[0];
    for (int j = 0; j < columns; ++j) max_logit = max(max_logit, row[j] += bias[j]);
    const REAL label_logit = row[label] - max_logit;
    REAL denominator = 0;
    for (int j = 0; j < columns; ++j) denominator += row[j] = exp(row[j] - max_logit);
    total += log(denominator) - label_logit;
    for (int j = 0; j < columns; ++j) row[j] = -rate * (row[j] / denominator - (j == label)) / rows;
  }
  total = sum_of_warp(total);
  if (lane == 0) totals[warp] = total;
  __syncthreads();  // the totals, and all rows of z, are written
  if (warp == 0) {
    total = sum_of_warp(lane < blockDim.x / WARP ? totals[lane] : REAL(0));
    if (lane == 0) *loss = total / rows;
  }
  for (int j = warp; j < columns; j += blockDim.x / WARP) {
    REAL sum = 0;
    for (int i = lane; i < rows; i += WARP) sum += z[size_t(i) * columns + j];
    sum = sum_of_warp(sum);
    if (lane == 0) bias[j] += sum;
  }
}

// delta (rows, columns) <- delta times the derivative at a (rows, columns); bias (columns) <- bias + column sums of
// delta, by a block of 32 x 32 threads per 32 columns.
template <class Slope>
__device__ void apply_slope(REAL *delta, const REAL *a, REAL *bias, int rows, int columns, Slope slope) {
  __shared__ REAL sums[WARP][WARP + 1];
  const int j = blockIdx.x * WARP + threadIdx.x;
  REAL sum = 0;
  if (j < columns)
    for (int i = threadIdx.y; i < rows; i += WARP) {
      const size_t index = size_t(i) * columns + j;
      sum += delta[index] *= slope(a[index]);
    }
  sums[threadIdx.x][threadIdx.y] = sum;
  __syncthreads();  // all threads' sums are complete; a warp adds those of a column
  sum = sum_of_warp(sums[threadIdx.y][threadIdx.x]);
  const int column = blockIdx.x * WARP + threadIdx.y;
  if (threadIdx.x == 0 && column < columns) bias[column] += sum;
}
// The same for the two activations: delta and a (rows, columns), bias (columns).
extern "C" __global__ void __launch_bounds__(1024)
    sigmoid_slope(REAL *delta, const REAL *a, REAL *bias, int rows, int columns) {
  apply_slope(delta, a, bias, rows, columns, [](REAL a) { return a * (1 - a); });
}
extern "C" __global__ void __launch_bounds__(1024)
    relu_slope(REAL *delta, const REAL *a, REAL *bias, int rows, int columns) {
  apply_slope(delta, a, bias, rows, columns, [](REAL a) { return REAL(a > 0); });
}
