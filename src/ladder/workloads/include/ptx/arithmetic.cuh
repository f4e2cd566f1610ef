// Arithmetic on single numbers: rounding to the types of tensor cores' operands, and a maximum (PTX ISA: "cvt", "max").
#pragma once

// An operand of mma() (ptx/mma.cuh): float32 rounded to the nearest TF32; float64 unchanged.
__device__ __forceinline__ double to_mma_operand(double x) { return x; }

__device__ __forceinline__ float to_mma_operand(float x) {
  unsigned bits;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));  // one instruction; .rna compiles to three
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#endif
  return __uint_as_float(bits);
}

// The bits of the nearest float16, ties to even.
__device__ __forceinline__ unsigned short to_float16(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// The bits of the nearest bfloat16, ties to even.
__device__ __forceinline__ unsigned short to_bfloat16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// The maximum, or NaN if one of the two is NaN.
__device__ __forceinline__ float max_nan(float x, float y) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}
