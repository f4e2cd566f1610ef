// A producer and its consumers: the ring of buffers between them, and their registers.
#pragma once

// The index of the current buffer in a ring of buffers, and the number of passes through the ring so far.
template <int buffers>
struct PipelineState {
  int index = 0, phase = 0;
  __device__ __forceinline__ void next() {
    if (++index == buffers) index = 0, ++phase;
  }
};

// The registers that each consumer thread of a block may have if `blocks` blocks of `threads` threads share the 65536
// registers of a multiprocessor, and each of a block's `producer_threads` keeps only `producer_registers`. Register
// counts are multiples of 8; the result is at most 240.
__device__ constexpr int consumer_registers(int blocks, int threads, int producer_threads, int producer_registers) {
  const int equal_share = 65536 / blocks / threads / 8 * 8;
  const int consumer_share =
      (equal_share * threads - producer_registers * producer_threads) / (threads - producer_threads);
  return consumer_share < 240 ? consumer_share / 8 * 8 : 240;
}
