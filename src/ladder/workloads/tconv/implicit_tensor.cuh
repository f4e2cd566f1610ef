// What the implicit products on tensor cores share: the copies of both operands to a ring of STAGES buffers, and the
// kernels' arguments. A block computes BM images x BN columns, pixel by pixel (see implicit.cuh), in steps of a line of
// 128 bytes: 32 channels in TF32, or 64 in half precision.
//
// Shapes: image (images, h, h, padded_c), packed filter (packed rows, columns, padded_c), bias (k), out (images, 2 h,
// 2 h, padded_k). The `padded_c` operands of a pixel are whole vectors of 16 bytes, with zeros after the last channel.
// They are written by `<math>_operands` or by the previous layer. `padded_k` is the number of channels that an element
// of the result has in memory.
#pragma once
#include "implicit.cuh"
#include "lines.cuh"

constexpr int STAGE_VECTORS = (BM + BN) * LINE_VECTORS;  // of a buffer, 16 bytes each

static_assert(STAGES * STAGE_VECTORS <= 227 * 64,
              "The tiles need more than 227 KiB of shared memory: lower BM, BN or STAGES.");

extern __shared__ __align__(1024) Vector memory[];

#define CONVOLVE_ARGUMENTS(Type, Out)                                                              \
  const Type *__restrict__ image, const Type *__restrict__ packed, const float *__restrict__ bias, \
      Out *__restrict__ out, int images, int h, int padded_c, int k, int padded_k, int activation

// The work of a block: images and columns from the first ones on, at one position of the result.
struct Block {
  const int images, h, k, columns, column_blocks, first_image, first_column;
  const Position position;
  __device__ __forceinline__ Block(int images, int h, int k)
      : images(images), h(h), k(k), columns(PARITIES * k), column_blocks((columns - 1) / BN + 1),
        first_image(blockIdx.y * BM), first_column(blockIdx.x % column_blocks * BN),
        position(blockIdx.x / column_blocks, h) {}
};

// The copies of a block's tiles by its THREADS, one tile after the other.
template <class Type, int THREADS>
struct Copies {
  static_assert(THREADS <= 1024 && THREADS % LINE_VECTORS == 0, "A block has at most 32 warps.");
  static constexpr int V = 16 / sizeof(Type), DEPTH = LINE_VECTORS * V;
  const Block &block;
  const Type *image, *packed;
  const int padded_c;
  StepIterator<DEPTH> steps;
  __device__ __forceinline__ Copies(const Block &block, const Type *image, const Type *packed, int padded_c)
      : block(block), image(image), packed(packed), padded_c(padded_c), steps(block.position, padded_c) {}

  // Start the copies of the next tile, to the buffer `tile` % STAGES.
  __device__ __forceinline__ void start(int tile) {
    Vector *const tile_buffer = memory + tile % STAGES * STAGE_VECTORS;
    const int h = block.h;
    const size_t row = size_t(block.position.packed_row(steps.row, steps.column)) * block.columns + block.first_column;
    load<BM>(tile_buffer,
             image + ((size_t(block.first_image) * h + steps.row) * h + steps.column) * padded_c + steps.channel,
             h * h * padded_c, block.images - block.first_image);
    load<BN>(tile_buffer + BM * LINE_VECTORS, packed + row * padded_c + steps.channel, padded_c,
             block.columns - block.first_column);
    steps.next();
  }

  // Copy to tile (rows, LINE_VECTORS) a line of each of `rows` rows. The first line is at `first_line`, and rows are
  // `stride` operands apart. Those from `remaining_rows` on become zeros.
  template <int rows>
  __device__ __forceinline__ void load(Vector *tile, const Type *first_line, int stride, int remaining_rows) const {
    constexpr int rows_at_once = THREADS / LINE_VECTORS;
    const int u = threadIdx.x % LINE_VECTORS, first_row = threadIdx.x / LINE_VECTORS;
    const Type *source = first_line + size_t(first_row) * stride + u * V;
#pragma unroll
    for (int offset = 0; offset < rows; offset += rows_at_once, source += size_t(rows_at_once) * stride)
      if (rows % rows_at_once == 0 || first_row + offset < rows)
        copy_vector(&tile[swizzled_index(first_row + offset, u)], source,
                    first_row + offset < remaining_rows && u * V < padded_c - steps.channel);
  }
};

// The address of the first column of a row of a block's product, or null if there is no such image.
template <class Out>
struct RowAddress {
  const Block &block;
  Out *out;
  int padded_k;
  __device__ __forceinline__ Out *operator()(int row) const {
    const int image = block.first_image + row;
    return image < block.images ? out + block.position.element_index(image, block.h) * padded_k : nullptr;
  }
};

// The kernels for a type of operands, with results in float32 and as operands, which call a template `convolution`.
#define IMPLICIT_KERNELS(math, attributes)                                                                  \
  extern "C" __global__ void attributes math##_to_float32(                                                  \
      CONVOLVE_ARGUMENTS(Operand<Math::math>::Type, float)) {                                               \
    convolution<Math::math, false>(image, packed, bias, out, images, h, padded_c, k, padded_k, activation); \
  }                                                                                                         \
  extern "C" __global__ void attributes math##_to_operands(                                                 \
      CONVOLVE_ARGUMENTS(Operand<Math::math>::Type, Operand<Math::math>::Type)) {                           \
    convolution<Math::math, true>(image, packed, bias, out, images, h, padded_c, k, padded_k, activation);  \
  }
