// The types of tensor cores' operands, each with its conversion from float32: TF32 as a float, or the bits of half
// precision.
#pragma once
#include "ptx/arithmetic.cuh"
#include "ptx/math.cuh"

template <Math math>
struct Operand {
  using Type = unsigned short;
  static __device__ __forceinline__ Type convert(float x) {
    return math == Math::float16 ? to_float16(x) : to_bfloat16(x);
  }
};

template <>
struct Operand<Math::tf32> {
  using Type = float;
  static __device__ __forceinline__ Type convert(float x) { return to_mma_operand(x); }
};

// The type of results, which are the next layer's operands or unrounded float32.
template <Math math, bool is_operand>
struct Result : Operand<math> {};

template <Math math>
struct Result<math, false> {
  using Type = float;
  static __device__ __forceinline__ Type convert(float x) { return x; }
};

// to (rows, padded_c) = from (rows, c) converted to operands, with zeros in channels c to padded_c - 1.
template <Math math>
__device__ __forceinline__ void write_operands(const float *__restrict__ from, typename Operand<math>::Type *to,
                                               long long rows, int c, int padded_c) {
  const long long count = rows * padded_c, step = (long long)(gridDim.x) * blockDim.x;
  for (long long index = (long long)(blockIdx.x) * blockDim.x + threadIdx.x; index < count; index += step) {
    const int channel = index % padded_c;
    to[index] = Operand<math>::convert(channel < c ? from[index / padded_c * c + channel] : 0.0f);
  }
}

// The kernels `<math>_operands` of a source, which convert from (rows, c) to (rows, padded_c).
//
// Launch: any grid along x, block 256, no dynamic shared memory.
#define OPERAND_KERNEL(math)                                                                            \
  extern "C" __global__ void __launch_bounds__(256)                                                     \
  math##_operands(const float *__restrict__ from, Operand<Math::math>::Type *to, long long rows, int c, \
                  int padded_c) {                                                                       \
    write_operands<Math::math>(from, to, rows, c, padded_c);                                            \
  }
#define OPERAND_KERNELS OPERAND_KERNEL(tf32) OPERAND_KERNEL(float16) OPERAND_KERNEL(bfloat16)
