// Accesses to global memory with an order or atomicity that C++ doesn't express without libraries (PTX ISA: "Memory
// Consistency Model"), among the blocks of one GPU.
#pragma once

// Add to a number. This thread's earlier writes are visible to every thread that then reads the sum by load_acquire().
__device__ __forceinline__ void add_release(unsigned *number, unsigned summand) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(number), "r"(summand) : "memory");
}

__device__ __forceinline__ unsigned load_acquire(const unsigned *number) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(number) : "memory");
  return value;
}

// Store or load one or two words of 8 bytes, each atomically and in no order; two words are aligned to 16 bytes.
__device__ __forceinline__ void store_relaxed(unsigned long long *to, const unsigned long long (&words)[1]) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(words[0]) : "memory");
}

__device__ __forceinline__ void store_relaxed(unsigned long long *to, const unsigned long long (&words)[2]) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(words[0]), "l"(words[1]) : "memory");
}

__device__ __forceinline__ void load_relaxed(unsigned long long (&words)[1], const unsigned long long *from) {
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words[0]) : "l"(from) : "memory");
}

__device__ __forceinline__ void load_relaxed(unsigned long long (&words)[2], const unsigned long long *from) {
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words[0]), "=l"(words[1])
               : "l"(from)
               : "memory");
}

// Keep the compiler from moving memory accesses across this call and from keeping values of memory in registers. It
// emits no instruction, so it orders nothing among threads.
__device__ __forceinline__ void compiler_fence() { asm volatile("" ::: "memory"); }
