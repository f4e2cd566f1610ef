// The last layer and the loss: every block has the rows of weights of its units, and computes some rows of a batch.
// Blocks exchange values as flagged words, VALUE_WORDS per value (grid.cuh).
#pragma once
#include "shared_arrays.cuh"

// Send a block's share of the logits: its activations of the last hidden layer times its rows of the last weights.
__device__ __forceinline__ void send_logits(const Exchange &exchange, const SharedArrays &shared,
                                            const Network &network, int rows, unsigned flag) {
  const int units = network.units[network.layers - 1];
  const REAL *activations = shared.activations[network.layers - 1], *weights = shared.weight_rows[network.layers];
  for (int i = threadIdx.x; i < rows * CLASSES; i += BLOCK) {
    const int row = i / CLASSES, j = i % CLASSES;
    REAL sum = 0;
    for (int unit = 0; unit < units; ++unit) sum += activations[row * UNITS + unit] * weights[unit * CLASSES + j];
    store_flagged(exchange.logits + ((row * gridDim.x + blockIdx.x) * CLASSES + j) * VALUE_WORDS, sum, flag);
  }
}

// The rows of a batch for which a block computes the losses: blockIdx.x, blockIdx.x + gridDim.x, ..., in passes of a
// row for each team of threads.
struct LossRows {
  int rows, team_size;  // rows of the batch; threads of a team, at least a warp
  int team, member;     // of this thread: its team, and its number in the team

  __device__ __forceinline__ LossRows(int rows) : rows(rows), team_size(BLOCK) {
    while (team_size > WARP && BLOCK / team_size * gridDim.x + blockIdx.x < rows) team_size /= 2;
    team = threadIdx.x / team_size, member = threadIdx.x % team_size;
  }
  __device__ __forceinline__ int row(int pass) const {
    return blockIdx.x + (pass * (BLOCK / team_size) + team) * gridDim.x;
  }
  // Whether any team has a row in this pass.
  __device__ __forceinline__ bool has_rows(int pass) const {
    return blockIdx.x + pass * (BLOCK / team_size) * gridDim.x < rows;
  }
  // The number of the image of this thread's row, from order (rows); -1 if there is none.
  __device__ __forceinline__ long long image(int pass, const long long *order) const {
    return member < WARP && row(pass) < rows ? order[row(pass)] : -1;
  }
};

// Compute and send the losses and the last layer's deltas of the block's rows; `label`, loaded ahead, is that of this
// thread's row in the first pass.
__device__ __forceinline__ void send_deltas(const Exchange &exchange, const SharedArrays &shared,
                                            const Network &network, const LossRows &loss_rows, int label,
                                            const long long *labels, const long long *order, REAL rate, unsigned flag) {
  const int member = loss_rows.member, lane = threadIdx.x % WARP;
  const int class_threads = loss_rows.team_size / CLASSES, summing_threads = class_threads * CLASSES;  // of a team
  const REAL scale = -rate / loss_rows.rows;
  REAL *sums = shared.team_sums + loss_rows.team * loss_rows.team_size;
  for (int pass = 0; loss_rows.has_rows(pass); ++pass) {
    const int row = loss_rows.row(pass);
    const bool is_busy = row < loss_rows.rows;
    REAL denominator, label_logit;  // of the first warp of a team
    if (is_busy && member < summing_threads) {
      REAL sum = 0;
      receive_flagged<4>(exchange.logits + row * gridDim.x * CLASSES * VALUE_WORDS, member, summing_threads,
                         gridDim.x * CLASSES, flag, [&](int, REAL value) { sum += value; });
      sums[member] = sum;
    }
    __syncthreads();
    if (member < WARP) {
      // Lanes j, j + CLASSES and j + 2 * CLASSES share the sums of class j; then all lanes with j know the logit.
      const int j = lane % CLASSES;
      REAL sum = 0;
      if (is_busy && lane < 3 * CLASSES)
#pragma unroll 4
        for (int part = lane / CLASSES; part < class_threads; part += 3) sum += sums[part * CLASSES + j];
      REAL logit = shared.bias[network.layers][j] + __shfl_sync(~0u, sum, j);
      logit += __shfl_sync(~0u, sum, j + CLASSES), logit += __shfl_sync(~0u, sum, j + 2 * CLASSES);
      REAL max_logit = logit;
#pragma unroll
      for (int distance = WARP / 2; distance; distance /= 2)
        max_logit = max(max_logit, __shfl_xor_sync(~0u, max_logit, distance));
      logit -= max_logit;
      const bool is_class = is_busy && lane < CLASSES;
      const REAL exponential = is_class ? exp(logit) : REAL(0);
      denominator = sum_of_warp(exponential), label_logit = __shfl_sync(~0u, logit, label);
      const REAL delta = scale * (exponential / denominator - (lane == label));
      if (is_class) store_flagged(exchange.last_deltas + (row * CLASSES + lane) * VALUE_WORDS, delta, flag);
    }
    if (const long long image = loss_rows.image(pass + 1, order); image >= 0) label = labels[image];
    __syncthreads();  // all sums have been read, and all deltas of the block's rows sent
    if (is_busy && member == 0)
      store_flagged(exchange.losses + row * VALUE_WORDS, log(denominator) - label_logit, flag);
  }
}

