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
// which are read but multiplied by 0, alternate: while a block multiplies a chunk, it copies the next one to the other
// buffer, a little in every step, since all at once would wait for the L2 cache. A chunk has at most BLOCK rows.
struct ImageStream {
  const unsigned char *pixels;
  const long long *order;
  unsigned *buffers;
  int *numbers;  // (2, chunk): of the images of a copy, in turns
  int images, batch, chunk, chunks;
  int step = 0, use = 0;  // of the next copy; `use` is from 0 to 2 * chunks - 2
  int mine = 0;           // the number of image threadIdx.x of the next copy
  int next_vector = 0;    // that this thread copies, of 16 bytes

  __device__ __forceinline__ int buffer_words() const { return chunk * ROW + 4; }

  // The chunk of a copy; it is empty if all batches have been copied. A step has an odd number of copies.
  __device__ __forceinline__ Chunk chunk_of(int step, int use) const {
    const int first = (use < chunks ? use : 2 * chunks - 2 - use) * chunk;
    const int rows = min(min(chunk, batch - first), images - step * batch - first);
    return {buffers + (step + use) % 2 * buffer_words(), first, max(rows, 0)};
  }

  __device__ __forceinline__ int *numbers_of(int step, int use) const { return numbers + (step + use) % 2 * chunk; }

  // Load the number of this thread's image of the next copy.
  __device__ __forceinline__ void look_up() {
    const Chunk next = chunk_of(step, use);
    mine = threadIdx.x < next.rows ? int(order[step * batch + next.first + threadIdx.x]) : 0;
  }

  // Show the numbers of the next copy's images to all threads of the block: before a barrier.
  __device__ __forceinline__ void share_numbers() const {
    if (threadIdx.x < chunk) numbers_of(step, use)[threadIdx.x] = mine;
  }

  // Begin the next copy: after a barrier.
  __device__ __forceinline__ void begin_copy() { next_vector = threadIdx.x; }

  // Copy some of the next chunk: a vector of 16 bytes by each thread, if any are left.
  __device__ __forceinline__ void copy_some() {
    constexpr int VECTORS = PIXELS / 16;
    const Chunk next = chunk_of(step, use);
    if (next_vector < next.rows * VECTORS) {
      const int number = numbers_of(step, use)[next_vector / VECTORS];
      copy_async<16>(reinterpret_cast<int4 *>(const_cast<unsigned *>(next.images)) + next_vector,
                     pixels + size_t(number) * PIXELS + next_vector % VECTORS * 16, true);
    }
    next_vector += BLOCK;
  }

  // Copy what is left, and turn to the next copy.
  __device__ __forceinline__ void end_copy() {
    while (next_vector < chunk * (PIXELS / 16)) copy_some();
    commit_copies();
    if (++use == 2 * chunks - 1) use = 0, ++step;
    look_up();
  }

  // Start the first copy.
  __device__ __forceinline__ void start() {
    for (int buffer = 0; buffer < 2; ++buffer)
      if (threadIdx.x < 4) buffers[buffer * buffer_words() + chunk * ROW + threadIdx.x] = 0;
    look_up();
    share_numbers();
    __syncthreads();
    begin_copy();
    end_copy();
  }

  // Wait for the chunk of a step's use, from 0 to 2 * chunks - 1, of which the first half is forward. Nothing else is
  // being copied, so that a copy may begin, but none at the second use of the last chunk.
  __device__ __forceinline__ Chunk wait(int step, int use) const {
    wait_for_copies();
    share_numbers();
    __syncthreads();
    return chunk_of(step, use - (use >= chunks));
  }
};
