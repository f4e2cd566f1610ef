// The transposed convolution to at most 4 channels on tensor cores: the four places around a pixel are 4 k columns of a
// product, of which 16 are computed, and its rows are the pixels of one image.
//
// A block works on ROWS x COLUMNS pixels, a warp on two rows of them. These and the ones around them come to shared
// memory in lines of 128 bytes, the filter's too, packed (9, 16, width) with zeros where a pixel isn't hit; the pixels
// around one are read from where they lie. Other blocks of the multiprocessor compute while one waits.
//
// Launch: grid (tiles of an image, images), block THREADS, dynamic shared memory 16 * MEMORY bytes.
#include "activation.cuh"
#include "lines.cuh"
#include "overlap.cuh"

constexpr int COLUMNS = 32, PITCH = COLUMNS + 2, THREADS = 16 * ROWS;
constexpr int TILE = (ROWS + 2) * PITCH * LINE, FILTER = 9 * 16 * LINE, MEMORY = TILE + FILTER;

static_assert(ROWS % 2 == 0 && THREADS <= 1024, "ROWS must be even and at most 64.");
static_assert(MEMORY <= 227 * 64, "The tile needs more than 227 KiB of shared memory: lower ROWS.");

extern __shared__ Vector memory[];

#define CONVOLVE_ARGUMENTS(Type)                                                                                     \
  const Type *__restrict__ image, const Type *__restrict__ packed, const float *__restrict__ bias,                   \
      float *__restrict__ out, int h, int width, int k, int activation

template <Math math, class Type = typename Operand<math>::Type>
__device__ __forceinline__ void convolution(CONVOLVE_ARGUMENTS(Type)) {
  constexpr int V = 16 / sizeof(Type), depth = LINE * V;
  Vector *const filter = memory + TILE;
  const int across = (h - 1) / COLUMNS + 1;
  const int top = blockIdx.x / across * ROWS, left = blockIdx.x % across * COLUMNS;
  const Type *const own = image + size_t(blockIdx.y) * h * h * width;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  float sums[4][2][4] = {};
  for (int channel = 0; channel < width; channel += depth) {
    if (channel) __syncthreads();  // nobody reads any more what is written next
    for (int e = threadIdx.x; e < FILTER; e += THREADS) {
      const int r = e / LINE, u = e % LINE, at = channel + u * V;
      copy_vector(&filter[place(r, u)], packed + size_t(r) * width + at, at < width);
    }
    if (channel == 0) {  // the filter has been there for longer than the kernel before, the image hasn't
      wait_for_kernel_before();
      let_next_begin();
    }
    for (int e = threadIdx.x; e < TILE; e += THREADS) {
      const int r = e / LINE, u = e % LINE, y = top + r / PITCH - 1, x = left + r % PITCH - 1, at = channel + u * V;
      copy_vector(&memory[place(r, u)], own + (size_t(y) * h + x) * width + at,
                  y >= 0 && y < h && x >= 0 && x < h && at < width);
    }
    wait_for_copies();
    __syncthreads();
#pragma unroll 1
    for (int tap = 0; tap < 9; ++tap)
#pragma unroll
      for (int u = 0; u < LINE; u += 2) {
        unsigned of_a[4][4], of_b[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int r = (2 * warp + i / 2 + tap / 3) * PITCH + i % 2 * 16 + tap % 3 + lane % 16;
          load_matrices(of_a[i], memory + place(r, u + lane / 16));
        }
        load_matrices(of_b, filter + place(tap * 16 + lane / 16 * 8 + lane % 8, u + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 2; ++j) mma_of<math>(sums[i][j], of_a[i], of_b + 2 * j);
      }
  }

#pragma unroll
  for (int j = 0; j < 2; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int column = j * 8 + lane % 4 * 2 + e;
      const float summand = column < 4 * k ? bias[column % k] : 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i / 2][j][i % 2 * 2 + e] += summand;
    }
  activate<32, true>(&sums[0][0][0], activation);  // far more exact than operands

#pragma unroll
  for (int j = 0; j < 2; ++j) {
    // A pair of columns is in the same row of the result, since each of its two rows has 2 k.
    const int column = j * 8 + lane % 4 * 2, half = column / (2 * k), within = column % (2 * k);
    if (column >= 4 * k) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int y = top + 2 * warp + i / 4, x = left + i % 4 * 8 + lane / 4;
      if (y >= h || x >= h) continue;
      const size_t row = size_t(blockIdx.y) * 2 * h + 2 * y + half;
      const float *const found = &sums[i / 2][j][i % 2 * 2];
      *reinterpret_cast<float2 *>(out + (row * 2 * h + 2 * x) * k + within) = {found[0], found[1]};
    }
  }
}

#define KERNEL(math)                                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS) math(CONVOLVE_ARGUMENTS(Operand<Math::math>::Type)) { \
    convolution<Math::math>(image, packed, bias, out, h, width, k, activation);                          \
  }

KERNEL(tf32)
KERNEL(float16)
KERNEL(bfloat16)
OPERAND_KERNELS
