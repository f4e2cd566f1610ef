// What kernels do that may begin while the kernel before them ends (devices/dependent_launch.py); nothing before
// compute capability 9.0.
#pragma once

// Wait until the kernel before this one has ended and what it wrote can be read.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Let the next kernel begin once all blocks have come here. Comes after the wait, so that the next one may read what
// was written two kernels before it without waiting.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
