// The kernels of a CUDA source of `backprop`, on the CPU. All have the parameters of SIGNATURE_KERNEL, one of them.
#define DYNAMIC_BYTES (48 << 10)  // what a block can have without opting in
#include "launch_kernel.h"
#include <dlfcn.h>

#include <utility>

#define __constant__
struct int2 {
  int x, y;
};
using cudaTextureObject_t = unsigned long long;  // the address of its array

template <class T>
T tex1Dfetch(cudaTextureObject_t texture, int i) {
  return reinterpret_cast<const T *>(texture)[i];
}
template <class T>
T __ldg(const T *address) {
  return *address;
}
// A thread is interrupted at barriers only.
template <class T>
T atomicAdd(T *to, T value) {
  return std::exchange(*to, *to + value);
}
template <class T>
T atomicCAS(T *to, T expected, T value) {
  return std::exchange(*to, *to == expected ? value : *to);
}
inline int __float_as_int(float value) { return bits_of<int>(value); }
inline unsigned long long __double_as_longlong(double value) { return bits_of<unsigned long long>(value); }
inline double __longlong_as_double(unsigned long long value) { return bits_of<double>(value); }

__thread REAL memory[DYNAMIC_BYTES / sizeof(REAL)];
#include SOURCE

extern "C" bool emulate(const char *name, dim3 grid, dim3 block, size_t count, const size_t *bytes,
                        void *const *values) {
  Dl_info library;
  dladdr(reinterpret_cast<void *>(emulate), &library);
  void *const kernel = dlsym(dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD), name);
  if (!kernel) return false;
  gridDim = grid, blockDim = block;
  return launch_kernel(reinterpret_cast<decltype(&SIGNATURE_KERNEL)>(kernel), count, bytes, values);
}
