// The transposed convolution to few channels: a thread computes all channels of the four elements around each of PIXELS
// neighbours in a row. It multiplies only pairs of pixels and taps that exist; pixels beyond the image are zeros.
//
// A block has ROWS x COLUMNS pixels of one image. These and their neighbours are copied to shared memory in steps of BK
// channels, double-buffered. Each value there is used by 25 CHANNELS multiply-adds in the threads of up to 9 pixels.
// The filter, packed in the order of use, is the same for all threads.
//
// Shapes: image (images, h, h, c), packed filter (c, WEIGHT_VECTORS V), bias (CHANNELS), out (images, 2 h, 2 h,
// CHANNELS).
//
// Launch: grid (ceil(h / ROWS) * ceil(h / COLUMNS), images), block THREADS, dynamic shared memory 32 * STAGE_VECTORS
// bytes.
#include "activation.cuh"
#include "ptx/async_copy.cuh"
#include "vector.cuh"
#include "output_types.cuh"

constexpr int PIXELS = 4, COLUMNS = 32, THREADS_ACROSS = COLUMNS / PIXELS;
constexpr int THREADS = ROWS * THREADS_ACROSS;
constexpr int BK = 4 * V;  // channels per step, 4 vectors
constexpr int PITCH = COLUMNS + 4;  // pixels in a row of a tile: with both neighbours, in whole lines of 128 bytes

static_assert(THREADS % 32 == 0 && THREADS <= 1024, "ROWS must be a multiple of 4, at most 128.");

extern __shared__ Vector memory[];

// The index of vector `u` of pixel `x` in a row of a tile. Two pixels share a line of 8 vectors. Threads that read at
// once are PIXELS apart, and their lines are swizzled differently, which avoids bank conflicts. The table shows the
// positions in a line of the vectors of its two pixels: vector 1 of pixel 8, in line 4, has index 4 * 8 + 3.
//
//   pixels  0  1   0 1 2 3   4 5 6 7
//   pixels  4  5   1 0 3 2   5 4 7 6
//   pixels  8  9   2 3 0 1   6 7 4 5
//   pixels 12 13   3 2 1 0   7 6 5 4
__device__ __forceinline__ int swizzled_index(int x, int u) { return x / 2 * 8 + ((x % 2 * 4 + u) ^ x / PIXELS % 8); }

#define CONVOLVE_ARGUMENTS(Out)                                                                   \
  const REAL *__restrict__ image, const REAL *__restrict__ packed, const REAL *__restrict__ bias, \
      Out *__restrict__ out, int h, int c, int activation

