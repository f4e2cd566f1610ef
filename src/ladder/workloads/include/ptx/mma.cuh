// Products on tensor cores by a warp, with operands in registers, and loads of these operands (PTX ISA: "mma",
// "ldmatrix"): compute capability 8.0 and later.
#pragma once
#include "ptx/math.cuh"
#include "ptx/shared_address.cuh"

// sums (16, 8) += A (16, K) B (K, 8), distributed over a warp; K is 4 for float64, 8 for float32. With g = lane / 4 and
// t = lane % 4, a lane holds these elements, in this order:
//   A     (g, t), (g + 8, t), and for K = 8 also (g, t + 4), (g + 8, t + 4)
//   B     (t, g), and for K = 8 also (t + 4, g)
//   sums  (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1)
__device__ __forceinline__ void mma(double (&sums)[4], const double (&a)[2], const double (&b)[1]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
      : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#else
  // Before compute capability 9.0: two products of 8 rows each.
#pragma unroll
  for (int h = 0; h < 2; ++h)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sums[h * 2]), "+d"(sums[h * 2 + 1])
        : "d"(a[h]), "d"(b[0]));
#endif
}

__device__ __forceinline__ void mma(double (&sums)[4], const double (&a)[4], const double (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

__device__ __forceinline__ void mma(float (&sums)[4], const float (&a)[4], const float (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

// sums (16, 8) += A (16, 32) B (32, 8) in integers, where A has unsigned bytes and B signed ones, four per register, the
// first in the lowest byte. Sums are distributed as in mma() above, and a lane holds these bytes of the operands:
//   A     (g, 4 t to 4 t + 3), (g + 8, the same), (g, 4 t + 16 to 4 t + 19), (g + 8, the same)
//   B     (4 t to 4 t + 3, g), (4 t + 16 to 4 t + 19, g)
__device__ __forceinline__ void mma(int (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// sums (16, 8) += A (16, K) B (K, 8), distributed over a warp as in mma() above. A row of A has 32 bytes: K is 8 for
// TF32, whose last 13 bits the hardware truncates, and 16 for the other types, two per register.
template <Math math>
__device__ __forceinline__ void mma_packed(float (&sums)[4], const unsigned (&a)[4], const unsigned *b) {
#define LADDER_MMA(shape_and_types)                                                                          \
  asm("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                           \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (math == Math::tf32) LADDER_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
  if constexpr (math == Math::float16) LADDER_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  if constexpr (math == Math::bfloat16) LADDER_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
#undef LADDER_MMA
}

// Load four matrices of 8 rows of 16 bytes from shared memory. Lane 8 i + r passes the address of row r of matrix i.
// Every lane receives 4 bytes of each matrix: in row lane / 4, from byte 4 (lane % 4) on.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row)));
}

// The same, transposed in pairs of bytes: every lane receives the bytes 2 g and 2 g + 1 of rows 2 t and 2 t + 1 of each
// matrix, with g = lane / 4 and t = lane % 4.
__device__ __forceinline__ void load_transposed(unsigned (&to)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row)));
}
