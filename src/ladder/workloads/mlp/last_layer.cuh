// The last layer and the loss: every block has the rows of weights of its units, and computes some rows of a batch.
#pragma once
#include "shared_arrays.cuh"

// A block's share of the logits: its activations of the last hidden layer times its rows of the last weights.
__device__ __forceinline__ void add_logits(const Exchange &exchange, const Shared &shared, const Network &network,
                                           int rows) {
  const int units = network.units[network.layers - 1];
  const REAL *activations = shared.activations[network.layers - 1], *weights = shared.rows[network.layers];
  for (int i = threadIdx.x; i < rows * CLASSES; i += BLOCK) {
    const int row = i / CLASSES, j = i % CLASSES;
    REAL sum = 0;
    for (int unit = 0; unit < units; ++unit) sum += activations[row * units + unit] * weights[unit * CLASSES + j];
    exchange.logits[(row * gridDim.x + blockIdx.x) * CLASSES + j] = sum;
  }
}

// The loss and the last layer's deltas of this block's rows, blockIdx.x, blockIdx.x + gridDim.x, ...; order (rows) has
// the images. A team of threads, at least a warp, adds the blocks' shares of a row.
__device__ __forceinline__ void compute_losses(const Exchange &exchange, const Shared &shared, const Network &network,
                                               const long long *labels, const long long *order, int rows, REAL rate) {
  const int count = (rows - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x);
  int size = BLOCK;
  while (size > WARP && BLOCK / size < count) size /= 2;
  const int team = threadIdx.x / size, member = threadIdx.x % size, part = member / CLASSES;
  const int parts = size / CLASSES, column = member % CLASSES;
  for (int first = 0; first < count; first += BLOCK / size) {
    const int row = blockIdx.x + (first + team) * gridDim.x;
    const bool is_busy = row < rows;
    if (is_busy && part < parts) {
      const REAL *share = exchange.logits + row * gridDim.x * CLASSES + column;
      REAL sum = 0;
#pragma unroll 4
      for (int block = part; block < gridDim.x; block += parts) sum += __ldcg(share + block * CLASSES);
      shared.team_sums[threadIdx.x] = sum;
    }
    const int label = is_busy && member < WARP ? labels[order[row]] : 0;
    __syncthreads();
    if (member < WARP) {
      const bool is_class = is_busy && member < CLASSES;
      const int j = member % CLASSES;  // the other lanes repeat the first ones' classes, so that the maximum is right
      REAL logit = shared.bias[network.layers][j];
      for (int p = 0; p < parts; ++p) logit += shared.team_sums[team * size + p * CLASSES + j];
      REAL largest = logit;
#pragma unroll
      for (int distance = WARP / 2; distance; distance /= 2)
        largest = max(largest, __shfl_xor_sync(~0u, largest, distance));
      logit -= largest;
      const REAL power = is_class ? exp(logit) : REAL(0), sum = sum_of_warp(power);
      const REAL correct = __shfl_sync(~0u, logit, label);
      if (is_class) exchange.last_deltas[row * CLASSES + member] = -rate * (power / sum - (member == label)) / rows;
      if (is_busy && member == 0) exchange.losses[row] = log(sum) - correct;
    }
    __syncthreads();  // all sums have been read
  }
}

// loss = the mean of losses (rows), by the block's last warp.
__device__ __forceinline__ void average_losses(REAL *loss, const REAL *losses, int rows) {
  if (threadIdx.x < BLOCK - WARP) return;
  REAL sum = 0;
  for (int row = threadIdx.x % WARP; row < rows; row += WARP) sum += __ldcg(losses + row);
  sum = sum_of_warp(sum);
  if (threadIdx.x % WARP == 0) *loss = sum / rows;
}

// Backward through the last layer: the deltas of the block's units of the last hidden layer, then the updates of its
// rows of weights, of these units' biases and of the last layer's.
//
// Every lane of a warp has some of the sums over rows, and every warp some rows; then the warps' sums are added.
__device__ __forceinline__ void backward_last(const Exchange &exchange, const Shared &shared, const Network &network,
                                              int rows, int chunk) {
  const int hidden = network.layers - 1, units = network.units[hidden], warp = threadIdx.x / WARP;
  const int lane = threadIdx.x % WARP, weights = (units + 1) * CLASSES, all = weights + units;
  const REAL *activations = shared.activations[hidden];
  REAL *deltas = shared.deltas[hidden], *rows_of_weights = shared.rows[network.layers];
  REAL *sums = shared.warp_sums + warp * ((UNITS + 1) * CLASSES + UNITS);
  for (int i = lane; i < all; i += WARP) sums[i] = 0;
  for (int first = 0; first < rows; first += chunk) {
    const int count = min(chunk, rows - first);
    for (int i = threadIdx.x; i < count * CLASSES; i += BLOCK)
      shared.last_deltas[i] = __ldcg(exchange.last_deltas + first * CLASSES + i);
    __syncthreads();
    for (int i = threadIdx.x; i < count * units; i += BLOCK) {
      const int row = i / units, unit = i % units, index = first * units + i;
      REAL sum = 0;
#pragma unroll
      for (int j = 0; j < CLASSES; ++j)
        sum += shared.last_deltas[row * CLASSES + j] * rows_of_weights[unit * CLASSES + j];
      deltas[index] = sum * network.slope(activations[index]);
    }
    __syncthreads();
    for (int i = lane; i < all; i += WARP) {
      const int unit = i < weights ? i / CLASSES : i - weights, column = i % CLASSES;
      REAL sum = 0;
      for (int row = warp; row < count; row += WARPS) {
        const int index = (first + row) * units + unit;
        const REAL delta = i < weights ? shared.last_deltas[row * CLASSES + column] : deltas[index];
        sum += i < units * CLASSES ? activations[index] * delta : delta;
      }
      sums[i] += sum;
    }
    __syncthreads();  // the deltas of the chunk have been read
  }
  for (int i = threadIdx.x; i < all; i += BLOCK) {
    REAL sum = 0;
    for (int w = 0; w < WARPS; ++w) sum += shared.warp_sums[w * ((UNITS + 1) * CLASSES + UNITS) + i];
    if (i < units * CLASSES) rows_of_weights[i] += sum;
    else if (i < weights) shared.bias[network.layers][i - units * CLASSES] += sum;
    else shared.bias[hidden][i - weights] += sum;
  }
}
