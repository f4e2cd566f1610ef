// Synchronisation and communication between the co-resident blocks of a grid. REAL is the element type, a macro.
#pragma once
#include "ptx/memory_order.cuh"

// A barrier of all blocks of a cooperative launch; counts (2) is in global memory, 0 before the launch. Data written
// before the barrier are visible after it to all threads, through loads that bypass the L1 cache.
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

  // Reset the counts for the next launch. Every block calls this once, at its end, instead of wait().
  __device__ __forceinline__ void leave() {
    if (threadIdx.x || atomicAdd(counts + 1, 1u) < gridDim.x - 1) return;
    counts[0] = counts[1] = 0;
  }
};

// Count a launch once all its blocks have called this; counts (2) are the number of launches so far, and the number of
// blocks of this launch that have called it.
__device__ __forceinline__ void count_launch(unsigned *counts) {
  if (threadIdx.x || atomicAdd(counts + 1, 1u) < gridDim.x - 1) return;
  counts[1] = 0, ++counts[0];
}

// Communication between co-resident blocks without a barrier (the "LL" protocol of NVIDIA's NCCL): each value in global
// memory is stored with a flag, such as the number of a step, so that a reader waits for that value alone. A word of 8
// bytes is accessed atomically. Its low half is a float32 value or half of a float64 value, its high half the flag. A
// value has VALUE_WORDS words.
constexpr int VALUE_WORDS = sizeof(REAL) / 4;

// Store a value with its flag in slot (VALUE_WORDS).
__device__ __forceinline__ void store_flagged(unsigned long long *slot, REAL value, unsigned flag) {
  unsigned long long words[VALUE_WORDS];
#pragma unroll
  for (int k = 0; k < VALUE_WORDS; ++k)
    words[k] = (unsigned long long)flag << 32 | reinterpret_cast<const unsigned *>(&value)[k];
  store_relaxed(slot, words);
}

// Load the words of a value from slot (VALUE_WORDS), where the value may not have been stored yet; see is_ready().
__device__ __forceinline__ void load_flagged(unsigned long long (&words)[VALUE_WORDS], const unsigned long long *slot) {
  load_relaxed(words, slot);
}

// Whether loaded words (VALUE_WORDS) carry this flag; if so, `value` is set to their value.
__device__ __forceinline__ bool is_ready(const unsigned long long (&words)[VALUE_WORDS], unsigned flag, REAL &value) {
  bool is_complete = true;
#pragma unroll
  for (int k = 0; k < VALUE_WORDS; ++k) {
    is_complete &= words[k] >> 32 == flag;
    reinterpret_cast<unsigned *>(&value)[k] = (unsigned)words[k];
  }
  return is_complete;
}

// For i = first, first + step, ... < count, call function(i, value i) once the value carries this flag. VALUES_AT_ONCE
// values are loaded at a time, so that their latencies overlap. Values are in slots (count, VALUE_WORDS).
template <int VALUES_AT_ONCE, class Function>
__device__ __forceinline__ void receive_flagged(const unsigned long long *slots, int first, int step, int count,
                                                unsigned flag, Function function) {
  for (; first < count; first += VALUES_AT_ONCE * step) {
    REAL values[VALUES_AT_ONCE];
    bool is_complete;
    do {
      unsigned long long words[VALUES_AT_ONCE][VALUE_WORDS];
#pragma unroll
      for (int u = 0; u < VALUES_AT_ONCE; ++u)
        if (const int i = first + u * step; i < count) load_flagged(words[u], slots + i * VALUE_WORDS);
      is_complete = true;
#pragma unroll
      for (int u = 0; u < VALUES_AT_ONCE; ++u)
        if (first + u * step < count) is_complete &= is_ready(words[u], flag, values[u]);
    } while (!is_complete);
#pragma unroll
    for (int u = 0; u < VALUES_AT_ONCE; ++u)
      if (const int i = first + u * step; i < count) function(i, values[u]);
  }
}
