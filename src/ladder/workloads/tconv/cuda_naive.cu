// Iterates over all 25 taps of the filter; a branch skips those without a pixel, by the position in an image that has
// zeros inserted between its pixels. direct.cuh has shapes and launch.
#include "direct.cuh"

// out (images, 2 h, 2 h, k), an element and channel per thread.
extern "C" __global__ void __launch_bounds__(CHANNELS * COLUMNS * ROWS) convolve(CONVOLVE_ARGUMENTS) {
  const Element element(h);
  if (!element.is_inside(h, k)) return;
  const REAL *this_image = image + size_t(blockIdx.y) * h * h * c;
  REAL sum = bias[element.channel];
  for (int r = 0; r < FILTER_SIDE; ++r)
    for (int s = 0; s < FILTER_SIDE; ++s) {
      const int upsampled_y = element.y + 1 - r, upsampled_x = element.x + 1 - s;
      if (upsampled_y % 2 == 0 && upsampled_x % 2 == 0 && upsampled_y >= 0 && upsampled_x >= 0 &&
          upsampled_y < 2 * h && upsampled_x < 2 * h)
        sum += dot_product(this_image + (size_t(upsampled_y / 2) * h + upsampled_x / 2) * c,
                              filter + ((r * FILTER_SIDE + s) * size_t(k) + element.channel) * c, c);
    }
  out[element.index(h, k)] = sum;
}
