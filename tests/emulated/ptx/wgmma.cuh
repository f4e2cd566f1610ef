// Those functions of the kernels' ptx/wgmma.cuh that the emulated kernels call, on the CPU. A product has completed
// when its call returns.
#pragma once
#include "ptx/mma.cuh"

template <int registers>
void release_registers() {}
template <int registers>
void claim_registers() {}

inline uintptr_t tile_descriptor(const void *from) { return reinterpret_cast<uintptr_t>(from); }
inline void fence_products() {}
inline void commit_products() {}
template <int pending>
void wait_for_products() {}

// m64nNk8 for TF32 with A in registers: of each warp, A and the sums are as in mma(). B is a tile of rows of 128 bytes,
// one for each column of the result, in the 128-byte swizzle.
template <int count>
void multiply_warpgroup(float (&sums)[count][4], const float (&a)[4], uintptr_t b) {
  Warp &warp = warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
  for (int i = 0; i < 4; ++i) warp.a[lane][i] = a[i];
  warp.barrier.wait();
  const char *const tile = reinterpret_cast<const char *>(b / 1024 * 1024);
  for (int j = 0; j < count; ++j)
    for (int c = 0; c < 4; ++c) {
      const int row = group + c / 2 * 8, column = j * 8 + in_group * 2 + c % 2;
      for (int p = 0; p < 8; ++p) {
        const int vector = (b % 1024 / 16 + p / 4) ^ column % 8;
        const float right = *reinterpret_cast<const float *>(tile + column * 128 + vector * 16 + p % 4 * 4);
        const float left = warp.a[row % 8 * 4 + p % 4][p / 4 * 2 + row / 8];
        sums[j][c] += truncate_operand(left) * truncate_operand(right);
      }
    }
  warp.barrier.wait();  // operands stay until all lanes have read them
}
