// The KERNELS of a source, on the CPU. A block has DYNAMIC_BYTES of shared memory, the array `memory`.
#include "launch_kernel.h"

#define read read_  // because the operating system's `read` has the same name
#include SOURCE

#if DYNAMIC_BYTES
__thread __attribute__((aligned(1024))) std::remove_extent_t<decltype(memory)> memory[DYNAMIC_BYTES / sizeof(*memory)];
#endif

extern "C" bool emulate(const char *name, dim3 grid, dim3 block, size_t count, const size_t *bytes,
                        void *const *values) {
  gridDim = grid, blockDim = block;
#define TRY(kernel) \
  if (!std::strcmp(name, #kernel)) return launch_kernel(kernel, count, bytes, values)
  KERNELS
  return false;
}
