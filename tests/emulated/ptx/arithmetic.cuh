// Those functions of the kernels' ptx/arithmetic.cuh that the emulated kernels call, on the CPU.
#pragma once
#include "device.h"

inline double to_mma_operand(double x) { return x; }

// The nearest TF32 number; ties go to the even one.
inline float to_mma_operand(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = bits + 0xfff + (bits >> 13 & 1) & ~0x1fffu;
  std::memcpy(&x, &bits, 4);
  return x;
}

// The bits of the nearest bfloat16; ties go to the even one. Nothing is emulated in float16.
inline unsigned short to_bfloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits + 0x7fff + (bits >> 16 & 1) >> 16;
}

inline unsigned short to_float16(float) {
  require(false, "float16 isn't emulated.");
  return 0;
}
