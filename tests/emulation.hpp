// What a CUDA source needs to run on the CPU: a thread per CUDA thread, a barrier for __syncthreads, block after block.
#pragma once
#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

struct Index {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
static thread_local Index threadIdx, blockIdx;
static Index blockDim, gridDim;
static std::barrier<> *all_threads;
static double exchanged[1024];

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
static void __syncthreads() { all_threads->arrive_and_wait(); }

// Right where all threads of a block that haven't ended call it equally often.
template <class Real>
static Real __shfl_down_sync(unsigned, Real value, int distance) {
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, other = thread + distance;
  exchanged[thread] = value;
  __syncthreads();
  const Real found = other / 32 == thread / 32 ? exchanged[other] : value;
  __syncthreads();
  return found;
}

template <class Some>
static Some __ldcs(const Some *place) {
  return *place;
}

// Calls a kernel for every thread of every block.
template <class Kernel>
static void launch(Index grid, Index block, Kernel kernel) {
  blockDim = block;
  gridDim = grid;
  for (int y = 0; y < grid.y; ++y)
    for (int x = 0; x < grid.x; ++x) {
      std::barrier<> barrier(block.x * block.y);
      all_threads = &barrier;
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < block.x * block.y; ++thread)
        threads.emplace_back([=] {
          threadIdx = {thread % block.x, thread / block.x};
          blockIdx = {x, y};
          kernel();
          all_threads->arrive_and_drop();  // who has ended is waited for no more
        });
    }
}
