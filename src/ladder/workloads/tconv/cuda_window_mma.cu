// The transposed convolution to at most 4 channels on tensor cores. The four elements around a pixel are columns of two
// products, one for each row of the result. The rows of the products are the pixels of one image.
//
// A block has ROWS x COLUMNS pixels, a warp WARP_ROWS rows of them. These and their neighbours are copied to shared
// memory in lines of 128 bytes, as is the filter, packed (9, 16, padded_c) with zeros for taps without a pixel. A warp
// reads a row of pixels at three shifts, and uses it for all rows of the result to which it contributes. While a block
// waits, other blocks of its multiprocessor compute.
//
// Shapes: image (images, h, h, padded_c), packed filter (9, 16, padded_c), bias (k), out (images, 2 h, 2 h, k);
// `padded_c` is the number of channels, rounded up to whole vectors of 16 bytes.
//
// The launch bounds state one block per multiprocessor, since otherwise the unrolled loop spills registers. Rejected
// experiments: docs/experiments/tconv.md.
//
// Launch: grid (ceil(h / ROWS) * ceil(h / COLUMNS), images), block THREADS, dynamic shared memory 16 * SHARED_VECTORS
// bytes.
#include "activation.cuh"
#include "lines.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/math.cuh"
#include "ptx/mma.cuh"
#include "ptx/programmatic_launch.cuh"
#include "tensor_operands.cuh"
#include "output_types.cuh"

constexpr int WARP_ROWS = ROWS % 4 ? 2 : 4, COLUMNS = 32, PITCH = COLUMNS + 2, THREADS = 32 * ROWS / WARP_ROWS;
constexpr int TILE_VECTORS = (ROWS + 2) * PITCH * LINE_VECTORS, FILTER_VECTORS = 9 * 16 * LINE_VECTORS;
constexpr int SHARED_VECTORS = TILE_VECTORS + FILTER_VECTORS;

static_assert(ROWS % 2 == 0, "ROWS must be even.");
static_assert(SHARED_VECTORS <= 227 * 64, "The tile needs more than 227 KiB of shared memory: lower ROWS.");

extern __shared__ Vector memory[];

#define CONVOLVE_ARGUMENTS(Type, Out)                                                              \
  const Type *__restrict__ image, const Type *__restrict__ packed, const float *__restrict__ bias, \
      Out *__restrict__ out, int h, int padded_c, int k, int activation

