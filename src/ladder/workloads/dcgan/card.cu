// The kernels of a generator on the GPU other than its transposed convolutions: the projection for layers that read
// operands, and the elementwise epilogue of a layer.
//
// Launch: `to_*` any grid along x, block BLOCK, no dynamic shared memory; `project_to_*` see projection.cuh.
#include "activation.cuh"
#include "projection.cuh"
#include "ptx/math.cuh"
#include "tensor_operands.cuh"
#include "output_types.cuh"

constexpr int BLOCK = 256;

// to (rows, width) = activation(factor * from (rows, c) + summand), and zeros after the last channel, V channels at a
// time; V divides c and width. factor and summand (period), null for none, repeat every `period` elements, a multiple
// of c.
template <class As, int V>
__device__ __forceinline__ void finish(const float *from, typename As::Type *to, const float *__restrict__ factor,
                                       const float *__restrict__ summand, unsigned rows, int c, int width, int period,
                                       int activation) {
  using In = AlignedVector<float, V>;
  using Out = AlignedVector<typename As::Type, V>;
  // The index of a thread's next vector is computed without a division.
  const unsigned across = width / V, places = period / c, first = blockIdx.x * BLOCK + threadIdx.x;
  const unsigned down_step = gridDim.x * BLOCK / across, across_step = gridDim.x * BLOCK % across;
  unsigned row = first / across, column = first % across;
  while (row < rows) {
    const int channel = column * V, index = (places == 1 ? 0 : row % places) * c + channel;
    Out out;
    if (channel < c) {
      const In in = *reinterpret_cast<const In *>(from + size_t(row) * c + channel);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        float value = factor ? factor[index + v] * in.value[v] : in.value[v];
        out.value[v] = As::convert(apply_activation(summand ? value + summand[index + v] : value, activation));
      }
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) out.value[v] = As::convert(0);
    }
    *reinterpret_cast<Out *>(to + size_t(row) * width + channel) = out;
    row += down_step, column += across_step;
    if (column >= across) column -= across, ++row;
  }
}

// A kernel of finish(), by four channels at a time where these divide c and width.
#define FINISH(name, As)                                                                                 \
  extern "C" __global__ void __launch_bounds__(BLOCK)                                                    \
  name(const float *from, As::Type *to, const float *__restrict__ factor,                                \
       const float *__restrict__ summand, unsigned rows, int c, int width, int period, int activation) { \
    if (c % 4 == 0 && width % 4 == 0)                                                                    \
      finish<As, 4>(from, to, factor, summand, rows, c, width, period, activation);                      \
    else                                                                                                 \
      finish<As, 1>(from, to, factor, summand, rows, c, width, period, activation);                      \
  }

FINISH(to_float32, Float32Output)
FINISH(to_uint8, PixelOutput)
FINISH(to_float16, Operand<Math::float16>)
FINISH(to_bfloat16, Operand<Math::bfloat16>)

PROJECT(project_to_float32, Float32Output)
PROJECT(project_to_float16, Operand<Math::float16>)
PROJECT(project_to_bfloat16, Operand<Math::bfloat16>)
