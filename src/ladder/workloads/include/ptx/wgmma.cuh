// Products on tensor cores by warpgroups of four warps, with the second operand in shared memory and the first one
// there or in registers (PTX ISA: "wgmma"): compute capability 9.0 only, compiled for sm_90a. Compiled for other GPUs,
// these functions do nothing.
#pragma once
#include "ptx/math.cuh"
#include "ptx/shared_address.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WGMMA(text, ...) asm volatile(text __VA_ARGS__)
#else
#define WGMMA(text, ...)
#endif

// Set a warpgroup's registers per thread at the start of its branch: release registers, or claim released ones.
template <int registers>
__device__ __forceinline__ void release_registers() { WGMMA("setmaxnreg.dec.sync.aligned.u32 %0;", ::"n"(registers)); }
template <int registers>
__device__ __forceinline__ void claim_registers() { WGMMA("setmaxnreg.inc.sync.aligned.u32 %0;", ::"n"(registers)); }

// The descriptor of a tile of rows of 128 bytes in the hardware's 128-byte swizzle: vector u of row r, 16 bytes, lies
// at u ^ r % 8 in its row; for example, vector 5 of row 3 at 6, 3 * 128 + 6 * 16 = 480 bytes from the tile's beginning.
// The tile is aligned to 1024 bytes; `from` may be 0, 32, 64 or 96 bytes into its first row.
__device__ __forceinline__ unsigned long long tile_descriptor(const void *from) {
  const unsigned address = shared_address(from);
  // Eight rows are 1024 bytes; the second field is unused.
  return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// Make this thread's copies to shared memory visible to tensor cores after a barrier.
__device__ __forceinline__ void publish_copies() { WGMMA("fence.proxy.async.shared::cta;", ::: "memory"); }

// Order this warpgroup's earlier accesses to the registers of sums and operands before its next products.
__device__ __forceinline__ void fence_products() { WGMMA("wgmma.fence.sync.aligned;", ::: "memory"); }
// Form a group of the products that this warpgroup has started since its last group.
__device__ __forceinline__ void commit_products() { WGMMA("wgmma.commit_group.sync.aligned;", ::: "memory"); }

// Wait until at most `pending` of the committed groups of products haven't completed.
template <int pending>
__device__ __forceinline__ void wait_for_products() {
  WGMMA("wgmma.wait_group.sync.aligned %0;", ::"n"(pending) : "memory");
}

// For inline assembly: SUMS_n are n sums as operands, those of s[i] and the following rows of four; NAMES_n name them.
#define SUMS_8(s, i)                                                                                            \
  "+f"(s[i][0]), "+f"(s[i][1]), "+f"(s[i][2]), "+f"(s[i][3]), "+f"(s[i + 1][0]), "+f"(s[i + 1][1]), "+f"(s[i + 1][2]), \
      "+f"(s[i + 1][3])
#define SUMS_16(s, i) SUMS_8(s, i), SUMS_8(s, i + 2)
#define SUMS_32(s, i) SUMS_16(s, i), SUMS_16(s, i + 4)
#define SUMS_64(s, i) SUMS_32(s, i), SUMS_32(s, i + 8)
#define SUMS_128(s, i) SUMS_64(s, i), SUMS_64(s, i + 16)
#define NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_32 NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                                                      \
  NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
           "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_128                                                                                                     \
  NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "  \
           "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, " \
           "%104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "   \
           "%121, %122, %123, %124, %125, %126, %127"

// sums (64, 8 * count) += A B^T by a warpgroup; `a` and `b` are the tile_descriptor() of A and B, where A has 64 rows
// and B 8 * count rows, of 32 bytes each. Warp w has rows 16 w to 16 w + 15 of the sums. A lane's sums[j] are those of
// mma_packed() for these rows of A and for rows 8 j to 8 j + 7 of B. They are valid after wait_for_products().
template <Math math, int count>
__device__ __forceinline__ void multiply_warpgroup(float (&sums)[count][4], unsigned long long a,
                                                   unsigned long long b) {
  static_assert(count == 4 || count == 8 || count == 16, "A product has 32, 64 or 128 columns.");
// The operands are `sum_count` sums, then a and b. The constants: accumulate (1), the signs of A and B (1, 1) and, for
// 16-bit types, no transpositions (0, 0). `k_and_types` has the length along k and the types.
#define PRODUCT(columns, sum_count, b_operand, k_and_types, transpositions)                                    \
  WGMMA("wgmma.mma_async.sync.aligned.m64n" #columns k_and_types " {" NAMES_##sum_count "}, %" #sum_count ", %" \
        #b_operand ", 1, 1, 1" transpositions ";", : SUMS_##sum_count(sums, 0) : "l"(a), "l"(b))
#define PRODUCT_OF(columns, sum_count, b_operand)                                                                \
  if constexpr (count * 8 == columns) {                                                                          \
    if constexpr (math == Math::tf32) PRODUCT(columns, sum_count, b_operand, "k8.f32.tf32.tf32", "");            \
    if constexpr (math == Math::float16) PRODUCT(columns, sum_count, b_operand, "k16.f32.f16.f16", ", 0, 0");    \
    if constexpr (math == Math::bfloat16) PRODUCT(columns, sum_count, b_operand, "k16.f32.bf16.bf16", ", 0, 0"); \
  }
  PRODUCT_OF(32, 16, 17)
  PRODUCT_OF(64, 32, 33)
  PRODUCT_OF(128, 64, 65)
#undef PRODUCT_OF
#undef PRODUCT
}

// The same in TF32 with A in registers: a lane holds elements of its warp's 16 rows as for mma() (ptx/mma.cuh), and must
// not change them before wait_for_products(). B has 8 * count rows.
template <int count>
__device__ __forceinline__ void multiply_warpgroup(float (&sums)[count][4], const float (&a)[4], unsigned long long b) {
  static_assert(count == 8 || count == 16 || count == 32, "A product has 64, 128 or 256 columns.");
#define PRODUCT_OF(columns, sum_count, a0, a1, a2, a3, b_operand)                                                     \
  if constexpr (count * 8 == columns)                                                                                 \
    WGMMA("wgmma.mma_async.sync.aligned.m64n" #columns "k8.f32.tf32.tf32 {" NAMES_##sum_count "}, {%" #a0 ", %" #a1  \
          ", %" #a2 ", %" #a3 "}, %" #b_operand ", 1, 1, 1;", : SUMS_##sum_count(sums, 0)                             \
          : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),                       \
            "r"(__float_as_uint(a[3])), "l"(b));
  PRODUCT_OF(64, 32, 32, 33, 34, 35, 36)
  PRODUCT_OF(128, 64, 64, 65, 66, 67, 68)
  PRODUCT_OF(256, 128, 128, 129, 130, 131, 132)
#undef PRODUCT_OF
}
