// A batch of the training with all elementwise operations in the epilogues of products. `forward_images` and `forward`
// compute the activations of a hidden layer; `output` the logits, the losses, the last deltas and those of the layer
// below; `delta` those of a further hidden layer; `update` changes the parameters of all layers. All deltas include the
// factor -rate. Pixels are bytes in memory: products convert them in shared memory, and divide their sums by 255.
//
// Shapes: pixels (images, 784 / 4), four pixels per element, in `output` (images, 784); order (rows), the numbers of a
// batch's images; labels (images); inputs, activations and deltas (rows, width of their layer); weights (fan_in,
// fan_out); bias (fan_out); losses (rows); loss (1). Sums are in a fixed order.
//
// Launch: `output` grid rows, block OUTPUT_THREADS, no dynamic shared memory. Others block THREADS, dynamic shared
// memory Shape<TILE>::MEMORY_SIZE elements, grid (ceil(columns / TILE), ceil(rows / TILE)) of the result; but `update`
// Shape<32>, grid 1 + the blocks of all layers, which are ceil((fan_in + 1) / 32) * ceil(fan_out / 32) each.
#include "further_layers.cuh"

static_assert(TILE == 16 || TILE == 32, "tile must be 16 or 32.");

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    forward_images(const unsigned *pixels, const long long *order, const REAL *weights, const REAL *bias,
                   REAL *activations, int rows, int fan_out, int is_relu) {
  const int top = blockIdx.y * TILE, first = blockIdx.x * TILE;
  const Images<TILE, true> left(pixels, order, top, rows);
  const Matrix<TILE, false> right = {weights + first, fan_out, fan_out - first};
  multiply<TILE>(left, right, PIXELS, store_activations(activations, bias, top, first, rows, fan_out, 255, is_relu));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    update(const Layer *layers, int count, const unsigned *pixels, const long long *order, const REAL *losses,
           REAL *loss, int rows) {
  const auto multiply_images = [&](int top, int first, const REAL *deltas, int fan_out, auto epilogue) {
    const Images<UPDATE_TILE, false> left(pixels, order, top, rows);
    const Matrix<UPDATE_TILE, false> right = {deltas + first, fan_out, fan_out - first};
    multiply<UPDATE_TILE>(left, right, rows, epilogue);
  };
  update_layers<UPDATE_TILE, UPDATE_TILE>(layers, count, losses, loss, rows, multiply_images);
}
