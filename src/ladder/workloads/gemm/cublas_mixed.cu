// Float32 operands for tensor cores: converted to half precision, or split into two TF32 parts, after scaling by
// `scale`. A thread converts four elements at a time; the remaining ones are converted one by one. Arrays are (count),
// of which those that are read or written by vectors are aligned to these.
//
// Launch: any grid along x, block BLOCK, no dynamic shared memory.
#include "ptx/arithmetic.cuh"

constexpr int BLOCK = 256;
constexpr int WIDTH = 4;
template <class Type>
struct alignas(WIDTH * sizeof(Type)) Vector {
  Type value[WIDTH];
};

// Call `whole(v)` for the vectors and `single(i)` for the remaining of `count` elements.
template <class Whole, class Single>
__device__ void each(long long count, Whole whole, Single single) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long stride = (long long)gridDim.x * blockDim.x, vectors = count / WIDTH;
  for (long long v = first; v < vectors; v += stride) whole(v);
  for (long long i = vectors * WIDTH + first; i < count; i += stride) single(i);
}

// to (count) = convert(from (count)), element by element.
template <class Convert>
__device__ void converted(const float *from, unsigned short *to, long long count, Convert convert) {
  each(
      count,
      [&](long long v) {
        const auto some = reinterpret_cast<const Vector<float> *>(from)[v];
        Vector<unsigned short> all;
#pragma unroll
        for (int lane = 0; lane < WIDTH; ++lane) all.value[lane] = convert(some.value[lane]);
        reinterpret_cast<Vector<unsigned short> *>(to)[v] = all;
      },
      [&](long long i) { to[i] = convert(from[i]); });
}

#define CONVERSION extern "C" __global__ void __launch_bounds__(BLOCK)

// to (count) = scale from (count), rounded to half precision, float16 or bfloat16.
CONVERSION float16(const float *from, unsigned short *to, long long count, float scale) {
  converted(from, to, count, [=](float x) { return to_float16(scale * x); });
}

CONVERSION bfloat16(const float *from, unsigned short *to, long long count, float scale) {
  converted(from, to, count, [=](float x) { return to_bfloat16(scale * x); });
}

// high (count) = scale from (count) rounded to TF32, low (count) the remainders rounded to TF32.
CONVERSION tf32x3(const float *from, float *high, float *low, long long count, float scale) {
  const auto split = [=](float x, float &first, float &second) {
    first = rounded(scale * x);
    second = rounded(scale * x - first);
  };
  each(
      count,
      [&](long long v) {
        const auto some = reinterpret_cast<const Vector<float> *>(from)[v];
        Vector<float> first, second;
#pragma unroll
        for (int lane = 0; lane < WIDTH; ++lane) split(some.value[lane], first.value[lane], second.value[lane]);
        reinterpret_cast<Vector<float> *>(high)[v] = first;
        reinterpret_cast<Vector<float> *>(low)[v] = second;
      },
      [&](long long i) { split(from[i], high[i], low[i]); });
}
