// What a generator does on the card beside its transposed convolutions: what follows a layer, element by element.
#include "activation.cuh"
#include "ptx.cuh"
#include "tensor_operands.cuh"

constexpr int BLOCK = 256;

struct AsFloat32 {
  using Type = float;
  static __device__ float of(float x) { return x; }
};

// A colour of a screen from a value in [-1, 1], cut.
struct AsColour {
  using Type = unsigned char;
  static __device__ unsigned char of(float x) { return static_cast<unsigned char>((x + 1) / 2 * 255); }
};

// to (rows, width) = activation(factor from (rows, c) + summand), and zeros behind the last channel. Factors and
// summands, null where there are none, are those of a channel, or of as many numbers as `period` says.
template <class As>
__device__ __forceinline__ void finish(const float *from, typename As::Type *to, const float *__restrict__ factor,
                                       const float *__restrict__ summand, unsigned rows, int c, int width, int period,
                                       int activation) {
  const unsigned count = rows * width, step = gridDim.x * BLOCK;
  for (unsigned at = blockIdx.x * BLOCK + threadIdx.x; at < count; at += step) {
    const unsigned channel = at % width, source = at / width * c + channel, own = source % period;
    float value = 0;
    if (channel < c) {
      value = factor ? factor[own] * from[source] : from[source];
      value = activated(summand ? value + summand[own] : value, activation);
    }
    to[at] = As::of(value);
  }
}

#define FINISH(name, As)                                                                                       \
  extern "C" __global__ void __launch_bounds__(BLOCK)                                                          \
  name(const float *from, As::Type *to, const float *__restrict__ factor,                             \
       const float *__restrict__ summand, unsigned rows, int c, int width, int period, int activation) {       \
    finish<As>(from, to, factor, summand, rows, c, width, period, activation);                        \
  }

FINISH(to_float32, AsFloat32)
FINISH(to_uint8, AsColour)
FINISH(to_tf32, Operand<Math::tf32>)
FINISH(to_float16, Operand<Math::float16>)
FINISH(to_bfloat16, Operand<Math::bfloat16>)
