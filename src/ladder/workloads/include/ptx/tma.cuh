// Copies of tiles by the Tensor Memory Accelerator (PTX ISA: "cp.async.bulk.tensor"): compute capability 9.0 and later.
// One thread starts a copy, whose bytes are counted by an mbarrier.
#pragma once
#include "ptx/mbarrier.cuh"
#include "ptx/shared_address.cuh"

// The descriptor by the driver's cuTensorMapEncodeTiled: an array's address and layout, and the box that one copy
// moves.
struct alignas(64) TensorMap {
  unsigned char of[128];
};

// Copy the box at coordinates (x, y, z, w), the fastest first, of an array of four dimensions to shared memory, with
// zeros outside the array.
__device__ __forceinline__ void copy_box(void *to, const TensorMap &map, Mbarrier &arrived, int x, int y, int z,
                                         int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// Multicast the box at (x, y, z) of an array of three dimensions to the same address in all blocks of the cluster in
// the bit mask `blocks`; its bytes are counted by the mbarrier that each of these has at the address of `arrived`.
__device__ __forceinline__ void copy_box_to(unsigned short blocks, void *to, const TensorMap &map, Mbarrier &arrived,
                                            int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z), "h"(blocks)
      : "memory");
}
