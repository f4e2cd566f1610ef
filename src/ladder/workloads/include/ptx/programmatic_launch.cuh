// Programmatic dependent launch: a kernel may begin while the previous one ends (cuda/dependent_launch.py). Before
// compute capability 9.0 these functions do nothing.
#pragma once

// Wait until the previous kernel has ended and its writes are visible.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Let the next kernel begin once all blocks have called this. Call it after wait_for_previous_kernel(): the next kernel
// may then read, without waiting, what the previous one wrote.
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
