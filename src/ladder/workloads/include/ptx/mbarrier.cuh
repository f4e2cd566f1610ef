// Barriers in shared memory that count arrivals and the bytes of asynchronous copies (PTX ISA: "mbarrier"), with the
// forms of compute capability 9.0 and later.
#pragma once
#include "ptx/cluster.cuh"
#include "ptx/shared_address.cuh"

// Whose writes before their arrivals a thread sees after its wait: those of its block, or of the whole cluster.
enum class Scope { block, cluster };

// Phases are counted from 0: one ends when `count` arrivals have been made and all expected bytes have been written.
struct Mbarrier {
  unsigned long long state;

  __device__ __forceinline__ unsigned address() const { return shared_address(this); }
  // Begin phase 0, by one thread. publish_mbarriers() and a barrier of the threads that use it follow.
  __device__ __forceinline__ void begin(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
  }
  // Arrive, and expect bytes of copies.
  __device__ __forceinline__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  // Arrive at this barrier in a block of the cluster, with the narrowest scope: with a wider one the thread would first
  // wait for all its writes.
  __device__ __forceinline__ void arrive(int rank) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(map_shared_rank(address(), rank)) : "memory");
  }
  // Wait for the end of a phase, which may be the one before the first. Each kernel has the loop that it was measured
  // with, in PTX for one scope and in C++ for the other: the compiler schedules the two differently.
  template <Scope scope = Scope::block>
  __device__ __forceinline__ void wait(int phase) {
    if constexpr (scope == Scope::block) {
      asm volatile(
          "{\n.reg .pred ended;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
          "@!ended bra AGAIN;\n}" ::"r"(address()),
          "r"(phase & 1)
          : "memory");
    } else {
      unsigned has_ended;
      do {
        asm volatile(
            "{\n.reg .pred ended;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], %2;\n"
            "selp.u32 %0, 1, 0, ended;\n}"
            : "=r"(has_ended)
            : "r"(address()), "r"(phase & 1)
            : "memory");
      } while (!has_ended);
    }
  }
};

// Make mbarriers that have begun visible to asynchronous copies and, after a barrier of the cluster, to its blocks.
__device__ __forceinline__ void publish_mbarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
