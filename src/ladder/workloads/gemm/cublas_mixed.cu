// Float32 operands for tensor cores: converted to half precision, or split in two parts of TF32. Elements are multiplied
// by `scale` before. A thread works on four of them at a time; what is left over at the end comes one by one.
#include "ptx.cuh"

constexpr int BLOCK = 256;
constexpr int WIDTH = 4;
template <class Type>
struct alignas(WIDTH * sizeof(Type)) Vector {
  Type value[WIDTH];
};

// Calls `whole(v)` for the vectors and `single(i)` for the rest of `count` elements.
template <class Whole, class Single>
__device__ void each(long long count, Whole whole, Single single) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long stride = (long long)gridDim.x * blockDim.x, vectors = count / WIDTH;
  for (long long v = first; v < vectors; v += stride) whole(v);
  for (long long i = vectors * WIDTH + first; i < count; i += stride) single(i);
}

// to[i] = convert(from[i]).
template <class Type, class Convert>
__device__ void converted(const float *from, Type *to, long long count, Convert convert) {
  each(
      count,
      [&](long long v) {
        const auto some = reinterpret_cast<const Vector<float> *>(from)[v];
        Vector<Type> all;
#pragma unroll
        for (int lane = 0; lane < WIDTH; ++lane) all.value[lane] = convert(some.value[lane]);
        reinterpret_cast<Vector<Type> *>(to)[v] = all;
      },
      [&](long long i) { to[i] = convert(from[i]); });
}

#define ARGUMENTS(Type) const float *__restrict__ from, Type *__restrict__ to, long long count, float scale

extern "C" __global__ void __launch_bounds__(BLOCK) float16(ARGUMENTS(unsigned short)) {
  converted(from, to, count, [=](float x) { return to_float16(scale * x); });
}

extern "C" __global__ void __launch_bounds__(BLOCK) bfloat16(ARGUMENTS(unsigned short)) {
  converted(from, to, count, [=](float x) { return to_bfloat16(scale * x); });
}

// Rounded to TF32, and what that leaves. The second reads its operand again, from the cache if it is small.
extern "C" __global__ void __launch_bounds__(BLOCK) high(ARGUMENTS(float)) {
  converted(from, to, count, [=](float x) { return rounded(scale * x); });
}

extern "C" __global__ void __launch_bounds__(BLOCK) low(ARGUMENTS(float)) {
  converted(from, to, count, [=](float x) { return rounded(scale * x - rounded(scale * x)); });
}
