// Copies of tiles by the Tensor Memory Accelerator (PTX ISA: "cp.async.bulk.tensor"): compute capability 9.0 and later.
// One thread starts a copy, and an mbarrier counts its bytes: in each phase a thread calls full.arrive_and_expect()
// with the bytes of all boxes, zeros outside the array included. A map is a __grid_constant__ argument of the kernel or
// in global memory. `to` is aligned to 128 bytes. Boxes arrive in the 128-byte swizzle (cuda/tensor_map.py): if `to` is
// aligned to 1024 bytes, the 16-byte vector u of the 128-byte line l is at u ^ (l % 8).
#pragma once
#include "ptx/mbarrier.cuh"
#include "ptx/shared_address.cuh"

// The descriptor that the driver's cuTensorMapEncodeTiled writes: an array's address and layout, and the box that a
// copy moves.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

// Copy the box at coordinates (x, y, z, w) of an array of four dimensions, x contiguous, to shared memory, with zeros
// outside the array. The mbarrier `full` counts the bytes.
__device__ __forceinline__ void copy_box(void *to, const TensorMap &map, Mbarrier &full, int x, int y, int z,
                                         int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(full.address()), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// Copy the box at (x, y) of an array of two dimensions.
__device__ __forceinline__ void copy_box(void *to, const TensorMap &map, Mbarrier &full, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(full.address()), "r"(x), "r"(y)
      : "memory");
}

// Copy the box at (x, y, z) of an array of three dimensions.
__device__ __forceinline__ void copy_box(void *to, const TensorMap &map, Mbarrier &full, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(full.address()), "r"(x), "r"(y), "r"(z)
      : "memory");
}

// Copy the box at (x, y) of an array of two dimensions to the same address in the blocks of the cluster whose bits are
// set in `block_mask`. In each of these blocks the mbarrier at the address of `full` counts the bytes.
__device__ __forceinline__ void multicast_box(unsigned short block_mask, void *to, const TensorMap &map, Mbarrier &full,
                                              int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(to)),
      "l"(&map), "r"(full.address()), "r"(x), "r"(y), "h"(block_mask)
      : "memory");
}

// The same of the box at (x, y, z) of an array of three dimensions.
__device__ __forceinline__ void multicast_box(unsigned short block_mask, void *to, const TensorMap &map, Mbarrier &full,
                                              int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(full.address()), "r"(x), "r"(y), "r"(z), "h"(block_mask)
      : "memory");
}