// The kernel's body; see above for its arrays.
template <int CHANNELS, class Format, class Out = typename Format::Type>
__device__ __forceinline__ void convolution(CONVOLVE_ARGUMENTS(Out)) {
  constexpr int WEIGHT_VECTORS = (25 * CHANNELS + V - 1) / V;  // vectors for each channel of the image
  constexpr int TILE_VECTORS = (ROWS + 2) * PITCH * BK / V, STAGE_VECTORS = TILE_VECTORS + BK * WEIGHT_VECTORS;
  const int tiles_across = (h - 1) / COLUMNS + 1;
  const int top = blockIdx.x / tiles_across * ROWS, left = blockIdx.x % tiles_across * COLUMNS;
  const REAL *const this_image = image + size_t(blockIdx.y) * h * h * c;
  const bool is_aligned = c % V == 0;

  auto load = [&](int step) {
    Vector *const pixels = memory + step % 2 * STAGE_VECTORS, *const weights = pixels + TILE_VECTORS;
    const int channel = step * BK;
    for (int index = threadIdx.x; index < (ROWS + 2) * (COLUMNS + 2) * 4; index += THREADS) {
      const int row = index / ((COLUMNS + 2) * 4), x = index / 4 % (COLUMNS + 2), u = index % 4;
      const int y = top + row - 1, image_x = left + x - 1, first = channel + u * V;
      const bool is_inside = y >= 0 && y < h && image_x >= 0 && image_x < h;
      Vector *const vector = &pixels[row * PITCH * 4 + swizzled_index(x, u)];
      const REAL *const source = this_image + (size_t(y) * h + image_x) * c + first;
      if (is_aligned) {
        copy_async<16>(vector, source, is_inside && first < c);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v) copy_async<sizeof(REAL)>(&vector->value[v], source + v, is_inside && first + v < c);
      }
    }
    for (int index = threadIdx.x; index < BK * WEIGHT_VECTORS; index += THREADS)
      copy_async<16>(&weights[index], packed + (size_t(channel) * WEIGHT_VECTORS + index) * V,
                     channel + index / WEIGHT_VECTORS < c);
  };

  const int x = threadIdx.x % THREADS_ACROSS * PIXELS, y = threadIdx.x / THREADS_ACROSS;
  const int steps = (c - 1) / BK + 1;
  REAL sums[2][PIXELS][2][CHANNELS] = {};
  load(0);
  for (int step = 0; step < steps; ++step) {
    wait_for_copies();
    // After this barrier the stage is complete, and the other one is free.
    __syncthreads();
    if (step + 1 < steps) load(step + 1);
    const Vector *const tile = memory + step % 2 * STAGE_VECTORS, *const filter = tile + TILE_VECTORS;
#pragma unroll 1
    for (int u = 0; u < 4; ++u) {
      Vector pixels[3][PIXELS + 2];
#pragma unroll
      for (int row = 0; row < 3; ++row)
#pragma unroll
        for (int p = 0; p < PIXELS + 2; ++p) pixels[row][p] = tile[(y + row) * PITCH * 4 + swizzled_index(x + p, u)];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const Vector *const weights = &filter[(u * V + v) * WEIGHT_VECTORS];
        int weight = 0;  // in the order of use; after unrolling, a constant in each
#pragma unroll
        for (int row = 0; row < 3; ++row)
#pragma unroll
          for (int column = 0; column < 3; ++column)
#pragma unroll
            for (int element = 0; element < 4; ++element) {  // of the four elements around the pixel
              if (row > 1 + element / 2 || column > 1 + element % 2) continue;
#pragma unroll
              for (int j = 0; j < CHANNELS; ++j, ++weight)
#pragma unroll
                for (int p = 0; p < PIXELS; ++p)
                  sums[element / 2][p][element % 2][j] +=
                      pixels[row][p + column].value[v] * weights[weight / V].value[weight % V];
            }
      }
    }
  }

  if (top + y >= h) return;
  // A thread's results in a row of `out` are stored by accesses of `results_per_store`.
  constexpr int results_per_row = PIXELS * 2 * CHANNELS, results_per_store = sizeof(Out) == 1 ? 2 * PIXELS : V;
  const bool is_out_aligned = h * CHANNELS % (results_per_store / 2) == 0 && left + x + PIXELS <= h;
#pragma unroll
  for (int row_parity = 0; row_parity < 2; ++row_parity) {
    const size_t row = size_t(blockIdx.y) * 2 * h + 2 * (top + y) + row_parity;
    Out *const row_out = out + (row * 2 * h + 2 * (left + x)) * CHANNELS;
    const REAL *const row_sums = &sums[row_parity][0][0][0];
#pragma unroll
    for (int index = 0; index < results_per_row; index += results_per_store) {
      AlignedVector<Out, results_per_store> neighbours;
#pragma unroll
      for (int v = 0; v < results_per_store; ++v)
        neighbours.value[v] =
            Format::convert(apply_activation(row_sums[index + v] + bias[(index + v) % CHANNELS], activation));
      if (is_out_aligned) {
        *reinterpret_cast<AlignedVector<Out, results_per_store> *>(row_out + index) = neighbours;
      } else {
#pragma unroll
        for (int v = 0; v < results_per_store; ++v)
          if (left + x + (index + v) / (2 * CHANNELS) < h) row_out[index + v] = neighbours.value[v];
      }
    }
  }
}

// The kernels for a number of channels, with results as float32 and as 8-bit pixels.
#define KERNEL(channels, result, Format)                                                                            \
  extern "C" __global__ void __launch_bounds__(THREADS) to##channels##_##result(CONVOLVE_ARGUMENTS(Format::Type)) { \
    convolution<channels, Format>(image, packed, bias, out, h, c, activation);                                      \
  }
#define KERNEL_PAIR(channels) KERNEL(channels, float32, Float32Output) KERNEL(channels, uint8, PixelOutput)

KERNEL_PAIR(1)
KERNEL_PAIR(2)
KERNEL_PAIR(3)
KERNEL_PAIR(4)
