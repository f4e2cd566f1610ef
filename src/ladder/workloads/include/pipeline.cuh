// The ring of buffers between a producer and its consumers.
#pragma once

// The index of the current buffer in a ring of buffers, and the number of passes through the ring so far.
template <int buffers>
struct PipelineState {
  int index = 0, phase = 0;
  __device__ __forceinline__ void next() {
    if (++index == buffers) index = 0, ++phase;
  }
};
