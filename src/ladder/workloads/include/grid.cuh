// Reductions in a block, and synchronisation between the co-resident blocks of a grid. BLOCK is the number of threads
// of a block, REAL the element type; both are macros.
#pragma once
#include "warp.cuh"

constexpr int WARPS_OF_BLOCK = (BLOCK + WARP - 1) / WARP;

// The sums of two values over a block's threads, returned in all of them, in a fixed order. `scratch` has 64 elements.
__device__ __forceinline__ void sum_of_block(REAL &a, REAL &b, REAL *scratch) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  a = sum_of_warp(a), b = sum_of_warp(b);
  __syncthreads();  // all threads have read the results of an earlier call
  if (lane == 0) scratch[warp] = a, scratch[WARP + warp] = b;
  __syncthreads();
  a = sum_of_warp(lane < WARPS_OF_BLOCK ? scratch[lane] : REAL(0));
  b = sum_of_warp(lane < WARPS_OF_BLOCK ? scratch[WARP + lane] : REAL(0));
}

// A barrier of all blocks of a cooperative launch. `counts` are two numbers in global memory, 0 before the launch. Data
// written before the barrier are visible to all threads after it, by loads that bypass the L1 cache.
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

  // Reset the counts for the next launch. Every block calls this once, instead of a last barrier.
  __device__ __forceinline__ void leave() {
    if (threadIdx.x || atomicAdd(counts + 1, 1u) < gridDim.x - 1) return;
    counts[0] = counts[1] = 0;
  }
};

// Flagged values for communication between co-resident blocks without a barrier: each value in global memory carries
// the number of its turn, so that a reader waits for that value alone (the "LL" protocol of NVIDIA's NCCL). A word of 8
// bytes is written and read atomically: one half is a value, or half of one in float64, the other half the turn.
constexpr int WORDS = sizeof(REAL) / 4;

// Store a value with its turn at `mail`, WORDS words.
__device__ __forceinline__ void store_flagged(unsigned long long *mail, REAL value, unsigned turn) {
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

// Load the words of a value, whose turn may not have come yet.
__device__ __forceinline__ void load_flagged(unsigned long long (&words)[WORDS], const unsigned long long *mail) {
#if FLOAT64
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(mail) : "memory");
#else
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words[0]) : "l"(mail) : "memory");
#endif
}

// Whether loaded words are those of a turn, and if so, their value.
__device__ __forceinline__ bool is_ready(const unsigned long long (&words)[WORDS], unsigned turn, REAL &value) {
  bool found = true;
#pragma unroll
  for (int k = 0; k < WORDS; ++k) {
    found &= words[k] >> 32 == turn;
    reinterpret_cast<unsigned *>(&value)[k] = (unsigned)words[k];
  }
  return found;
}
