// Copies of tiles by the Tensor Memory Accelerator (TMA), and the mbarriers that count their bytes: compute capability
// 9.0 only, compiled for sm_90a. On other GPUs these functions do nothing.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TMA(text, ...) asm volatile(text __VA_ARGS__)
#else
#define TMA(text, ...)
#endif

// The descriptor by the driver's cuTensorMapEncodeTiled: an array's address and layout, and the box that one copy
// moves.
struct alignas(64) TensorMap {
  unsigned char of[128];
};

// An mbarrier in shared memory. Its phases are counted from 0: one ends when `count` arrivals have been made and all
// expected bytes have been copied.
struct Barrier {
  unsigned long long state;

  __device__ __forceinline__ unsigned address() const { return __cvta_generic_to_shared(this); }
  __device__ __forceinline__ void begin(int count) {
    TMA("mbarrier.init.shared::cta.b64 [%0], %1;", ::"r"(address()), "r"(count) : "memory");
  }
  // Arrive, and expect bytes of copies.
  __device__ __forceinline__ void expect(int bytes) {
    TMA("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;", ::"r"(address()), "r"(bytes) : "memory");
  }
  // Arrive at this barrier in a block of the cluster, with the narrowest scope: with a wider one the thread would first
  // wait for all its writes.
  __device__ __forceinline__ void arrive(int rank) {
    TMA("{\n.reg .b32 theirs;\nmapa.shared::cluster.u32 theirs, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [theirs];\n}",
        ::"r"(address()), "r"(rank) : "memory");
  }
  // Wait for the end of a phase, which may be the one before the first.
  __device__ __forceinline__ void wait(int phase) {
    TMA("{\n.reg .pred ended;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
        "@!ended bra AGAIN;\n}",
        ::"r"(address()), "r"(phase & 1) : "memory");
  }
};

// Make initialised barriers visible to the TMA and, after a barrier of the cluster, to its blocks.
__device__ __forceinline__ void publish_barriers() { TMA("fence.mbarrier_init.release.cluster;", ::: "memory"); }

// Copy the box at coordinates (x, y, z, w) to shared memory, with zeros outside the array.
__device__ __forceinline__ void copy_box(void *to, const TensorMap &map, Barrier &arrived, int x, int y, int z, int w) {
  TMA("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];",
      ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// Multicast the box at (x, y, z) to the same address in all blocks of the cluster in the bit mask `blocks`.
__device__ __forceinline__ void copy_box_to(unsigned short blocks, void *to, const TensorMap &map, Barrier &arrived, int x,
                                            int y, int z) {
  TMA("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5}], [%2], %6;",
      ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z),
      "h"(blocks)
      : "memory");
}
