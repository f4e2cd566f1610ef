// Those functions of the kernels' ptx/memory_order.cuh that grid.cuh calls, on the CPU.
#pragma once
#include <thread>

inline void add_release(unsigned *number, unsigned summand) { __atomic_fetch_add(number, summand, __ATOMIC_RELEASE); }

inline unsigned load_acquire(const unsigned *number) {
  std::this_thread::yield();  // for the block that the caller waits for
  return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

template <size_t count>
void store_relaxed(unsigned long long *to, const unsigned long long (&words)[count]) {
  for (size_t i = 0; i < count; ++i) __atomic_store_n(to + i, words[i], __ATOMIC_RELAXED);
}

template <size_t count>
void load_relaxed(unsigned long long (&words)[count], const unsigned long long *from) {
  std::this_thread::yield();
  for (size_t i = 0; i < count; ++i) words[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}
