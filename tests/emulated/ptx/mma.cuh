// Those functions of the kernels' ptx/mma.cuh that the emulated kernels call, on the CPU.
#pragma once
#include "device.h"
#include "ptx/math.cuh"

// An operand as the tensor cores use it: without its last 13 bits.
inline double truncate_operand(double x) { return x; }

inline float truncate_operand(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits &= ~0x1fffu;
  std::memcpy(&x, &bits, 4);
  return x;
}

// m16n8k4 for float64, m16n8k8 for TF32, by the figures of the PTX ISA's "Matrix Fragments for mma.m16n8k4" and
// "for mma.m16n8k8": which lane has which element in which register.
template <class Real, int count_a, int count_b>
void mma(Real (&sums)[4], const Real (&a)[count_a], const Real (&b)[count_b]) {
  Warp &warp = warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
  for (int i = 0; i < count_a; ++i) warp.a[lane][i] = a[i];
  for (int i = 0; i < count_b; ++i) warp.b[lane][i] = b[i];
  warp.barrier.wait();
  for (int c = 0; c < 4; ++c) {
    const int row = group + c / 2 * 8, column = in_group * 2 + c % 2;
    for (int p = 0; p < 4 * count_b; ++p)
      sums[c] += truncate_operand(Real(warp.a[row % 8 * 4 + p % 4][p / 4 * 2 + row / 8])) *
                 truncate_operand(Real(warp.b[column * 4 + p % 4][p / 4]));
  }
  warp.barrier.wait();  // operands stay until all lanes have read them
}

// m16n8k32 in integers, by the figures of the PTX ISA's "Matrix Fragments for mma.m16n8k32": A unsigned, B signed.
inline void mma(int (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  Warp &warp = warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
  std::memcpy(warp.words_of_a[lane], a, sizeof a);
  std::memcpy(warp.words_of_b[lane], b, sizeof b);
  warp.barrier.wait();
  for (int c = 0; c < 4; ++c) {
    const int row = group + c / 2 * 8, column = in_group * 2 + c % 2;
    for (int p = 0; p < 32; ++p) {
      const uint8_t left = warp.words_of_a[row % 8 * 4 + p % 16 / 4][p / 16 * 2 + row / 8] >> p % 4 * 8;
      const int8_t right = warp.words_of_b[column * 4 + p % 16 / 4][p / 16] >> p % 4 * 8;
      sums[c] += left * right;
    }
  }
  warp.barrier.wait();
}

// m16n8k8 for TF32, m16n8k16 for bfloat16, two to a word.
template <Math math>
void mma_packed(float (&sums)[4], const unsigned (&a)[4], const unsigned *b) {
  Warp &warp = warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
  std::memcpy(warp.words_of_a[lane], a, sizeof a);
  std::memcpy(warp.words_of_b[lane], b, 2 * sizeof *b);
  warp.barrier.wait();
  for (int c = 0; c < 4; ++c) {
    const int row = group + c / 2 * 8, column = in_group * 2 + c % 2;
    for (int p = 0; p < 8; ++p) {
      const uint32_t word_a = warp.words_of_a[row % 8 * 4 + p % 4][p / 4 * 2 + row / 8];
      const uint32_t word_b = warp.words_of_b[column * 4 + p % 4][p / 4];
      if (math == Math::tf32)
        sums[c] += truncate_operand(bits_of<float>(word_a)) * truncate_operand(bits_of<float>(word_b));
      else
        sums[c] += bits_of<float>(word_a << 16) * bits_of<float>(word_b << 16) +
                   bits_of<float>(word_a >> 16 << 16) * bits_of<float>(word_b >> 16 << 16);
    }
  }
  warp.barrier.wait();
}

// By the figures of the PTX ISA's "ldmatrix".
inline void load_matrices(unsigned (&to)[4], const void *row) {
  Warp &warp = warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  warp.rows[lane] = static_cast<const char *>(row);
  warp.barrier.wait();
  for (int i = 0; i < 4; ++i) std::memcpy(&to[i], warp.rows[8 * i + lane / 4] + lane % 4 * 4, 4);
  warp.barrier.wait();
}

inline void load_transposed(unsigned (&to)[4], const void *row) {
  Warp &warp = warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  warp.rows[lane] = static_cast<const char *>(row);
  warp.barrier.wait();
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 2; ++k)
      std::memcpy(reinterpret_cast<char *>(&to[i]) + 2 * k, warp.rows[8 * i + lane % 4 * 2 + k] + lane / 4 * 2, 2);
  warp.barrier.wait();
}
