// Starts kernels on the CPU as the driver does it: by name, arguments by their addresses.
#pragma once
#include <utility>

#include "device.h"

static Index gridDim, blockDim;

inline REAL __shfl_xor_sync(unsigned, REAL value, unsigned distance) {
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
  Warp &warp = warps[thread / 32];
  warp.a[lane][0] = value;
  warp.barrier.wait();
  const REAL found = warp.a[lane ^ distance][0];
  warp.barrier.wait();
  return found;
}

// The fast functions, exact.
inline float fast_exp(float x) { return std::exp(x); }
#define __expf fast_exp
inline float __fdividef(float x, float y) { return x / y; }

// Returns whether the arguments are as many, and each of as many bytes, as the kernel's.
template <class... Types, size_t... Place>
bool start(void (*kernel)(Types...), size_t count, const size_t *bytes, void *const *values,
           std::index_sequence<Place...>) {
  if (count != sizeof...(Types) || !((bytes[Place] == sizeof(Types)) && ...)) return false;
  launch(gridDim, blockDim, [=] { kernel(*static_cast<Types *>(values[Place])...); });
  return true;
}

template <class... Types>
bool start(void (*kernel)(Types...), size_t count, const size_t *bytes, void *const *values) {
  return start(kernel, count, bytes, values, std::index_sequence_for<Types...>());
}
