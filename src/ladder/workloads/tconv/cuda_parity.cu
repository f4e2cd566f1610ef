// Iterates only over the taps with a pixel: loops begin at the element's parity and step by two. Shapes and launch: see
// direct.cuh.
#include "direct.cuh"

// out (images, 2 h, 2 h, k), an element per thread.
extern "C" __global__ void __launch_bounds__(CHANNELS * COLUMNS * ROWS) convolve(CONVOLVE_ARGUMENTS) {
  const Element here(h);
  if (!here.is_there(h, k)) return;
  const REAL *of_image = image + size_t(blockIdx.y) * h * h * c;
  REAL sum = bias[here.channel];
  for (int r = (here.y + 1) % 2; r < TAPS && r <= here.y + 1; r += 2) {
    const int down = (here.y + 1 - r) / 2;
    if (down >= h) continue;
    for (int s = (here.x + 1) % 2; s < TAPS && s <= here.x + 1; s += 2) {
      const int right = (here.x + 1 - s) / 2;
      if (right < h)
        sum += along_channels(of_image + (size_t(down) * h + right) * c,
                              filter + ((r * TAPS + s) * size_t(k) + here.channel) * c, c);
    }
  }
  out[here.place(h, k)] = sum;
}
