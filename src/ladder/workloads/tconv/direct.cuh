// What the transposed convolutions with a thread per element and channel of the result share. Threads outside the
// result do nothing.
//
// Shapes: image (images, h, h, c), filter (5, 5, k, c), bias (k), out (images, 2 h, 2 h, k).
//
// Launch: grid (ceil(2 h / COLUMNS) * ceil(2 h / ROWS) * ceil(k / CHANNELS), images), block (CHANNELS, COLUMNS, ROWS),
// no dynamic shared memory.
#pragma once

constexpr int FILTER_SIDE = 5;

static_assert(CHANNELS * COLUMNS * ROWS <= 1024, "A block has at most 1024 threads: lower channels, columns or rows.");

#define CONVOLVE_ARGUMENTS const REAL *__restrict__ image, const REAL *__restrict__ filter, \
                           const REAL *__restrict__ bias, REAL *__restrict__ out, int h, int c, int k

// The element and channel of this thread. Blocks along x cover columns, rows and channels, blocks along y images.
struct Element {
  int x, y, channel;
  __device__ Element(int h) {
    const unsigned tiles_across = (2 * h + COLUMNS - 1) / COLUMNS;
    const unsigned tiles = tiles_across * ((2 * h + ROWS - 1) / ROWS);
    channel = blockIdx.x / tiles * CHANNELS + threadIdx.x;
    x = blockIdx.x % tiles_across * COLUMNS + threadIdx.y;
    y = blockIdx.x % tiles / tiles_across * ROWS + threadIdx.z;
  }
  __device__ bool is_inside(int h, int k) const { return x < 2 * h && y < 2 * h && channel < k; }
  __device__ size_t index(int h, int k) const {
    return ((size_t(blockIdx.y) * 2 * h + y) * 2 * h + x) * k + channel;
  }
};

// The dot product of a pixel (c) and a row of the filter (c).
__device__ inline REAL dot_product(const REAL *pixel, const REAL *row, int c) {
  REAL sum = 0;
  for (int i = 0; i < c; ++i) sum += pixel[i] * row[i];
  return sum;
}
