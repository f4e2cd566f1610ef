// The transposed convolution to few channels: a thread computes all channels of the four elements around each of PIXELS
// neighbours in a row, and multiplies only pairs of pixels and taps that contribute.
//
// A block has ROWS x COLUMNS pixels of one image. These and their neighbours are copied to shared memory in steps of BK
// channels, double-buffered. A value there is used by 25 k multiply-adds in the threads of up to 9 pixels; the filter,
// packed (c, WEIGHTS) in the order of use, is the same for all threads.
//
// Shapes: image (images, h, h, c), packed filter (c, WEIGHTS V), bias (CHANNELS), out (images, 2 h, 2 h, CHANNELS).
//
// Launch: grid (ceil(h / ROWS) * ceil(h / COLUMNS), images), block THREADS, dynamic shared memory 32 * STAGE bytes.
#include "activation.cuh"
#include "ptx/async_copy.cuh"
#include "vector.cuh"
#include "output_types.cuh"

constexpr int PIXELS = 4, COLUMNS = 32, ACROSS = COLUMNS / PIXELS;
constexpr int THREADS = ROWS * ACROSS;
constexpr int BK = 4 * V;
constexpr int PITCH = COLUMNS + 4;  // pixels in a row of a tile with both neighbours, in whole lines of 128 bytes

static_assert(THREADS % 32 == 0 && THREADS <= 1024, "ROWS must be a multiple of 4, at most 128.");

extern __shared__ Vector memory[];

// The index of vector `u` of a pixel in a row of a tile. Threads that read at once are PIXELS apart: two pixels share a
// line, whose vectors are swizzled differently for each thread, which avoids bank conflicts. An example: where in their
// line the vectors of two pixels lie; vector 1 of pixel 8, in line 4, has index 4 * 8 + 3.
//
//   pixels  0  1   0 1 2 3   4 5 6 7
//   pixels  4  5   1 0 3 2   5 4 7 6
//   pixels  8  9   2 3 0 1   6 7 4 5
//   pixels 12 13   3 2 1 0   7 6 5 4
__device__ __forceinline__ int place(int x, int u) { return x / 2 * 8 + ((x % 2 * 4 + u) ^ x / PIXELS % 8); }

#define CONVOLVE_ARGUMENTS(Out)                                                                                      \
  const REAL *__restrict__ image, const REAL *__restrict__ packed, const REAL *__restrict__ bias,                    \
      Out *__restrict__ out, int h, int c, int activation

