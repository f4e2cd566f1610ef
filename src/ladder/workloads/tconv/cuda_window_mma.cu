// The transposed convolution to at most 4 channels on tensor cores: the four elements around a pixel are columns of two
// products, one for each row of the result, and the rows of the products are the pixels of one image.
//
// A block has ROWS x COLUMNS pixels, a warp HEIGHT rows of them. These and their neighbours are copied to shared memory
// in lines of 128 bytes, as is the filter, packed (9, 16, width) with zeros for taps without a pixel. A warp reads a
// row of pixels at three shifts, and uses it for all rows of the result that it contributes to. Other blocks of the
// multiprocessor compute while one waits.
//
// Shapes: image (images, h, h, width), packed filter (9, 16, width), bias (k), out (images, 2 h, 2 h, k).
//
// The kernel is compiled for one block per multiprocessor, since otherwise its unrolled loop spills registers. Rejected
// experiments: docs/experiments/tconv.md.
//
// Launch: grid (ceil(h / ROWS) * ceil(h / COLUMNS), images), block THREADS, dynamic shared memory 16 * MEMORY bytes.
#include "activation.cuh"
#include "lines.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/math.cuh"
#include "ptx/mma.cuh"
#include "ptx/programmatic_launch.cuh"
#include "tensor_operands.cuh"
#include "output_types.cuh"

constexpr int HEIGHT = ROWS % 4 ? 2 : 4, COLUMNS = 32, PITCH = COLUMNS + 2, THREADS = 32 * ROWS / HEIGHT;
constexpr int TILE = (ROWS + 2) * PITCH * LINE, FILTER = 9 * 16 * LINE, MEMORY = TILE + FILTER;

static_assert(ROWS % 2 == 0, "ROWS must be even.");
static_assert(MEMORY <= 227 * 64, "The tile needs more than 227 KiB of shared memory: lower ROWS.");

extern __shared__ Vector memory[];

#define CONVOLVE_ARGUMENTS(Type, Out)                                                                                \
  const Type *__restrict__ image, const Type *__restrict__ packed, const float *__restrict__ bias,                   \
      Out *__restrict__ out, int h, int width, int k, int activation

// The kernel's body; see above for its arrays.
template <Math math, class As, class Type = typename Operand<math>::Type, class Out = typename As::Type>
__device__ __forceinline__ void convolution(CONVOLVE_ARGUMENTS(Type, Out)) {
  constexpr int V = 16 / sizeof(Type), depth = LINE * V;
  Vector *const filter = memory + TILE;
  const int across = (h - 1) / COLUMNS + 1;
  const int top = blockIdx.x / across * ROWS, left = blockIdx.x % across * COLUMNS;
  const Type *const of_image = image + size_t(blockIdx.y) * h * h * width;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  float sums[HEIGHT][2][2][4] = {};  // by rows of pixels, halves of a row, and rows of the result
  for (int channel = 0; channel < width; channel += depth) {
    if (channel) __syncthreads();  // all warps have read what is overwritten next
    for (int e = threadIdx.x; e < FILTER; e += THREADS) {
      const int r = e / LINE, u = e % LINE, at = channel + u * V;
      copy_vector(&filter[place(r, u)], packed + size_t(r) * width + at, at < width);
    }
    if (channel == 0) {  // the previous kernel writes the image, but not the filter
      wait_for_previous_kernel();
      launch_dependents();
    }
    for (int e = threadIdx.x; e < TILE; e += THREADS) {
      const int r = e / LINE, u = e % LINE, y = top + r / PITCH - 1, x = left + r % PITCH - 1, at = channel + u * V;
      copy_vector(&memory[place(r, u)], of_image + (size_t(y) * h + x) * width + at,
                  y >= 0 && y < h && x >= 0 && x < h && at < width);
    }
    wait_for_copies();
    __syncthreads();
#pragma unroll 1
    for (int shift = 0; shift < 3; ++shift) {
      const int first = HEIGHT * warp * PITCH + shift + lane % 16;
#pragma unroll
      for (int u = 0; u < LINE; u += 2) {
        unsigned of_b[3][4];
#pragma unroll
        for (int tap = 0; tap < 3; ++tap)
          load_matrices(of_b[tap], filter + place((tap * 3 + shift) * 16 + lane / 16 * 8 + lane % 8, u + lane / 8 % 2));
#pragma unroll
        for (int row = 0; row < HEIGHT + 2; ++row) {
          unsigned of_a[2][4];
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            // Rows eight apart have the same swizzle, so that few addresses are computed.
            const Vector *const from = memory + place(first + row * (PITCH % 8), u + lane / 16);
            load_matrices(of_a[half], from + (row * (PITCH - PITCH % 8) + half * 16) * LINE);
          }
#pragma unroll
          for (int tap = 0; tap < 3; ++tap) {
            const int of = row - tap;  // the row of pixels whose surrounding elements these are
            if (of < 0 || of >= HEIGHT) continue;
#pragma unroll
            for (int half = 0; half < 2; ++half)
#pragma unroll
              for (int j = tap == 2; j < 2; ++j)  // the upper row of the result has no product with the lowest pixels
                mma_packed<math>(sums[of][half][j], of_a[half], of_b[tap] + 2 * j);
          }
        }
      }
    }
  }

  const int within = lane % 4 * 2;  // the index in a row of the result, whose 2 k values around a pixel are contiguous
  if (within >= 2 * k) return;
  const float summands[2] = {bias[within % k], bias[(within + 1) % k]};
#pragma unroll
  for (int row = 0; row < HEIGHT; ++row)
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[row][i / 8][i / 4 % 2][i % 4] += summands[i % 2];
  activate<16 * HEIGHT, true>(&sums[0][0][0][0], activation);  // far more accurate than the operands

  const size_t line = size_t(2) * h * k;
  const int y = top + HEIGHT * warp, x = left + lane / 4;
  Out *to = out + (size_t(blockIdx.y) * h + y) * 2 * line + 2 * x * k + within;
#pragma unroll
  for (int row = 0; row < HEIGHT; ++row)
#pragma unroll
    for (int j = 0; j < 2; ++j, to += line)
#pragma unroll
      for (int eight = 0; eight < 4; ++eight) {
        const float *const pair = &sums[row][eight / 2][j][eight % 2 * 2];
        if (y + row < h && x + 8 * eight < h)
          *reinterpret_cast<AlignedVector<Out, 2> *>(to + 16 * eight * k) = {As::convert(pair[0]),
                                                                             As::convert(pair[1])};
      }
}

// The kernels for a type of operands and one of results.
#define KERNEL(math, result, As)                                                    \
  extern "C" __global__ void __launch_bounds__(THREADS, 1) math##_to_##result(      \
      CONVOLVE_ARGUMENTS(Operand<Math::math>::Type, As::Type)) {                    \
    convolution<Math::math, As>(image, packed, bias, out, h, width, k, activation); \
  }
#define BOTH(math) KERNEL(math, float32, Float32Output) KERNEL(math, uint8, PixelOutput)

BOTH(tf32)
BOTH(float16)
BOTH(bfloat16)
OPERAND_KERNELS
