// Iterates over all 25 taps of the filter; a branch skips those without a pixel. Shapes and launch: see direct.cuh.
#include "direct.cuh"

// out (images, 2 h, 2 h, k), an element per thread.
extern "C" __global__ void __launch_bounds__(CHANNELS * COLUMNS * ROWS) convolve(CONVOLVE_ARGUMENTS) {
  const Element here(h);
  if (!here.is_there(h, k)) return;
  const REAL *of_image = image + size_t(blockIdx.y) * h * h * c;
  REAL sum = bias[here.channel];
  for (int r = 0; r < TAPS; ++r)
    for (int s = 0; s < TAPS; ++s) {
      const int down = here.y + 1 - r, right = here.x + 1 - s;
      if (down % 2 == 0 && right % 2 == 0 && down >= 0 && right >= 0 && down < 2 * h && right < 2 * h)
        sum += along_channels(of_image + (size_t(down / 2) * h + right / 2) * c,
                              filter + ((r * TAPS + s) * size_t(k) + here.channel) * c, c);
    }
  out[here.place(h, k)] = sum;
}
