// The kernels of the fused training that don't read the images: `forward`, `delta` and `output`. TILE is their tile.
// `cuda_fused.cu` describes them.
#pragma once
#include "layer_epilogues.cuh"

constexpr int CLASSES = 10;
constexpr int OUTPUT_WARPS = CLASSES, OUTPUT_THREADS = WARP * OUTPUT_WARPS;  // of `output`: a warp per class

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    forward(const REAL *inputs, const REAL *weights, const REAL *bias, REAL *activations, int rows, int fan_in,
            int fan_out, int is_relu) {
  const int top = blockIdx.y * TILE, first = blockIdx.x * TILE;
  const Matrix<TILE, true> left = {inputs + size_t(top) * fan_in, fan_in, rows - top};
  const Matrix<TILE, false> right = {weights + first, fan_out, fan_out - first};
  multiply<TILE>(left, right, fan_in, store_activations(activations, bias, top, first, rows, fan_out, 1, is_relu));
}

// deltas_below (rows, fan_in) = deltas (rows, fan_out) weights^T, times the slope at activations (rows, fan_in).
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    delta(const REAL *deltas, const REAL *weights, const REAL *activations, REAL *deltas_below, int rows, int fan_in,
          int fan_out, int is_relu) {
  const int top = blockIdx.y * TILE, first = blockIdx.x * TILE;
  const Matrix<TILE, true> left = {deltas + size_t(top) * fan_out, fan_out, rows - top};
  const Matrix<TILE, true> right = {weights + size_t(first) * fan_out, fan_out, fan_in - first};
  multiply<TILE>(left, right, fan_out, [&](int i, int j, REAL sum) {
    const int row = top + i, column = first + j;
    const size_t index = size_t(row) * fan_in + column;
    if (row < rows && column < fan_in) deltas_below[index] = sum * slope(activations[index], is_relu);
  });
}

// The last layer for one row: deltas (rows, 10) and losses from inputs (rows, fan_in), and deltas_below (rows, fan_in).
// Without hidden layers, inputs and deltas_below are null, and the images are the inputs.
extern "C" __global__ void __launch_bounds__(OUTPUT_THREADS)
    output(const REAL *inputs, const unsigned char *pixels, const long long *order, const long long *labels,
           const REAL *weights, const REAL *bias, REAL *deltas, REAL *deltas_below, REAL *losses, int fan_in,
           REAL rate, int is_relu) {
  __shared__ REAL terms[OUTPUT_WARPS][WARP * CLASSES], logits[CLASSES], row_deltas[CLASSES];
  const int row = blockIdx.x, rows = gridDim.x, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const long long image = order[row];
  const int label = labels[image];
  const auto input = [&](int unit) {
    return inputs ? inputs[size_t(row) * fan_in + unit] : pixels[image * PIXELS + unit] / REAL(255);
  };
  // A thread has one class and every 32nd unit, so that neighbouring threads read neighbouring weights.
  const int unit_of_thread = threadIdx.x / CLASSES, class_of_thread = threadIdx.x % CLASSES;
  REAL sum = 0;
#pragma unroll 4
  for (int unit = unit_of_thread; unit < fan_in; unit += WARP)
    sum += input(unit) * weights[unit * CLASSES + class_of_thread];
  terms[0][threadIdx.x] = sum;
  __syncthreads();  // the sums of all units are written: a warp adds those of a class
  sum = sum_of_warp(terms[0][lane * CLASSES + warp]);
  if (lane == 0) logits[warp] = sum + bias[warp];
  __syncthreads();  // all logits are written, and the sums are read
  if (warp == 0) {
    REAL max_logit = logits[0];
#pragma unroll
    for (int j = 1; j < CLASSES; ++j) max_logit = logits[j] > max_logit ? logits[j] : max_logit;
    const REAL exponential = lane < CLASSES ? exp(logits[lane] - max_logit) : REAL(0);
    const REAL denominator = sum_of_warp(exponential);
    if (lane < CLASSES) {
      row_deltas[lane] = -rate * (exponential / denominator - (lane == label)) / rows;
      deltas[size_t(row) * CLASSES + lane] = row_deltas[lane];
    }
    if (lane == 0) losses[row] = log(denominator) - (logits[label] - max_logit);
  }
  __syncthreads();  // the row's deltas are written
  if (!deltas_below) return;
  // A warp has 32 units: it reads their weights in the order of memory, and a lane then adds the products of a unit.
  for (int first = warp * WARP; first < fan_in; first += OUTPUT_THREADS) {
#pragma unroll
    for (int e = lane; e < WARP * CLASSES; e += WARP)
      if (first + e / CLASSES < fan_in) terms[warp][e] = weights[first * CLASSES + e] * row_deltas[e % CLASSES];
    __syncwarp();  // the warp's products are written
    if (const int unit = first + lane; unit < fan_in) {
      sum = 0;
#pragma unroll
      for (int j = 0; j < CLASSES; ++j) sum += terms[warp][lane * CLASSES + j];
      deltas_below[size_t(row) * fan_in + unit] = sum * slope(input(unit), is_relu);
    }
    __syncwarp();  // they are read, and may be replaced
  }
}