// The kernel's body; see above for its arrays.
template <int CHANNELS, class As, class Out = typename As::Type>
__device__ __forceinline__ void convolution(CONVOLVE_ARGUMENTS(Out)) {
  constexpr int WEIGHTS = (25 * CHANNELS + V - 1) / V;  // vectors for each channel of the image
  constexpr int TILE = (ROWS + 2) * PITCH * BK / V, STAGE = TILE + BK * WEIGHTS;
  const int across = (h - 1) / COLUMNS + 1;
  const int top = blockIdx.x / across * ROWS, left = blockIdx.x % across * COLUMNS;
  const REAL *const of_image = image + size_t(blockIdx.y) * h * h * c;
  const bool wide = c % V == 0;

  auto load = [&](int step) {
    Vector *const pixels = memory + step % 2 * STAGE, *const weights = pixels + TILE;
    const int channel = step * BK;
    for (int e = threadIdx.x; e < (ROWS + 2) * (COLUMNS + 2) * 4; e += THREADS) {
      const int row = e / ((COLUMNS + 2) * 4), x = e / 4 % (COLUMNS + 2), u = e % 4;
      const int y = top + row - 1, at = left + x - 1, first = channel + u * V;
      const bool inside = y >= 0 && y < h && at >= 0 && at < h;
      Vector *const vector = &pixels[row * PITCH * 4 + place(x, u)];
      const REAL *const from = of_image + (size_t(y) * h + at) * c + first;
      if (wide) {
        copy_async<16>(vector, from, inside && first < c);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v) copy_async<sizeof(REAL)>(&vector->value[v], from + v, inside && first + v < c);
      }
    }
    for (int e = threadIdx.x; e < BK * WEIGHTS; e += THREADS)
      copy_async<16>(&weights[e], packed + (size_t(channel) * WEIGHTS + e) * V, channel + e / WEIGHTS < c);
  };

  const int x = threadIdx.x % ACROSS * PIXELS, y = threadIdx.x / ACROSS;
  const int steps = (c - 1) / BK + 1;
  REAL sums[2][PIXELS][2][CHANNELS] = {};
  load(0);
  for (int step = 0; step < steps; ++step) {
    wait_for_copies();
    // After this barrier the stage is complete, and the other one is free.
    __syncthreads();
    if (step + 1 < steps) load(step + 1);
    const Vector *const tile = memory + step % 2 * STAGE, *const filter = tile + TILE;
#pragma unroll 1
    for (int u = 0; u < 4; ++u) {
      Vector pixels[3][PIXELS + 2];
#pragma unroll
      for (int row = 0; row < 3; ++row)
#pragma unroll
        for (int p = 0; p < PIXELS + 2; ++p) pixels[row][p] = tile[(y + row) * PITCH * 4 + place(x + p, u)];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const Vector *const weights = &filter[(u * V + v) * WEIGHTS];
        int next = 0;  // a constant after unrolling
#pragma unroll
        for (int row = 0; row < 3; ++row)
#pragma unroll
          for (int column = 0; column < 3; ++column)
#pragma unroll
            for (int corner = 0; corner < 4; ++corner) {
              if (row > 1 + corner / 2 || column > 1 + corner % 2) continue;
#pragma unroll
              for (int j = 0; j < CHANNELS; ++j, ++next)
#pragma unroll
                for (int p = 0; p < PIXELS; ++p)
                  sums[corner / 2][p][corner % 2][j] +=
                      pixels[row][p + column].value[v] * weights[next / V].value[next % V];
            }
      }
    }
  }

  if (top + y >= h) return;
  // Of `together` neighbouring results, `at_once` are stored by one access.
  constexpr int together = PIXELS * 2 * CHANNELS, at_once = sizeof(Out) == 1 ? 2 * PIXELS : V;
  const bool out_wide = h * CHANNELS % (at_once / 2) == 0 && left + x + PIXELS <= h;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const size_t row = size_t(blockIdx.y) * 2 * h + 2 * (top + y) + half;
    Out *const to = out + (row * 2 * h + 2 * (left + x)) * CHANNELS;
    const REAL *const results = &sums[half][0][0][0];
#pragma unroll
    for (int e = 0; e < together; e += at_once) {
      AlignedVector<Out, at_once> neighbours;
#pragma unroll
      for (int v = 0; v < at_once; ++v)
        neighbours.value[v] = As::convert(apply_activation(results[e + v] + bias[(e + v) % CHANNELS], activation));
      if (out_wide) {
        *reinterpret_cast<AlignedVector<Out, at_once> *>(to + e) = neighbours;
      } else {
#pragma unroll
        for (int v = 0; v < at_once; ++v)
          if (left + x + (e + v) / (2 * CHANNELS) < h) to[e + v] = neighbours.value[v];
      }
    }
  }
}

// The kernels for a number of channels and a type of results.
#define KERNEL(channels, result, As)                                                                            \
  extern "C" __global__ void __launch_bounds__(THREADS) to##channels##_##result(CONVOLVE_ARGUMENTS(As::Type)) { \
    convolution<channels, As>(image, packed, bias, out, h, c, activation);                                      \
  }
#define BOTH(channels) KERNEL(channels, float32, Float32Output) KERNEL(channels, uint8, PixelOutput)

BOTH(1)
BOTH(2)
BOTH(3)
BOTH(4)
