// The activation functions of transposed convolutions.
#pragma once

enum Activation { NONE, RELU, TANH };

// The activation function of one number.
template <class Type>
__device__ __forceinline__ Type apply_activation(Type x, int activation) {
  if (activation == RELU) return x < 0 ? Type(0) : x;  // propagates NaN
  return activation == TANH ? tanh(x) : x;
}

// Activate sums (count) in registers, with one loop per activation: the code of tanh() is long, and inside a common
// loop its instructions would be fetched for every sum even if skipped. The fast form of tanh() has an absolute error
// of 2e-7.
template <int count, bool is_fast = false, class Type>
__device__ __forceinline__ void activate(Type *sums, int activation) {
  if (activation == RELU) {
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = apply_activation(sums[i], RELU);
  } else if (activation == TANH) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if constexpr (is_fast)
        sums[i] = 1 - __fdividef(2, 1 + __expf(2 * sums[i]));
      else
        sums[i] = tanh(sums[i]);
    }
  }
}
