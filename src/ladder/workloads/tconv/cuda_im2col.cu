// The kernels before and after the product: they gather the im2col matrix, and add the bias.
//
// Launch: `gather` grid images * 2 h * 2 h, `add_bias` any grid along x, block BLOCK, no dynamic shared memory.
#include "activation.cuh"
#include "vector.cuh"

constexpr int BLOCK = 256, FILTER_SIDE = 5;

// matrix (images * 2 h * 2 h, 25 depth) from image (images, h, h, depth). A block gathers a row: the pixels under the
// reversed filter at one element of the result, and zeros where the filter is between or outside pixels: `upsampled_y`
// and `upsampled_x` are a position in an image that has zeros inserted between its pixels. `depth` is the number of
// channels, or of vectors of channels.
template <class Element>
__device__ __forceinline__ void gather_row(const Element *__restrict__ image, Element *__restrict__ matrix, int h,
                                           int depth) {
  const int element = blockIdx.x % (4 * h * h), y = element / (2 * h), x = element % (2 * h);
  const Element *const this_image = image + size_t(blockIdx.x / (4 * h * h)) * h * h * depth;
  Element *const row = matrix + size_t(blockIdx.x) * FILTER_SIDE * FILTER_SIDE * depth;
  for (int index = threadIdx.x; index < FILTER_SIDE * FILTER_SIDE * depth; index += BLOCK) {
    const int tap = index / depth, upsampled_y = y + tap / FILTER_SIDE - 3, upsampled_x = x + tap % FILTER_SIDE - 3;
    const bool is_pixel = upsampled_y % 2 == 0 && upsampled_x % 2 == 0 && upsampled_y >= 0 && upsampled_x >= 0 &&
                          upsampled_y < 2 * h && upsampled_x < 2 * h;
    row[index] =
        is_pixel ? this_image[(size_t(upsampled_y / 2) * h + upsampled_x / 2) * depth + index % depth] : Element{};
  }
}

// matrix (images * 2 h * 2 h, 25 c) from image (images, h, h, c), by vectors if c allows it.
extern "C" __global__ void __launch_bounds__(BLOCK)
gather(const REAL *__restrict__ image, REAL *__restrict__ matrix, int h, int c) {
  if (c % V == 0)
    gather_row(reinterpret_cast<const Vector *>(image), reinterpret_cast<Vector *>(matrix), h, c / V);
  else
    gather_row(image, matrix, h, c);
}

// out (count / k, k) <- activation(out + bias (k)), in place.
extern "C" __global__ void __launch_bounds__(BLOCK)
add_bias(REAL *__restrict__ out, const REAL *__restrict__ bias, long long count, int k, int activation) {
  const unsigned first = blockIdx.x * BLOCK + threadIdx.x, step = gridDim.x * BLOCK;
  const int channel_step = step % k;  // from one value of the thread to its next
  int channel = first % k;
  for (long long index = first; index < count; index += step) {
    out[index] = apply_activation(out[index] + bias[channel], activation);
    channel += channel_step;
    if (channel >= k) channel -= k;
  }
}
