// The kernel after the product: each element of the result sums the products of the pixels that contribute to it.
//
// Launch: grid images * 2 h, block BLOCK, no dynamic shared memory.
#include "activation.cuh"

constexpr int BLOCK = 256, FILTER_SIDE = 5;

// out (images, 2 h, 2 h, k) = activation(bias (k) + sums of products (images * h * h, 25 * k)). A block computes a row
// of one image's result.
extern "C" __global__ void __launch_bounds__(BLOCK)
add_up(const REAL *__restrict__ products, const REAL *__restrict__ bias, REAL *__restrict__ out, int h, int k,
       int activation) {
  const int y = blockIdx.x % (2 * h);
  const REAL *const image_products = products + size_t(blockIdx.x / (2 * h)) * h * h * FILTER_SIDE * FILTER_SIDE * k;
  REAL *const row = out + size_t(blockIdx.x) * 2 * h * k;
  for (int index = threadIdx.x; index < 2 * h * k; index += BLOCK) {
    const int x = index / k, channel = index % k;
    REAL sum = bias[channel];
    for (int r = (y + 1) % 2; r < FILTER_SIDE && r <= y + 1; r += 2) {
      const int pixel_y = (y + 1 - r) / 2;
      if (pixel_y >= h) continue;
      for (int s = (x + 1) % 2; s < FILTER_SIDE && s <= x + 1; s += 2) {
        const int pixel_x = (x + 1 - s) / 2;
        if (pixel_x < h)
          sum += image_products[((size_t(pixel_y) * h + pixel_x) * FILTER_SIDE * FILTER_SIDE +
                                 r * FILTER_SIDE + s) * k + channel];
      }
    }
    row[index] = apply_activation(sum, activation);
  }
}
