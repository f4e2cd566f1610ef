// Convert float32 operands for tensor cores: scaled by `scale`, they are rounded to half precision or split into two
// TF32 parts. A thread converts a vector of WIDTH elements at a time; the last elements are converted one by one.
// Arrays (count) are aligned to vectors.
//
// Launch: any grid along x, block BLOCK, no dynamic shared memory.
#include "ptx/arithmetic.cuh"

constexpr int BLOCK = 256;
constexpr int WIDTH = 4;  // elements of a vector
template <class Type>
struct alignas(WIDTH * sizeof(Type)) Vector {
  Type value[WIDTH];
};

// Call `on_vector(v)` for the whole vectors of `count` elements, and `on_element(i)` for the elements after these.
template <class OnVector, class OnElement>
__device__ void for_each(long long count, OnVector on_vector, OnElement on_element) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long stride = (long long)gridDim.x * blockDim.x, vectors = count / WIDTH;
  for (long long v = first; v < vectors; v += stride) on_vector(v);
  for (long long i = vectors * WIDTH + first; i < count; i += stride) on_element(i);
}

// to (count) = convert(from (count)), elementwise.
template <class Convert>
__device__ void convert_all(const float *from, unsigned short *to, long long count, Convert convert) {
  for_each(
      count,
      [&](long long v) {
        const auto vector = reinterpret_cast<const Vector<float> *>(from)[v];
        Vector<unsigned short> bits;
#pragma unroll
        for (int element = 0; element < WIDTH; ++element) bits.value[element] = convert(vector.value[element]);
        reinterpret_cast<Vector<unsigned short> *>(to)[v] = bits;
      },
      [&](long long i) { to[i] = convert(from[i]); });
}

#define CONVERSION_KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)

// to (count) = scale * from (count), rounded to half precision, float16 or bfloat16.
CONVERSION_KERNEL float16(const float *from, unsigned short *to, long long count, float scale) {
  convert_all(from, to, count, [=](float x) { return to_float16(scale * x); });
}

CONVERSION_KERNEL bfloat16(const float *from, unsigned short *to, long long count, float scale) {
  convert_all(from, to, count, [=](float x) { return to_bfloat16(scale * x); });
}

// high (count) = scale * from (count) rounded to TF32, low (count) = the remainders rounded to TF32.
CONVERSION_KERNEL tf32x3(const float *from, float *high, float *low, long long count, float scale) {
  const auto split = [=](float x, float &high_part, float &low_part) {
    high_part = to_mma_operand(scale * x);
    low_part = to_mma_operand(scale * x - high_part);
  };
  for_each(
      count,
      [&](long long v) {
        const auto vector = reinterpret_cast<const Vector<float> *>(from)[v];
        Vector<float> high_parts, low_parts;
#pragma unroll
        for (int element = 0; element < WIDTH; ++element)
          split(vector.value[element], high_parts.value[element], low_parts.value[element]);
        reinterpret_cast<Vector<float> *>(high)[v] = high_parts;
        reinterpret_cast<Vector<float> *>(low)[v] = low_parts;
      },
      [&](long long i) { split(from[i], high[i], low[i]); });
}
