// Iterates over all 25 taps of the filter; a branch skips those without a pixel. direct.cuh has shapes and launch.
#include "direct.cuh"

// out (images, 2 h, 2 h, k), an element and channel per thread.
extern "C" __global__ void __launch_bounds__(CHANNELS * COLUMNS * ROWS) convolve(CONVOLVE_ARGUMENTS) {
  const Element element(h);
  if (!element.is_inside(h, k)) return;
  const REAL *this_image = image + size_t(blockIdx.y) * h * h * c;
  REAL sum = bias[element.channel];
  for (int r = 0; r < TAPS; ++r)
    for (int s = 0; s < TAPS; ++s) {
      const int down = element.y + 1 - r, right = element.x + 1 - s;
      if (down % 2 == 0 && right % 2 == 0 && down >= 0 && right >= 0 && down < 2 * h && right < 2 * h)
        sum += along_channels(this_image + (size_t(down / 2) * h + right / 2) * c,
                              filter + ((r * TAPS + s) * size_t(k) + element.channel) * c, c);
    }
  out[element.index(h, k)] = sum;
}
