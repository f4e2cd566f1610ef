// Synchronisation and communication between the co-resident blocks of a grid. REAL is the element type, a macro.
#pragma once
#include "ptx/memory_order.cuh"

// A barrier of all blocks of a cooperative launch; counts (2) is in global memory, 0 before the launch. Data written
// before the barrier are visible to all threads after it, by loads that bypass the L1 cache.
struct GridBarrier {
  unsigned *counts, target = 0;

  __device__ __forceinline__ void wait() {
    target += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      add_release(counts, 1);
      while (load_acquire(counts) < target);
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

// Store a value with its turn at mail (WORDS).
__device__ __forceinline__ void store_flagged(unsigned long long *mail, REAL value, unsigned turn) {
  unsigned long long words[WORDS];
#pragma unroll
  for (int k = 0; k < WORDS; ++k)
    words[k] = (unsigned long long)turn << 32 | reinterpret_cast<const unsigned *>(&value)[k];
  store_relaxed(mail, words);
}

// Load the words (WORDS) of a value at mail (WORDS), whose turn may not have come yet.
__device__ __forceinline__ void load_flagged(unsigned long long (&words)[WORDS], const unsigned long long *mail) {
  load_relaxed(words, mail);
}

// Whether loaded words (WORDS) are those of a turn, and if so, their value.
__device__ __forceinline__ bool is_ready(const unsigned long long (&words)[WORDS], unsigned turn, REAL &value) {
  bool is_complete = true;
#pragma unroll
  for (int k = 0; k < WORDS; ++k) {
    is_complete &= words[k] >> 32 == turn;
    reinterpret_cast<unsigned *>(&value)[k] = (unsigned)words[k];
  }
  return is_complete;
}
