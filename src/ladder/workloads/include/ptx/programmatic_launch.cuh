// Programmatic dependent launch: a kernel may begin while the previous one ends (cuda/dependent_launch.py). Before
// compute capability 9.0 these functions do nothing.
#pragma once

// Wait until the previous kernel has ended and its writes are visible.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Let the next kernel begin once all blocks have called this. Call it after the wait, so that the next kernel may read
// what the kernel before this one wrote without waiting.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
