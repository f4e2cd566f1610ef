// Copies of tiles by the copy engine of a multiprocessor, and the barriers that count what has come: compute capability
// 9.0 alone, compiled for sm_90a. On other GPUs these functions do nothing.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TMA(text, ...) asm volatile(text __VA_ARGS__)
#else
#define TMA(text, ...)
#endif

// What the driver's cuTensorMapEncodeTiled has written: where an array lies, and the box of it that one copy brings.
struct alignas(64) TensorMap {
  unsigned char of[128];
};

// A barrier in shared memory. Its phases are counted from 0: one ends when `count` threads have arrived and all bytes
// that they told of have come.
struct Barrier {
  unsigned long long state;

  __device__ __forceinline__ unsigned address() const { return __cvta_generic_to_shared(this); }
  __device__ __forceinline__ void begin(int count) {
    TMA("mbarrier.init.shared::cta.b64 [%0], %1;", ::"r"(address()), "r"(count) : "memory");
  }
  // Arrive, and tell of bytes to come.
  __device__ __forceinline__ void expect(int bytes) {
    TMA("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;", ::"r"(address()), "r"(bytes) : "memory");
  }
  // Arrive at this barrier of a block of the cluster, with the narrowest scope: with a wider one the thread would wait
  // for all that it has written.
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

// Barriers that have begun are visible to the copy engine, and after a barrier of the cluster to its blocks.
__device__ __forceinline__ void publish_barriers() { TMA("fence.mbarrier_init.release.cluster;", ::: "memory"); }

// Have the box at these places copied to shared memory, with zeros where it leaves the array.
__device__ __forceinline__ void copy_box(void *to, const TensorMap &map, Barrier &arrived, int x, int y, int z, int w) {
  TMA("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];",
      ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// The same to the same place of all blocks of the cluster that the bits of `blocks` name.
__device__ __forceinline__ void copy_box_to(unsigned short blocks, void *to, const TensorMap &map, Barrier &arrived, int x,
                                            int y, int z) {
  TMA("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5}], [%2], %6;",
      ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z),
      "h"(blocks)
      : "memory");
}
