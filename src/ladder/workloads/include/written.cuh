// What results are written as: float32, or a byte for a screen.
#pragma once

struct AsFloat32 {
  using Type = float;
  static __device__ __forceinline__ float of(float x) { return x; }
};

// A colour of a screen from a value in [-1, 1], cut. What rounding leaves a little below -1 is 0 too.
struct AsColour {
  using Type = unsigned char;
  static __device__ __forceinline__ unsigned char of(float x) {
    return static_cast<unsigned char>((x + 1) / 2 * 255);
  }
};

// Neighbours that are read or written at once.
template <class Type, int count>
struct alignas(count * sizeof(Type)) Neighbours {
  Type of[count];
};
