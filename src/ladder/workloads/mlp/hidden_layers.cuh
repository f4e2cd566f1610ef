// The layers between hidden layers, whose weights every block keeps by columns for its units of a layer, and by rows
// for its units of the layer before. Values of other blocks' units come through arrays in global memory (Exchange).
#pragma once
#include "shared_arrays.cuh"

// Write the block's values (rows, UNITS) to its columns of an array (rows, width) in global memory.
__device__ __forceinline__ void publish(REAL *to, const REAL *values, const Network &network, int layer, int rows) {
  const int units = network.units[layer], first = network.first_unit[layer];
  for (int i = threadIdx.x; i < rows * UNITS; i += BLOCK)
    if (i % UNITS < units) to[size_t(i / UNITS) * network.widths[layer] + first + i % UNITS] = values[i];
}

// For every row and UNITS units, call function(row, unit, the sum over k of values (rows, count) in global memory times
// weights, unit * unit_distance + k * distance), by a warp per row; beyond the block's units, the sum is 0.
template <class Function>
__device__ __forceinline__ void multiply_rows(const REAL *values, const REAL *weights, int unit_distance, int distance,
                                              int rows, int count, int units, Function function) {
  const int lane = threadIdx.x % WARP;
  for (int row = threadIdx.x / WARP; row < rows; row += WARPS) {
    REAL sums[UNITS] = {};
    for (int k = lane; k < count; k += WARP) {
      const REAL value = __ldcg(values + size_t(row) * count + k);
#pragma unroll
      for (int unit = 0; unit < UNITS; ++unit)
        if (unit < units) sums[unit] += value * weights[unit * unit_distance + k * distance];
    }
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit)
      if (const REAL sum = unit < units ? sum_of_warp(sums[unit]) : REAL(0); lane == 0) function(row, unit, sum);
  }
}

// The activations of the block's units of a layer from those of the layer before, inputs (rows, fan_in).
__device__ __forceinline__ void forward_hidden(const SharedArrays &shared, const REAL *inputs, const Network &network,
                                               int layer, int rows) {
  const int units = network.units[layer];
  multiply_rows(inputs, shared.weight_columns[layer], 1, units, rows, network.widths[layer - 1], units,
                [&](int row, int unit, REAL sum) {
                  shared.activations[layer][row * UNITS + unit] =
                      unit < units ? network.activate(sum + shared.bias[layer][unit]) : REAL(0);
                });
  __syncthreads();
}

// weights[i * distance + unit * unit_distance] += sum over rows of values (rows, width) in global memory times factors
// (rows, UNITS) in shared memory, by a thread per column i of values. A block's rows and another's columns of the same
// weights stay equal to the last bit: their sums have the same terms in the same order.
__device__ __forceinline__ void add_products(REAL *weights, int distance, int unit_distance, const REAL *values,
                                             const REAL *factors, int rows, int width, int units) {
  for (int i = threadIdx.x; i < width; i += BLOCK) {
    REAL sums[UNITS] = {};
    for (int row = 0; row < rows; ++row) {
      const REAL value = __ldcg(values + size_t(row) * width + i);
#pragma unroll
      for (int unit = 0; unit < UNITS; ++unit)
        if (unit < units) sums[unit] = fma(value, factors[row * UNITS + unit], sums[unit]);
    }
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit)
      if (unit < units) weights[i * distance + unit * unit_distance] += sums[unit];
  }
}

// Backward from a hidden layer to the one before, `layer`: the deltas of the block's units, then the updates of its
// rows and columns of the weights between the two, and of the biases of `layer`. `deltas` are those of the layer above
// (rows, fan_out), `activations` those of `layer` (rows, fan_in).
__device__ __forceinline__ void backward_hidden(const SharedArrays &shared, const REAL *deltas, const REAL *activations,
                                                const Network &network, int layer, int rows) {
  const int units = network.units[layer], units_above = network.units[layer + 1];
  const int width_above = network.widths[layer + 1];
  const REAL *layer_activations = shared.activations[layer];
  unsigned magnitude = 0;
  multiply_rows(deltas, shared.weight_rows[layer + 1], width_above, 1, rows, width_above, units,
                [&](int row, int unit, REAL sum) {
                  const REAL delta = sum * network.slope(layer_activations[row * UNITS + unit]);
                  shared.deltas[layer][row * UNITS + unit] = delta;
                  magnitude = max(magnitude, magnitude_bits(delta));
                });
  if (layer == 1) block_atomic_max(shared.magnitudes + 1, magnitude);
  __syncthreads();
  add_products(shared.weight_rows[layer + 1], 1, width_above, deltas, layer_activations, rows, width_above, units);
  add_products(shared.weight_columns[layer + 1], units_above, 1, activations, shared.deltas[layer + 1], rows,
               network.widths[layer], units_above);
  for (int unit = threadIdx.x; unit < units; unit += BLOCK) {
    REAL sum = 0;
    for (int row = 0; row < rows; ++row) sum += shared.deltas[layer][row * UNITS + unit];
    shared.bias[layer][unit] += sum;
  }
}
