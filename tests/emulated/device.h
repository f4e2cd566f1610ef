// As much of a GPU as the emulated kernels need, on the CPU. A CUDA thread is a context that runs until it waits for
// others. Each warp goes as far as it can before the next; the order is random, so that a missing barrier can show.
// Blocks that differ in z alone are a cluster. A system thread runs the blocks of each z in turn; their shared memory
// is thread-local. What depends on no kernel is in device.cpp, which is compiled once for all.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(...)
#define __restrict__
#define __grid_constant__
// A block's memory. A source declares its dynamic memory `extern`; the program that includes it defines an array of
// DYNAMIC_BYTES.
#if DYNAMIC_BYTES
#define __shared__ __thread
#else
#define __shared__ static __thread
#endif

template <class Type>
const Type &min(const Type &first, const Type &second) {
  return second < first ? second : first;
}

// A load without its hint to the caches.
template <class Type>
Type __ldcs(const Type *from) {
  return *from;
}

struct float2 {
  float x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

// Byte i of the result is the byte of (first, second) that digit i of the selector names.
inline unsigned __byte_perm(unsigned first, unsigned second, unsigned selector) {
  const uint64_t bytes = uint64_t(second) << 32 | first;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}

template <class To, class From>
To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}
inline unsigned __float_as_uint(float value) { return bits_of<unsigned>(value); }
inline float __int_as_float(int value) { return bits_of<float>(value); }
inline double __hiloint2double(int high, int low) { return bits_of<double>(int64_t(high) << 32 | unsigned(low)); }

struct uint3 {
  unsigned x, y, z;
};
using dim3 = uint3;

struct Barrier {
  int expected, arrived;  // threads, per phase
  int passed;             // phases that have ended
  void wait();
};

struct Warp {
  Barrier barrier;
  double a[32][4], b[32][2];  // each lane's operands of an instruction of the whole warp
  unsigned words_of_a[32][4], words_of_b[32][2];  // the same as bits
  const char *rows[32];                           // each lane's address of a row, for loads of matrices
};

extern __thread uint3 threadIdx, blockIdx;
extern __thread Warp *warps;  // of the block
void __syncthreads();
inline void __syncwarp() { warps[threadIdx.x / 32].barrier.wait(); }

// For waits of other kinds: a thread that waits lets others run, and one that ends such a wait notes it.
void let_others_run();
void note_progress();

// Asynchronous copies of the current thread: those of a group arrive once no more than `left` groups are on their way.
void copy_later(void *to, const void *from, size_t bytes);  // from null: zeros
void commit_copies();
void wait_for_groups_but(size_t left);

// The cluster. Shared memory is thread-local here, and each block of a cluster runs on its own system thread. So an
// object has the same offset from `own_origin` in every block, and `block_origins` has the address of each block's
// `own_origin`.
extern __thread char own_origin;
extern char *block_origins[8];  // the largest portable cluster has 8 blocks
// A barrier for one thread of each block.
void wait_for_blocks();

void require(bool condition, const char *sentence);

// Run a grid, with a system thread for the blocks of each z.
void launch(dim3 grid, dim3 block, void (*start)(const void *kernel), const void *kernel);

template <class Kernel>
void launch(dim3 grid, dim3 block, const Kernel &kernel) {
  launch(grid, block, [](const void *kernel) { (*static_cast<const Kernel *>(kernel))(); }, &kernel);
}
