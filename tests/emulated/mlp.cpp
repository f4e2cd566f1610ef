// The kernels of a CUDA source of `mlp` whose blocks wait for each other, on the CPU: the blocks of a grid along x run
// at the same time, as those along z do in device.h. A block has DYNAMIC_BYTES of shared memory, the array `memory`.
#include <algorithm>
#include <cmath>
#include <utility>

#include "launch_kernel.h"

struct alignas(16) int4 {
  int x, y, z, w;
};
using std::max;

static dim3 grid_along_x() { return {gridDim.z, 1, 1}; }
static uint3 block_along_x() { return {blockIdx.z, 0, 0}; }
#define gridDim grid_along_x()
#define blockIdx block_along_x()

// The value of another lane.
template <class Type>
Type __shfl_sync(unsigned, Type value, int lane) {
  static_assert(sizeof value <= sizeof(double));
  Warp &warp = warps[threadIdx.x / 32];
  std::memcpy(warp.a[threadIdx.x % 32], &value, sizeof value);
  warp.barrier.wait();
  std::memcpy(&value, warp.a[lane], sizeof value);
  warp.barrier.wait();
  return value;
}

inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  unsigned largest = 0;
  for (int lane = 0; lane < 32; ++lane) largest = max(largest, __shfl_sync(mask, value, lane));
  return largest;
}

// Shared memory, where the maximum is, is local to a system thread; global memory isn't.
inline unsigned atomicMax(unsigned *number, unsigned value) { return std::exchange(*number, max(*number, value)); }
inline unsigned atomicAdd(unsigned *number, unsigned value) {
  return __atomic_fetch_add(number, value, __ATOMIC_ACQ_REL);
}

template <class Type>
Type __ldcg(const Type *from) {
  return *from;
}

inline int __double2hiint(double value) { return int(bits_of<int64_t>(value) >> 32); }
inline long long __double2ll_rn(double value) { return std::llrint(value); }
inline int __float2int_rn(float value) { return int(std::lrint(value)); }

#include SOURCE

__thread int4 memory[DYNAMIC_BYTES / sizeof(int4)];

extern "C" bool emulate(const char *name, dim3 grid, dim3 block, size_t count, const size_t *bytes,
                        void *const *values) {
#undef gridDim
  gridDim = {1, 1, grid.x}, blockDim = block;
  if (!std::strcmp(name, "measure")) return launch_kernel(measure, count, bytes, values);
  if (!std::strcmp(name, "train_shallow")) return launch_kernel(train_shallow, count, bytes, values);
  return !std::strcmp(name, "train") && launch_kernel(train, count, bytes, values);
}
