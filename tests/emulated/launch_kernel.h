// The launch of a kernel on the CPU with its arguments given by address, as in the driver's cuLaunchKernel, and
// intrinsics that several sources use.
#pragma once
#include <utility>

#include "device.h"

static dim3 gridDim, blockDim;

inline REAL __shfl_xor_sync(unsigned, REAL value, unsigned distance) {
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
  Warp &warp = warps[thread / 32];
  warp.a[lane][0] = value;
  warp.barrier.wait();
  const REAL result = warp.a[lane ^ distance][0];
  warp.barrier.wait();
  return result;
}

// CUDA's fast intrinsics, without their loss of precision. The C library declares an __expf of its own.
inline float fast_exp(float x) { return std::exp(x); }
#define __expf fast_exp
inline float __fdividef(float x, float y) { return x / y; }

// Launches a kernel on the current grid and block. Returns false, without a launch, if the number of arguments or the
// bytes of one aren't those of the kernel's parameters.
template <class... Types, size_t... Position>
bool launch_kernel(void (*kernel)(Types...), size_t count, const size_t *bytes, void *const *values,
                   std::index_sequence<Position...>) {
  if (count != sizeof...(Types) || !((bytes[Position] == sizeof(Types)) && ...)) return false;
  launch(gridDim, blockDim, [=] { kernel(*static_cast<Types *>(values[Position])...); });
  return true;
}

template <class... Types>
bool launch_kernel(void (*kernel)(Types...), size_t count, const size_t *bytes, void *const *values) {
  return launch_kernel(kernel, count, bytes, values, std::index_sequence_for<Types...>());
}
