// The functions of the kernels' ptx/cluster.cuh on the CPU.
#pragma once
#include "device.h"

inline void cluster_barrier() {
  __syncthreads();
  if (threadIdx.x == 0) wait_for_blocks();
  __syncthreads();
}

template <class Type>
Type *map_shared_rank(Type *mine, unsigned rank) {
  return reinterpret_cast<Type *>(memories[rank] + (reinterpret_cast<const char *>(mine) - &own_memory));
}
