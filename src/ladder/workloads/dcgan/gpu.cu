// The kernels of a generator on the GPU other than its transposed convolutions: the projection on tensor cores, and the
// elementwise epilogue of the projection or a layer.
//
// Launch: `to_*` any grid along x, block BLOCK, no dynamic shared memory; `project_to_*` see projection.cuh.
#include "activation.cuh"
#include "projection.cuh"
#include "ptx/math.cuh"
#include "tensor_operands.cuh"
#include "output_types.cuh"

constexpr int BLOCK = 256;

// out (rows, padded_c) = activation(scale * in (rows, c) + shift), and zeros in channels from c on. A thread computes V
// channels at a time; V divides c and padded_c. scale and shift (period), or null for none, repeat every `period`
// elements of `in`, a multiple of c.
template <class Format, int V>
__device__ __forceinline__ void epilogue(const float *in, typename Format::Type *out, const float *__restrict__ scale,
                                         const float *__restrict__ shift, unsigned rows, int c, int padded_c,
                                         int period, int activation) {
  using In = AlignedVector<float, V>;
  using Out = AlignedVector<typename Format::Type, V>;
  // The index of a thread's next vector is computed without a division.
  const unsigned row_vectors = padded_c / V, period_rows = period / c, first = blockIdx.x * BLOCK + threadIdx.x;
  const unsigned row_step = gridDim.x * BLOCK / row_vectors, column_step = gridDim.x * BLOCK % row_vectors;
  unsigned row = first / row_vectors, column = first % row_vectors;
  while (row < rows) {
    const int channel = column * V, index = (period_rows == 1 ? 0 : row % period_rows) * c + channel;
    Out results;
    if (channel < c) {
      const In values = *reinterpret_cast<const In *>(in + size_t(row) * c + channel);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        float value = scale ? scale[index + v] * values.value[v] : values.value[v];
        results.value[v] = Format::convert(apply_activation(shift ? value + shift[index + v] : value, activation));
      }
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) results.value[v] = Format::convert(0);
    }
    *reinterpret_cast<Out *>(out + size_t(row) * padded_c + channel) = results;
    row += row_step, column += column_step;
    if (column >= row_vectors) column -= row_vectors, ++row;
  }
}

// A kernel of epilogue(), with four channels at a time if 4 divides c and padded_c.
#define EPILOGUE(name, Format)                                                                            \
  extern "C" __global__ void __launch_bounds__(BLOCK)                                                     \
  name(const float *in, Format::Type *out, const float *__restrict__ scale,                               \
       const float *__restrict__ shift, unsigned rows, int c, int padded_c, int period, int activation) { \
    if (c % 4 == 0 && padded_c % 4 == 0)                                                                  \
      epilogue<Format, 4>(in, out, scale, shift, rows, c, padded_c, period, activation);                  \
    else                                                                                                  \
      epilogue<Format, 1>(in, out, scale, shift, rows, c, padded_c, period, activation);                  \
  }

EPILOGUE(to_float32, Float32Output)
EPILOGUE(to_uint8, PixelOutput)
EPILOGUE(to_float16, Operand<Math::float16>)
EPILOGUE(to_bfloat16, Operand<Math::bfloat16>)

PROJECT(project_to_float32, Float32Output)
PROJECT(project_to_float16, Operand<Math::float16>)
PROJECT(project_to_bfloat16, Operand<Math::bfloat16>)
