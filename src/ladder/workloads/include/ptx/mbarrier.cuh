// Barriers in shared memory that count arrivals and the bytes of asynchronous copies (PTX ISA: "mbarrier"), with the
// forms of compute capability 9.0 and later.
#pragma once
#include "ptx/cluster.cuh"
#include "ptx/shared_address.cuh"

// The threads whose writes before their arrivals are visible after a wait: those of the block, or of the whole cluster.
enum class Scope { block, cluster };

// Phases are counted from 0. A phase ends when `count` threads have arrived and all expected bytes have been written.
struct Mbarrier {
  unsigned long long state;

  __device__ __forceinline__ unsigned address() const { return shared_address(this); }
  // Initialise at phase 0, by one thread. publish_mbarriers() and a barrier of the threads that use it must follow.
  __device__ __forceinline__ void init(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
  }
  // Arrive, and expect `bytes` from copies in this phase.
  __device__ __forceinline__ void arrive_and_expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  // Arrive at a barrier of this block.
  __device__ __forceinline__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  // Arrive at this barrier in block `rank` of the cluster, with the narrowest scope: with a wider scope the thread
  // would first wait for all its writes.
  __device__ __forceinline__ void arrive(int rank) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(map_shared_rank(address(), rank)) : "memory");
  }
  // Arrive once this thread's copies by copy_async() have completed.
  __device__ __forceinline__ void arrive_after_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address()) : "memory");
  }
  // Whether a phase has ended, without waiting; wait() must follow if not.
  __device__ __forceinline__ bool has_ended(int phase) {
    unsigned result;
    asm volatile(
        "{\n.reg .pred ended;\nmbarrier.test_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
        "selp.u32 %0, 1, 0, ended;\n}"
        : "=r"(result)
        : "r"(address()), "r"(phase & 1)
        : "memory");
    return result;
  }
  // Wait for the end of a phase; phase -1, the one before the first, has ended. The loop is in PTX for one scope and in
  // C++ for the other, as each kernel was measured: the compiler schedules the two differently.
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

// Make initialised mbarriers visible to asynchronous copies and, after a barrier of the cluster, to its blocks.
__device__ __forceinline__ void publish_mbarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