// The kernel's body; see above for its arrays.
template <Math math, class Format, class Type = typename Operand<math>::Type, class Out = typename Format::Type>
__device__ __forceinline__ void convolution(CONVOLVE_ARGUMENTS(Type, Out)) {
  constexpr int V = 16 / sizeof(Type), depth = LINE_VECTORS * V;
  Vector *const filter = memory + TILE_VECTORS;
  const int tiles_across = (h - 1) / COLUMNS + 1;
  const int top = blockIdx.x / tiles_across * ROWS, left = blockIdx.x % tiles_across * COLUMNS;
  const Type *const this_image = image + size_t(blockIdx.y) * h * h * padded_c;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  float sums[WARP_ROWS][2][2][4] = {};  // by row of pixels, half of that row, and row of the result
  for (int channel = 0; channel < padded_c; channel += depth) {
    if (channel) __syncthreads();  // all warps have read the previous channels, which are overwritten next
    for (int index = threadIdx.x; index < FILTER_VECTORS; index += THREADS) {
      const int tile_row = index / LINE_VECTORS, u = index % LINE_VECTORS, first_channel = channel + u * V;
      copy_vector(&filter[swizzled_index(tile_row, u)], packed + size_t(tile_row) * padded_c + first_channel,
                  first_channel < padded_c);
    }
    if (channel == 0) {  // the previous kernel writes the image, but not the filter
      wait_for_previous_kernel();
      launch_dependents();
    }
    for (int index = threadIdx.x; index < TILE_VECTORS; index += THREADS) {
      const int tile_row = index / LINE_VECTORS, u = index % LINE_VECTORS;
      const int y = top + tile_row / PITCH - 1, x = left + tile_row % PITCH - 1, first_channel = channel + u * V;
      copy_vector(&memory[swizzled_index(tile_row, u)], this_image + (size_t(y) * h + x) * padded_c + first_channel,
                  y >= 0 && y < h && x >= 0 && x < h && first_channel < padded_c);
    }
    wait_for_copies();
    __syncthreads();
#pragma unroll 1
    for (int shift = 0; shift < 3; ++shift) {
      const int first = WARP_ROWS * warp * PITCH + shift + lane % 16;
#pragma unroll
      for (int u = 0; u < LINE_VECTORS; u += 2) {
        unsigned b_fragments[3][4];  // by row of the 3 x 3 pixels around a pixel
#pragma unroll
        for (int window_row = 0; window_row < 3; ++window_row)
          load_matrices(b_fragments[window_row],
                        filter + swizzled_index((window_row * 3 + shift) * 16 + lane / 16 * 8 + lane % 8,
                                                u + lane / 8 % 2));
#pragma unroll
        for (int row = 0; row < WARP_ROWS + 2; ++row) {
          unsigned a_fragments[2][4];
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            // Rows eight apart have the same swizzle, so that few addresses are computed.
            const Vector *const source = memory + swizzled_index(first + row * (PITCH % 8), u + lane / 16);
            load_matrices(a_fragments[half], source + (row * (PITCH - PITCH % 8) + half * 16) * LINE_VECTORS);
          }
#pragma unroll
          for (int window_row = 0; window_row < 3; ++window_row) {
            const int target_row = row - window_row;  // the row of pixels around which the elements lie
            if (target_row < 0 || target_row >= WARP_ROWS) continue;
#pragma unroll
            for (int half = 0; half < 2; ++half)
#pragma unroll
              for (int j = window_row == 2; j < 2; ++j)  // the upper row of the result doesn't use the lower neighbours
                mma_packed<math>(sums[target_row][half][j], a_fragments[half], b_fragments[window_row] + 2 * j);
          }
        }
      }
    }
  }

  // This lane's first column among the 2 k contiguous values around a pixel in a row of the result.
  const int column = lane % 4 * 2;
  if (column >= 2 * k) return;
  const float addends[2] = {bias[column % k], bias[(column + 1) % k]};
#pragma unroll
  for (int row = 0; row < WARP_ROWS; ++row)
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[row][i / 8][i / 4 % 2][i % 4] += addends[i % 2];
  activate<16 * WARP_ROWS, true>(&sums[0][0][0][0], activation);  // see epilogue.cuh

  const size_t row_size = size_t(2) * h * k;
  const int y = top + WARP_ROWS * warp, x = left + lane / 4;
  Out *target = out + (size_t(blockIdx.y) * h + y) * 2 * row_size + 2 * x * k + column;
#pragma unroll
  for (int row = 0; row < WARP_ROWS; ++row)
#pragma unroll
    for (int j = 0; j < 2; ++j, target += row_size)
#pragma unroll
      for (int octet = 0; octet < 4; ++octet) {
        const float *const pair = &sums[row][octet / 2][j][octet % 2 * 2];
        if (y + row < h && x + 8 * octet < h)
          *reinterpret_cast<AlignedVector<Out, 2> *>(target + 16 * octet * k) = {
              Format::convert(pair[0]), Format::convert(pair[1])};
      }
}

// The kernels for a type of operands, with results as float32 and as 8-bit pixels.
#define KERNEL(math, result, Format)                                                       \
  extern "C" __global__ void __launch_bounds__(THREADS, 1) math##_to_##result(             \
      CONVOLVE_ARGUMENTS(Operand<Math::math>::Type, Format::Type)) {                       \
    convolution<Math::math, Format>(image, packed, bias, out, h, padded_c, k, activation); \
  }
#define KERNEL_PAIR(math) KERNEL(math, float32, Float32Output) KERNEL(math, uint8, PixelOutput)

KERNEL_PAIR(tf32)
KERNEL_PAIR(float16)
KERNEL_PAIR(bfloat16)
OPERAND_KERNELS