// loss = the mean of the losses of `rows` rows, by the block's last warp.
__device__ __forceinline__ void average_losses(REAL *loss, const Exchange &exchange, int rows, unsigned flag) {
  if (threadIdx.x < BLOCK - WARP) return;
  REAL sum = 0;
  receive_flagged<4>(exchange.losses, threadIdx.x % WARP, WARP, rows, flag, [&](int, REAL value) { sum += value; });
  sum = sum_of_warp(sum);
  if (threadIdx.x % WARP == 0) *loss = sum / rows;
}

// Backward through the last layer: the deltas of the block's units of the last hidden layer, then the updates of its
// rows of weights, of these units' biases and of the last layer's.
//
// The sums are over rows: rows are distributed among warps, sums among a warp's lanes; then the warps' sums are added.
__device__ __forceinline__ void backward_last(const Exchange &exchange, const SharedArrays &shared,
                                              const Network &network, int rows, int chunk_rows, unsigned flag) {
  const int last_hidden = network.layers - 1, units = network.units[last_hidden], warp = threadIdx.x / WARP;
  const int lane = threadIdx.x % WARP;
  const int weight_count = (units + 1) * CLASSES, sum_count = weight_count + units;
  const REAL *activations = shared.activations[last_hidden];
  REAL *deltas = shared.deltas[last_hidden], *weight_rows = shared.weight_rows[network.layers];
  REAL *sums = shared.warp_sums + warp * ((UNITS + 1) * CLASSES + UNITS);
  for (int i = lane; i < sum_count; i += WARP) sums[i] = 0;
  for (int first = 0; first < rows; first += chunk_rows) {
    const int count = min(chunk_rows, rows - first);
    unsigned magnitude = 0;
    receive_flagged<4>(exchange.last_deltas + first * CLASSES * VALUE_WORDS, threadIdx.x, BLOCK, count * CLASSES, flag,
                       [&](int i, REAL value) { shared.last_deltas[i] = value; });
    __syncthreads();
    for (int i = threadIdx.x; i < count * UNITS; i += BLOCK) {
      const int row = i / UNITS, unit = i % UNITS, index = first * UNITS + i;
      REAL sum = 0;
      if (unit < units)
#pragma unroll
        for (int j = 0; j < CLASSES; ++j)
          sum += shared.last_deltas[row * CLASSES + j] * weight_rows[unit * CLASSES + j];
      deltas[index] = sum * network.slope(activations[index]);
      magnitude = max(magnitude, magnitude_bits(deltas[index]));
    }
    // The largest delta sets the scale of the first layer's digits (digits.cuh).
    if (last_hidden == 1) block_atomic_max(shared.magnitudes + 1, magnitude);
    __syncthreads();
    for (int i = lane; i < sum_count; i += WARP) {
      const int unit = i < weight_count ? i / CLASSES : i - weight_count, column = i % CLASSES;
      REAL sum = 0;
#pragma unroll 4
      for (int row = warp; row < count; row += WARPS) {
        const int index = (first + row) * UNITS + unit;
        const REAL delta = i < weight_count ? shared.last_deltas[row * CLASSES + column] : deltas[index];
        sum += i < units * CLASSES ? activations[index] * delta : delta;
      }
      sums[i] += sum;
    }
    __syncthreads();  // the deltas of the chunk have been read
  }
  for (int i = threadIdx.x; i < sum_count; i += BLOCK) {
    REAL sum = 0;
    for (int w = 0; w < WARPS; ++w) sum += shared.warp_sums[w * ((UNITS + 1) * CLASSES + UNITS) + i];
    if (i < units * CLASSES) weight_rows[i] += sum;
    else if (i < weight_count) shared.bias[network.layers][i - units * CLASSES] += sum;
    else shared.bias[last_hidden][i - weight_count] += sum;
  }
}
