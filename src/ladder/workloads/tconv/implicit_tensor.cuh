// What the implicit products on tensor cores share: the copies of both operands to a ring of STAGES buffers, and the
// kernels' arguments. A block computes BM images x BN columns, pixel by pixel (see implicit.cuh), in steps of a line of
// 128 bytes: 32 channels in TF32, or 64 in half precision.
//
// Shapes: image (images, h, h, width), packed filter (taps, columns, width), bias (k), out (images, 2 h, 2 h,
// out_width). The `width` operands of a pixel are whole vectors of 16 bytes, with zeros after the last channel. They
// are written by `<math>_operands` or by the previous layer.
#pragma once
#include "implicit.cuh"
#include "lines.cuh"

constexpr int STAGE = (BM + BN) * LINE;  // vectors of a buffer

static_assert(STAGES * STAGE <= 227 * 64, "The tiles need more than 227 KiB of shared memory: lower BM, BN or STAGES.");

extern __shared__ __align__(1024) Vector memory[];

#define CONVOLVE_ARGUMENTS(Type, Out)                                                                               \
  const Type *__restrict__ image, const Type *__restrict__ packed, const float *__restrict__ bias,                  \
      Out *__restrict__ out, int images, int h, int width, int k, int out_width, int activation

// The work of a block: images from `first` on and columns from `column` on, at one position of the result.
struct Block {
  const int images, h, k, columns, column_blocks, first, column;
  const Position position;
  __device__ __forceinline__ Block(int images, int h, int k)
      : images(images), h(h), k(k), columns(PARITIES * k), column_blocks((columns - 1) / BN + 1),
        first(blockIdx.y * BM), column(blockIdx.x % column_blocks * BN), position(blockIdx.x / column_blocks, h) {}
};

// The copies of a block's tiles by its THREADS, one tile after the other.
template <class Type, int THREADS>
struct Copies {
  static_assert(THREADS <= 1024 && THREADS % LINE == 0, "A block has at most 32 warps.");
  static constexpr int V = 16 / sizeof(Type), DEPTH = LINE * V;
  const Block &block;
  const Type *image, *packed;
  const int width;
  StepIterator<DEPTH> steps;
  __device__ __forceinline__ Copies(const Block &block, const Type *image, const Type *packed, int width)
      : block(block), image(image), packed(packed), width(width), steps(block.position, width) {}

  // Start the copies of the next tile, to the buffer `tile` % STAGES.
  __device__ __forceinline__ void start(int tile) {
    Vector *const tile_buffer = memory + tile % STAGES * STAGE;
    const int h = block.h;
    const size_t row = size_t(block.position.tap(steps.row, steps.column)) * block.columns + block.column;
    load<BM>(tile_buffer, image + ((size_t(block.first) * h + steps.row) * h + steps.column) * width + steps.channel,
             h * h * width, block.images - block.first);
    load<BN>(tile_buffer + BM * LINE, packed + row * width + steps.channel, width, block.columns - block.column);
    steps.next();
  }

  // Copy to tile (rows, LINE) a line of each of `rows` rows. The first is at `first_vector`, and rows are `stride`
  // operands apart. Those from `remaining_rows` on become zeros.
  template <int rows>
  __device__ __forceinline__ void load(Vector *tile, const Type *first_vector, int stride, int remaining_rows) const {
    constexpr int step = THREADS / LINE;
    const int u = threadIdx.x % LINE, first = threadIdx.x / LINE;
    const Type *source = first_vector + size_t(first) * stride + u * V;
#pragma unroll
    for (int offset = 0; offset < rows; offset += step, source += size_t(step) * stride)
      if (rows % step == 0 || first + offset < rows)
        copy_vector(&tile[swizzled(first + offset, u)], source,
                    first + offset < remaining_rows && u * V < width - steps.channel);
  }
};

// The address of the first column of a row of a block's product, or null if there is no such image.
template <class Out>
struct Rows {
  const Block &block;
  Out *out;
  int out_width;
  __device__ __forceinline__ Out *operator()(int row) const {
    const int image = block.first + row;
    return image < block.images ? out + block.position.element(image, block.h) * out_width : nullptr;
  }
};

// The kernels for a type of operands, with results in float32 and as operands, which call a template `convolution`.
#define IMPLICIT_KERNELS(math, attributes)                                                                 \
  extern "C" __global__ void attributes math##_to_float32(                                                 \
      CONVOLVE_ARGUMENTS(Operand<Math::math>::Type, float)) {                                              \
    convolution<Math::math, false>(image, packed, bias, out, images, h, width, k, out_width, activation);  \
  }                                                                                                        \
  extern "C" __global__ void attributes math##_to_operands(                                                \
      CONVOLVE_ARGUMENTS(Operand<Math::math>::Type, Operand<Math::math>::Type)) {                          \
    convolution<Math::math, true>(image, packed, bias, out, images, h, width, k, out_width, activation);   \
  }
