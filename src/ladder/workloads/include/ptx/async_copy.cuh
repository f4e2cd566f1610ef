// Asynchronous copies from global to shared memory by a thread (PTX ISA: "cp.async"): compute capability 8.0 and later.
#pragma once
#include "ptx/shared_address.cuh"

// Start to copy `bytes`, 4, 8 or 16, or to write as many zeros if `is_inside` is false. Both addresses are multiples of
// `bytes`.
template <int bytes, class Type>
__device__ __forceinline__ void copy_async(void *to, const Type *from, bool is_inside) {
  const unsigned address = shared_address(to);
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(is_inside ? 16 : 0));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(bytes),
                 "r"(is_inside ? bytes : 0));
}

// Form a group of the copies that this thread has started since its last group, possibly none.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until all of this thread's groups of copies have completed, except for the latest `pending`.
template <int pending>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Wait for all copies that this thread has started.
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
