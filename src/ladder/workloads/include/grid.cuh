// What the threads of a block, and the blocks of a grid that all run at once, do together. BLOCK is the threads of a
// block, REAL the element type; both are given when compiling.
#pragma once
#include "warp.cuh"

constexpr int WARPS_OF_BLOCK = (BLOCK + WARP - 1) / WARP;

// The sums of two values over a block's threads, in all of them, always in the same order. `scratch` holds 64 elements.
__device__ __forceinline__ void sum_of_block(REAL &a, REAL &b, REAL *scratch) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  a = sum_of_warp(a), b = sum_of_warp(b);
  __syncthreads();  // nobody reads what an earlier call has left
  if (lane == 0) scratch[warp] = a, scratch[WARP + warp] = b;
  __syncthreads();
  a = sum_of_warp(lane < WARPS_OF_BLOCK ? scratch[lane] : REAL(0));
  b = sum_of_warp(lane < WARPS_OF_BLOCK ? scratch[WARP + lane] : REAL(0));
}

// A barrier of all blocks, which must all run at once: a cooperative launch. `counts` are two numbers in global memory,
// 0 before the launch. What a thread wrote before the barrier, all threads may read behind it, past the first cache.
struct Barrier {
  unsigned *counts, due = 0;

  __device__ __forceinline__ void wait() {
    due += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned arrived;
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counts) : "memory");
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(counts) : "memory");
      } while (arrived < due);
    }
    __syncthreads();
  }

  // Leave the counts at 0 for the next launch. Every block calls it once, in place of a last barrier.
  __device__ __forceinline__ void leave() {
    if (threadIdx.x || atomicAdd(counts + 1, 1u) < gridDim.x - 1) return;
    counts[0] = counts[1] = 0;
  }
};

// Mail between blocks that all run at once: values in global memory that say of which turn they are, so that whoever
// waits for one waits for nothing else, with no barrier (the "LL" protocol of NVIDIA's NCCL). A word of 8 bytes is
// written and read at once: half of it is a value, or half of one in float64, the other half the turn.
constexpr int WORDS = sizeof(REAL) / 4;

__device__ __forceinline__ void post(unsigned long long *mail, REAL value, unsigned turn) {
  unsigned long long words[WORDS];
#pragma unroll
  for (int k = 0; k < WORDS; ++k)
    words[k] = (unsigned long long)turn << 32 | reinterpret_cast<const unsigned *>(&value)[k];
#if FLOAT64
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(mail), "l"(words[0]), "l"(words[1]) : "memory");
#else
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(mail), "l"(words[0]) : "memory");
#endif
}

// Ask for a value: a word for each of its parts.
__device__ __forceinline__ void ask(unsigned long long (&words)[WORDS], const unsigned long long *mail) {
#if FLOAT64
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(mail) : "memory");
#else
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words[0]) : "l"(mail) : "memory");
#endif
}

// Whether what was asked for had come, and if so, the value.
__device__ __forceinline__ bool has_come(const unsigned long long (&words)[WORDS], unsigned turn, REAL &value) {
  bool found = true;
#pragma unroll
  for (int k = 0; k < WORDS; ++k) {
    found &= words[k] >> 32 == turn;
    reinterpret_cast<unsigned *>(&value)[k] = (unsigned)words[k];
  }
  return found;
}
