// The addresses of the shared window, which the PTX instructions on shared memory take.
#pragma once

// The address of an object of this block in shared memory; `object` is a generic pointer to it.
__device__ __forceinline__ unsigned shared_address(const void *object) {
  return (unsigned)__cvta_generic_to_shared(object);
}
