// The blocks of a cluster: their barrier, and accesses to each other's shared memory (PTX ISA: "barrier.cluster",
// "mapa", "st.async"). Compute capability 9.0 and later.
#pragma once
#include "ptx/shared_address.cuh"

// A barrier of all threads of the cluster; writes to shared memory before it are visible to the other blocks after it.
// The threads of a warp need not arrive together.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// The address, in block `rank` of the cluster, of the object that this block has at an address in its shared memory. A
// generic pointer is mapped to a generic pointer, and an address of the shared window to an address of that window,
// which takes fewer instructions than to convert the generic pointer.
template <class Type>
__device__ __forceinline__ Type *map_shared_rank(Type *pointer, unsigned rank) {
  Type *result;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(result) : "l"(pointer), "r"(rank));
  return result;
}

__device__ __forceinline__ unsigned map_shared_rank(unsigned address, unsigned rank) {
  unsigned result;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

// Store a value asynchronously in another block's shared memory; an mbarrier of that block counts its bytes. Both
// addresses are results of map_shared_rank(); `address` is a multiple of the value's size.
__device__ __forceinline__ void store_async(unsigned address, int4 value, unsigned mbarrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   address),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(mbarrier)
               : "memory");
}

__device__ __forceinline__ void store_async(unsigned address, double value, unsigned mbarrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(address),
               "l"(__double_as_longlong(value)), "r"(mbarrier)
               : "memory");
}

__device__ __forceinline__ void store_async(unsigned address, float value, unsigned mbarrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address),
               "r"(__float_as_int(value)), "r"(mbarrier)
               : "memory");
}
