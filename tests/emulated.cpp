// A CUDA source of GEMM on the CPU: a thread per CUDA thread, a barrier for __syncthreads, block after block.
#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

struct Index {
  int x, y;
};
static thread_local Index threadIdx, blockIdx;
static std::barrier<> *all_threads;

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
static void __syncthreads() { all_threads->arrive_and_wait(); }

#include SOURCE

extern "C" void emulate(int form, Index grid, Index block, GEMM_ARGUMENTS) {
  auto *kernel = form == 0 ? gemm_nn : form == 1 ? gemm_tn : gemm_nt;
  for (int y = 0; y < grid.y; ++y)
    for (int x = 0; x < grid.x; ++x) {
      std::barrier<> barrier(block.x * block.y);
      all_threads = &barrier;
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < block.x * block.y; ++thread)
        threads.emplace_back([=] {
          threadIdx = {thread % block.x, thread / block.x};
          blockIdx = {x, y};
          kernel(a, b, c, out, m, n, k);
        });
    }
}
