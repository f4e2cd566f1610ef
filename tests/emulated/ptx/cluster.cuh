// Those functions of the kernels' ptx/cluster.cuh that the emulated kernels call, on the CPU.
#pragma once
#include "device.h"

inline void cluster_barrier() {
  __syncthreads();
  if (threadIdx.x == 0) wait_for_blocks();
  __syncthreads();
}

// The address of an object in the shared memory of the cluster's block `rank`. Shared memory is thread-local here, so
// the object's distance from `own_origin` is the same in all blocks.
template <class Type>
Type *map_shared_rank(Type *own_object, unsigned rank) {
  return reinterpret_cast<Type *>(block_origins[rank] + (reinterpret_cast<const char *>(own_object) - &own_origin));
}
