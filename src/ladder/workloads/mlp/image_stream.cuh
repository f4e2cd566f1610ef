// The images of every batch, copied to shared memory ahead of their use. BLOCK is the number of threads of a block.
#pragma once
#include "ptx/async_copy.cuh"
#include "warp.cuh"

// Images (rows, PIXELS) of a batch from row `first` on; `rows` may be 0.
struct Chunk {
  const unsigned *images;
  int first, rows;
};

// A batch is in `chunks` chunks, which a step uses from the first to the last (forward) and back (for the gradient). The
// last one stays for its second use; the others are copied again. Two buffers of (chunk, PIXELS) bytes and 16 more,
// which are read but multiplied by 0, alternate: while one is in use, the next chunk is copied to the other. A chunk has
// at most BLOCK rows.
struct ImageStream {
  const unsigned char *pixels;
  const long long *order;
  unsigned *buffers;
  int *numbers;  // (chunk): of the next copy's images
  int images, batch, chunk, chunks;
  int step = 0, use = 0;  // of the next copy; `use` is from 0 to 2 * chunks - 2
  int mine = 0;           // the number of image threadIdx.x of the next copy

  __device__ __forceinline__ int buffer_words() const { return chunk * ROW + 4; }

  // The chunk of a copy; it is empty if all batches have been copied. A step has an odd number of copies.
  __device__ __forceinline__ Chunk chunk_of(int step, int use) const {
    const int first = (use < chunks ? use : 2 * chunks - 2 - use) * chunk;
    const int rows = min(min(chunk, batch - first), images - step * batch - first);
    return {buffers + (step + use) % 2 * buffer_words(), first, max(rows, 0)};
  }

  // Load the number of this thread's image of the next copy.
  __device__ __forceinline__ void look_up() {
    const Chunk next = chunk_of(step, use);
    mine = threadIdx.x < next.rows ? int(order[step * batch + next.first + threadIdx.x]) : 0;
  }

  // Show the numbers of the next copy's images to all threads of the block: before a barrier.
  __device__ __forceinline__ void share_numbers() const {
    if (threadIdx.x < chunk) numbers[threadIdx.x] = mine;
  }

  // Start the next copy: after a barrier.
  __device__ __forceinline__ void copy() {
    constexpr int VECTORS = PIXELS / 16;
    const Chunk next = chunk_of(step, use);
    int4 *to = reinterpret_cast<int4 *>(const_cast<unsigned *>(next.images));
#pragma unroll 4
    for (int i = threadIdx.x; i < next.rows * VECTORS; i += BLOCK)
      copy_async<16>(to + i, pixels + size_t(numbers[i / VECTORS]) * PIXELS + i % VECTORS * 16, true);
    commit_copies();
    if (++use == 2 * chunks - 1) use = 0, ++step;
    look_up();
  }

  // Start the first two copies.
  __device__ __forceinline__ void start() {
    for (int buffer = 0; buffer < 2; ++buffer)
      if (threadIdx.x < 4) buffers[buffer * buffer_words() + chunk * ROW + threadIdx.x] = 0;
    look_up();
    for (int i = 0; i < 2; ++i) {
      share_numbers();
      __syncthreads();
      copy();
      __syncthreads();
    }
  }

  // Wait for the chunk of a step's use, from 0 to 2 * chunks - 1, of which the first half is forward.
  __device__ __forceinline__ Chunk wait(int step, int use) const {
    if (chunks == 1) wait_for_groups<0>(), share_numbers();
    else wait_for_groups<1>();
    __syncthreads();
    return chunk_of(step, use - (use >= chunks));
  }

  // After the last use of a chunk by all threads: copy another one to its buffer.
  __device__ __forceinline__ void release() {
    if (chunks == 1) return;  // refill() does it
    share_numbers();
    __syncthreads();
    copy();
  }

  // With one chunk, copy the batch after the next while this block waits for others: to the buffer of the last step.
  __device__ __forceinline__ void refill(int step) {
    if (chunks == 1 && step) copy();
  }
};
