// The kernels before and after the product: they gather the im2col matrix, and add the bias.
//
// Launch: `gather` grid images * 2 h * 2 h, `add_bias` any grid along x, block BLOCK, no dynamic shared memory.
#include "activation.cuh"
#include "vector.cuh"

constexpr int BLOCK = 256, TAPS = 5;

// matrix (images * 2 h * 2 h, 25 parts) from image (images, h, h, parts), a row per block: the pixels under the
// reversed filter at one element of the result, and zeros where the filter is between or outside pixels.
template <class Part>
__device__ __forceinline__ void gather_row(const Part *__restrict__ image, Part *__restrict__ matrix, int h,
                                           int parts) {
  const int place = blockIdx.x % (4 * h * h), y = place / (2 * h), x = place % (2 * h);
  const Part *const of_image = image + size_t(blockIdx.x / (4 * h * h)) * h * h * parts;
  Part *const row = matrix + size_t(blockIdx.x) * TAPS * TAPS * parts;
  for (int at = threadIdx.x; at < TAPS * TAPS * parts; at += BLOCK) {
    const int tap = at / parts, down = y + tap / TAPS - 3, right = x + tap % TAPS - 3;
    const bool hits = down % 2 == 0 && right % 2 == 0 && down >= 0 && right >= 0 && down < 2 * h && right < 2 * h;
    row[at] = hits ? of_image[(size_t(down / 2) * h + right / 2) * parts + at % parts] : Part{};
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
  const int further = step % k;  // channels from one element to the thread's next
  int channel = first % k;
  for (long long at = first; at < count; at += step) {
    out[at] = apply_activation(out[at] + bias[channel], activation);
    channel += further;
    if (channel >= k) channel -= k;
  }
}
