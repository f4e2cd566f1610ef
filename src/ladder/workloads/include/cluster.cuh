// Communication between the blocks of a cluster, on GPUs of compute capability 9.0 and later: asynchronous stores to
// each other's shared memory, counted by mbarriers there (PTX ISA: "mapa", "st.async", "mbarrier", "barrier.cluster").
#pragma once

// A barrier of all threads of the cluster.
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ unsigned address_of(const void *place) { return (unsigned)__cvta_generic_to_shared(place); }

// The shared-memory address, in block `rank` of the cluster, of the object that this block has at `place`.
__device__ __forceinline__ unsigned address_in(unsigned rank, const void *place) {
  unsigned found;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(address_of(place)), "r"(rank));
  return found;
}

// An mbarrier in a block's shared memory that counts the bytes of asynchronous stores.
//
//   arrives      one thread of the block, once per phase, by announce(bytes); the stores of send() complete the bytes
//   phase ends   when it has arrived and all announced bytes have been stored
//   waits        wait(turn), for the end of phase `turn`, counted from 0
struct Mailbox {
  unsigned long long state;

  __device__ __forceinline__ void clear() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(this)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }

  __device__ __forceinline__ void announce(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(this)), "r"(bytes) : "memory");
  }

  // Wait for the end of a phase, counted from 0.
  __device__ __forceinline__ void wait(int turn) {
    unsigned is_full;
    do {
      asm volatile(
          "{\n\t.reg .pred full;\n\t"
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 full, [%1], %2;\n\t"
          "selp.u32 %0, 1, 0, full;\n\t}"
          : "=r"(is_full)
          : "r"(address_of(this)), "r"(turn & 1)
          : "memory");
    } while (!is_full);
  }
};

// Store COUNT values asynchronously at an address in another block's shared memory and complete their bytes at the
// mailbox of the same block; both addresses are those of `address_in`.
template <int COUNT, typename T>
__device__ __forceinline__ void send(unsigned address, unsigned mailbox, const T (&values)[COUNT]) {
  if constexpr (COUNT * sizeof(T) % 16 == 0) {
#pragma unroll
    for (int start = 0; start < COUNT; start += 16 / sizeof(T)) {
      int4 bits;
#pragma unroll
      for (int k = 0; k < 16 / sizeof(T); ++k) reinterpret_cast<T *>(&bits)[k] = values[start + k];
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                       address + start * (unsigned)sizeof(T)),
                   "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w), "r"(mailbox)
                   : "memory");
    }
  } else {
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
      if constexpr (sizeof(T) == 8)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(address + k * 8),
                     "l"(__double_as_longlong(values[k])), "r"(mailbox)
                     : "memory");
      else
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address + k * 4),
                     "r"(__float_as_int(values[k])), "r"(mailbox)
                     : "memory");
    }
  }
}
