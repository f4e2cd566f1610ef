// What the kernels with staged tiles share: vectors of 16 bytes, copies that nobody waits for, clusters of blocks.
#pragma once
#include "operands.cuh"

#ifndef SPLITK
#define SPLITK 1
#endif

static_assert(SPLITK >= 1 && SPLITK <= 8, "SPLITK is the size of a cluster, from 1 to 8.");
// How many blocks share a tile. Before compute capability 9.0 there are no clusters: one does it all, others leave.
#if SPLITK == 1 || defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTER
constexpr int SHARERS = 1;
#else
#define CLUSTER __cluster_dims__(1, 1, SPLITK)
constexpr int SHARERS = SPLITK;
#endif

constexpr int V = 16 / sizeof(REAL);  // elements in a vector of 16 bytes, the widest access
struct alignas(16) Vector {
  REAL of[V];
};

// Copy 4, 8 or 16 bytes to shared memory without waiting for them, or zeros where `inside` is false.
template <int bytes>
__device__ __forceinline__ void copy(void *to, const REAL *from, bool inside) {
  unsigned address = __cvta_generic_to_shared(to);
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(inside ? 16 : 0));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(bytes),
                 "r"(inside ? bytes : 0));
}

// Wait for all blocks of the cluster; what each wrote to its shared memory before is visible to the others after.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// Where another block of the cluster keeps what this block keeps at `mine` in shared memory.
template <class Type>
__device__ __forceinline__ const Type *theirs(const Type *mine, int rank) {
  const Type *found;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(found) : "l"(mine), "r"(rank));
  return found;
}
