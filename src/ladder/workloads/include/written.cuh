// The output formats: float32, or 8-bit pixels.
#pragma once

struct AsFloat32 {
  using Type = float;
  static __device__ __forceinline__ float of(float x) { return x; }
};

// An 8-bit pixel from a value in [-1, 1], truncated. Values that rounding leaves slightly below -1 become 0 too.
struct AsColour {
  using Type = unsigned char;
  static __device__ __forceinline__ unsigned char of(float x) {
    return static_cast<unsigned char>((x + 1) / 2 * 255);
  }
};

// Neighbours that are loaded or stored by one access.
template <class Type, int count>
struct alignas(count * sizeof(Type)) Neighbours {
  Type of[count];
};
