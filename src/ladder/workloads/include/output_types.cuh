// The types of a layer's output, each with its conversion from float32: float32 itself, or 8-bit pixels.
#pragma once

struct Float32Output {
  using Type = float;
  static __device__ __forceinline__ float convert(float x) { return x; }
};

// 8-bit pixels from values in [-1, 1], truncated. Values that rounding leaves slightly below -1 become 0 too.
struct PixelOutput {
  using Type = unsigned char;
  static __device__ __forceinline__ unsigned char convert(float x) {
    return static_cast<unsigned char>((x + 1) / 2 * 255);
  }
};

// Neighbouring elements that one access loads or stores.
template <class Type, int count>
struct alignas(count * sizeof(Type)) AlignedVector {
  Type value[count];
};
