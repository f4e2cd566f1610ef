// Iterates only over the taps with a pixel: loops begin at the parity of y + 1 or x + 1 and step by two. direct.cuh
// has shapes and launch.
#include "direct.cuh"

// out (images, 2 h, 2 h, k), an element and channel per thread.
extern "C" __global__ void __launch_bounds__(CHANNELS * COLUMNS * ROWS) convolve(CONVOLVE_ARGUMENTS) {
  const Element element(h);
  if (!element.is_inside(h, k)) return;
  const REAL *this_image = image + size_t(blockIdx.y) * h * h * c;
  REAL sum = bias[element.channel];
  for (int r = (element.y + 1) % 2; r < FILTER_SIDE && r <= element.y + 1; r += 2) {
    const int pixel_y = (element.y + 1 - r) / 2;
    if (pixel_y >= h) continue;
    for (int s = (element.x + 1) % 2; s < FILTER_SIDE && s <= element.x + 1; s += 2) {
      const int pixel_x = (element.x + 1 - s) / 2;
      if (pixel_x < h)
        sum += dot_product(this_image + (size_t(pixel_y) * h + pixel_x) * c,
                              filter + ((r * FILTER_SIDE + s) * size_t(k) + element.channel) * c, c);
    }
  }
  out[element.index(h, k)] = sum;
}
