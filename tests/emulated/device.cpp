// The scheduler of the threads of device.h. A thread begins in a context of its own, and resumes by the compiler's
// longjmp, which needs no system call and which sanitizers don't intercept.
#include "device.h"

#include <ucontext.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

struct Copy {
  void *to;
  const void *from;
  size_t bytes;
};

using JumpBuffer = void *[5];  // of __builtin_setjmp

struct Thread {
  uint3 index = {};
  ucontext_t entry_context = {};
  JumpBuffer resume_point = {};
  bool has_begun = false;
  std::deque<std::vector<Copy>> groups = {{}};  // of copies on their way, the last one not yet committed
  bool has_ended = false;
};

__thread uint3 threadIdx, blockIdx;
__thread Warp *warps;
__thread char own_origin;
char *block_origins[8];
static std::barrier<> *blocks_barrier;
static __thread Thread *current_thread;
static __thread Barrier block_barrier;
static __thread size_t steps;  // how often a thread of the block has come to a barrier or to its end
static __thread JumpBuffer scheduler;
static thread_local std::minstd_rand random_order;

void require(bool condition, const char *sentence) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", sentence);
  std::exit(1);
}

// A separate function, because the compiler assumes that none jumps to a point in itself.
[[gnu::noinline]] static void go_to(JumpBuffer resume_point) { __builtin_longjmp(resume_point, 1); }

[[gnu::noinline]] static void resume(Thread *thread) {
  current_thread = thread;
  threadIdx = thread->index;
  if (__builtin_setjmp(scheduler)) return;
  if (std::exchange(thread->has_begun, true)) go_to(thread->resume_point);
  setcontext(&thread->entry_context);
}

[[gnu::noinline]] static void suspend() {
  if (!__builtin_setjmp(current_thread->resume_point)) go_to(scheduler);
}

void Barrier::wait() {
  const int before = passed;
  ++steps;
  if (++arrived == expected) arrived = 0, ++passed;
  while (passed == before) suspend();
}

void let_others_run() { suspend(); }

void note_progress() { ++steps; }

void __syncthreads() { block_barrier.wait(); }

void wait_for_blocks() { blocks_barrier->arrive_and_wait(); }

void copy_later(void *to, const void *from, size_t bytes) {
  current_thread->groups.back().push_back({to, from, bytes});
}

void commit_copies() { current_thread->groups.emplace_back(); }

void wait_for_groups_but(size_t left) {
  for (auto &groups = current_thread->groups; groups.size() > left + 1; groups.pop_front())
    for (Copy copy : groups.front())
      copy.from ? std::memcpy(copy.to, copy.from, copy.bytes) : std::memset(copy.to, 0, copy.bytes);
}

// Run some threads in turn, in random order, until all wait for others or have ended.
static void advance(std::vector<Thread *> &threads) {
  for (size_t before = steps - 1; before != steps;) {
    before = steps;
    std::shuffle(threads.begin(), threads.end(), random_order);
    std::for_each(threads.begin(), threads.end(), resume);
    std::erase_if(threads, [](Thread *thread) { return thread->has_ended; });
  }
}

// Run a block's threads to their end.
static void run(dim3 block, void (*start)(const void *), const void *kernel) {
  static __thread void (*work)(const void *);
  static __thread const void *argument;
  static struct {
    size_t count;
    std::unique_ptr<char[]> memory;
  } all_stacks[std::size(block_origins)];
  constexpr size_t stack_bytes = 1 << 16;
  const unsigned count = block.x * block.y * block.z;
  std::vector<Thread> threads(count);
  std::vector<std::vector<Thread *>> waiting((count + 31) / 32);
  work = start, argument = kernel;
  block_barrier = {int(count)};
  std::vector<Warp> own_warps(waiting.size(), Warp{{32}});
  warps = own_warps.data();
  auto &stacks = all_stacks[blockIdx.z];
  if (count > stacks.count) stacks = {count, std::make_unique_for_overwrite<char[]>(count * stack_bytes)};
  for (unsigned i = 0; i < count; ++i) {
    threads[i].index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    ucontext_t &context = threads[i].entry_context;
    getcontext(&context);
    context.uc_stack = {.ss_sp = &stacks.memory[i * stack_bytes], .ss_flags = 0, .ss_size = stack_bytes};
    makecontext(&context, [] { work(argument), current_thread->has_ended = true, ++steps, suspend(); }, 0);
    waiting[i / 32].push_back(&threads[i]);
  }
  for (size_t before = steps - 1; before != steps;) {
    before = steps;
    std::shuffle(waiting.begin(), waiting.end(), random_order);
    std::for_each(waiting.begin(), waiting.end(), advance);
  }
  for (Thread &thread : threads) {
    require(thread.has_ended, "Threads wait for others that don't come.");
    for (auto &group : thread.groups) require(group.empty(), "A thread ended before its copies had arrived.");
  }
}

void launch(dim3 grid, dim3 block, void (*start)(const void *), const void *kernel) {
  std::barrier<> barrier(grid.z);
  blocks_barrier = &barrier;
  std::vector<std::jthread> blocks;
  for (unsigned z = 0; z < grid.z; ++z)
    blocks.emplace_back([=] {
      block_origins[z] = &own_origin;
      for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; ++x) {
          blockIdx = {x, y, z};
          run(block, start, kernel);
        }
    });
}
