// The activations behind a layer.
#pragma once

enum Activation { NONE, RELU, TANH };

template <class Type>
__device__ __forceinline__ Type activated(Type x, int activation) {
  if (activation == RELU) return x < 0 ? Type(0) : x;  // not a number stays one
  return activation == TANH ? tanh(x) : x;
}
