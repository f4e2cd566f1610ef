// What the fused training does with the sums of products: activations, slopes, and the update of all layers.
#pragma once
#include "tile_products.cuh"
#include "warp.cuh"

constexpr int UPDATE_TILE = 32;

__device__ __forceinline__ REAL activate(REAL z, bool is_relu) {
  if (is_relu) return z < 0 ? REAL(0) : z;
  return 1 / (1 + exp(-z));
}
// The activation's derivative, from the activation.
__device__ __forceinline__ REAL slope(REAL a, bool is_relu) { return is_relu ? REAL(a > 0) : a * (1 - a); }

// The epilogue of a tile from (top, first) of activations (rows, fan_out): those of the sums over `divisor`, plus bias.
__device__ __forceinline__ auto store_activations(REAL *activations, const REAL *bias, int top, int first, int rows,
                                                  int fan_out, REAL divisor, bool is_relu) {
  return [=](int i, int j, REAL sum) {
    const int row = top + i, column = first + j;
    if (row < rows && column < fan_out)
      activations[size_t(row) * fan_out + column] = activate(sum / divisor + bias[column], is_relu);
  };
}

// A layer in `update_layers`: inputs (rows, fan_in), null if they are the images, and the number of its first block.
struct Layer {
  const REAL *inputs, *deltas;
  REAL *weights, *bias;
  long long fan_in, fan_out, first_block;
};

// Add inputs transposed times deltas to the weights, and the column sums of deltas to the bias, as if it were a further
// row of weights whose input is 1. The grid's last block averages the losses. A block has UPDATE_TILE x UPDATE_TILE
// elements, but image_rows x image_columns of the layer of images, for which multiply_images(top, first, deltas,
// fan_out, epilogue) multiplies them, in units of 1 / 255, with the deltas (rows, fan_out).
template <int image_rows, int image_columns, class MultiplyImages>
__device__ __forceinline__ void update_layers(const Layer *layers, int count, const REAL *losses, REAL *loss, int rows,
                                              MultiplyImages multiply_images) {
  if (blockIdx.x == gridDim.x - 1) {
    if (threadIdx.x >= WARP) return;
    REAL sum = 0;
    for (int row = threadIdx.x; row < rows; row += WARP) sum += losses[row];
    sum = sum_of_warp(sum);
    if (threadIdx.x == 0) *loss = sum / rows;
    return;
  }
  int number = count - 1;
  while (blockIdx.x < layers[number].first_block) --number;
  const Layer layer = layers[number];
  const int fan_in = layer.fan_in, fan_out = layer.fan_out, block = blockIdx.x - layer.first_block;
  const int tile_rows = layer.inputs ? UPDATE_TILE : image_rows;
  const int tile_columns = layer.inputs ? UPDATE_TILE : image_columns;
  const int tiles_per_row = (fan_out + tile_columns - 1) / tile_columns;
  const int top = block / tiles_per_row * tile_rows, first = block % tiles_per_row * tile_columns;
  const auto add = [&](int i, int j, REAL sum) {
    const int row = top + i, column = first + j;
    if (row > fan_in || column >= fan_out) return;
    (row < fan_in ? layer.weights + size_t(row) * fan_out : layer.bias)[column] += sum;
  };
  if (layer.inputs) {
    const Matrix<UPDATE_TILE, false> left = {layer.inputs + top, fan_in, fan_in - top, fan_in - top};
    multiply<UPDATE_TILE>(left, Matrix<UPDATE_TILE, false>{layer.deltas + first, fan_out, fan_out - first}, rows, add);
  } else {
    multiply_images(top, first, layer.deltas, fan_out, [&](int i, int j, REAL sum) { add(i, j, sum / 255); });
  }
}
