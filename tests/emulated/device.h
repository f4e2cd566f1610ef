// As much of a GPU as the kernels of GEMM ask for, on the CPU. A CUDA thread is a context that runs until it waits for
// others. Each warp goes as far as it can before the next, in an order that is drawn, so that what a missing barrier
// lets happen does happen. A block is a thread of the system, and its shared memory belongs to that: the blocks of a
// cluster run at the same time.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(...)
#define __restrict__
// A block's memory; dynamic memory is declared `extern`, and main.cpp defines its DYNAMIC bytes.
#if DYNAMIC
#define __shared__ __thread
#else
#define __shared__ static __thread
#endif
using std::min;

struct float2 {
  float x, y;
};

struct Index {
  unsigned x, y, z;
};

struct Copy {
  void *to;
  const void *from;  // null: zeros
  size_t bytes;
};

struct Thread {
  Index index = {};
  ucontext_t context = {};
  std::deque<std::vector<Copy>> groups = {{}};  // of copies on their way, the last one not yet committed
  bool done = false;
};

inline thread_local Index threadIdx, blockIdx;
inline thread_local Thread *current;
inline thread_local ucontext_t scheduler;
inline thread_local std::minstd_rand random_order;
inline thread_local size_t steps;  // how often a thread of the block has come to a barrier or to its end

inline void require(bool condition, const char *sentence) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", sentence);
  std::exit(1);
}

struct Barrier {
  int expected, arrived = 0, passed = 0;
  void wait() {
    const int before = passed;
    ++steps;
    if (++arrived == expected) arrived = 0, ++passed;
    while (passed == before) swapcontext(&current->context, &scheduler);
  }
};

struct Warp {
  Barrier barrier = {32};
  REAL a[32][4], b[32][2];  // each lane's operands of an instruction of the whole warp
  unsigned words_of_a[32][4], words_of_b[32][2];
  const char *rows[32];
};

inline thread_local Barrier block_barrier;
inline thread_local std::vector<Warp> warps;
inline void __syncthreads() { block_barrier.wait(); }

// The cluster: where each block has its thread-local memory, and a barrier for one thread of each block.
inline thread_local char own_memory;
inline char *memories[8];
inline std::barrier<> *blocks_barrier;

// Run some threads in turn, in an order that is drawn, until all wait for others or have ended.
inline void advance(std::vector<Thread *> &threads) {
  for (size_t before = steps - 1; before != steps;) {
    before = steps;
    std::shuffle(threads.begin(), threads.end(), random_order);
    for (Thread *thread : threads) {
      current = thread;
      threadIdx = thread->index;
      swapcontext(&scheduler, &thread->context);
    }
    std::erase_if(threads, [](Thread *thread) { return thread->done; });
  }
}

// Run a block's threads to their end.
inline void run(Index block, const std::function<void()> &kernel) {
  static thread_local const std::function<void()> *work;
  static thread_local std::vector<char> stacks;
  constexpr size_t size = 1 << 16;
  const unsigned count = block.x * block.y * block.z;
  std::vector<Thread> threads(count);
  std::vector<std::vector<Thread *>> waiting((count + 31) / 32);
  work = &kernel;
  block_barrier = {int(count)};
  warps = std::vector<Warp>(waiting.size());
  stacks.resize(count * size);
  for (unsigned i = 0; i < count; ++i) {
    threads[i].index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    ucontext_t &context = threads[i].context;
    getcontext(&context);
    context.uc_stack = {.ss_sp = &stacks[i * size], .ss_flags = 0, .ss_size = size};
    context.uc_link = &scheduler;
    makecontext(&context, [] { (*work)(), current->done = true, ++steps; }, 0);
    waiting[i / 32].push_back(&threads[i]);
  }
  for (size_t before = steps - 1; before != steps;) {
    before = steps;
    std::shuffle(waiting.begin(), waiting.end(), random_order);
    std::for_each(waiting.begin(), waiting.end(), advance);
  }
  for (Thread &thread : threads) {
    require(thread.done, "Threads wait for others that don't come.");
    for (auto &group : thread.groups) require(group.empty(), "A thread ended before its copies had arrived.");
  }
}

// Run a grid, one cluster after another.
inline void launch(Index grid, Index block, const std::function<void()> &kernel) {
  std::barrier<> barrier(grid.z);
  blocks_barrier = &barrier;
  std::vector<std::jthread> blocks;
  for (unsigned z = 0; z < grid.z; ++z)
    blocks.emplace_back([=, &kernel] {
      memories[z] = &own_memory;
      for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; ++x) {
          blockIdx = {x, y, z};
          run(block, kernel);
        }
    });
}
