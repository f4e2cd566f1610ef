// The images of every batch, copied to shared memory ahead of their use. BLOCK is the number of threads of a block.
#pragma once
#include "ptx/async_copy.cuh"
#include "warp.cuh"

// Images (rows, PIXELS) of a batch from row `first` on; `rows` may be 0.
struct Chunk {
  const unsigned *images;
  int first, rows;
};

// A batch is in `chunks` parts, which a step uses from the first to the last (forward) and back (for the gradient). The
// last one stays for its second use; the others are copied again. Two buffers of (chunk, PIXELS) bytes and 16 more,
// which are read but multiplied by 0, alternate: while one is in use, the next chunk is copied to the other.
struct ImageStream {
  const unsigned char *pixels;
  const long long *order;
  unsigned *buffers;
  int images, batch, chunk, chunks;
  int number = 0;      // of the next copy
  long long mine = 0;  // the image of row threadIdx.x / WARP + WARPS * lane of the next copy

  __device__ __forceinline__ int buffer_words() const { return chunk * ROW + 4; }

  // The chunk of a copy; it is empty if all batches have been copied.
  __device__ __forceinline__ Chunk chunk_of(int copy, long long &first_image) const {
    const int copies = 2 * chunks - 1, step = copy / copies, i = copy % copies;
    const int first = (i < chunks ? i : 2 * chunks - 2 - i) * chunk;
    first_image = (long long)step * batch + first;
    const int rows = min(min(chunk, batch - first), int(max(images - first_image, 0ll)));
    return {buffers + copy % 2 * buffer_words(), first, max(rows, 0)};
  }

  // Load the numbers of the images of the next copy.
  __device__ __forceinline__ void look_up() {
    long long first;
    const int rows = chunk_of(number, first).rows, row = threadIdx.x / WARP + WARPS * (threadIdx.x % WARP);
    mine = row < rows ? order[first + row] : 0;
  }

  // Start the next copy; the numbers of its images have been looked up.
  __device__ __forceinline__ void copy() {
    long long first;
    const Chunk next = chunk_of(number, first);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    unsigned *to = const_cast<unsigned *>(next.images);
    for (int k = 0, row = warp; row < next.rows; ++k, row += WARPS) {
      const unsigned char *image = pixels + __shfl_sync(~0u, mine, k) * PIXELS;
      for (int vector = lane; vector < PIXELS / 16; vector += WARP)
        copy_async<16>(to + row * ROW + 4 * vector, image + 16 * vector, true);
    }
    commit_copies();
    ++number;
    look_up();
  }

  // Start the first two copies.
  __device__ __forceinline__ void start() {
    for (int buffer = 0; buffer < 2; ++buffer)
      if (threadIdx.x < 4) buffers[buffer * buffer_words() + chunk * ROW + threadIdx.x] = 0;
    look_up();
    copy();
    copy();
  }

  // Wait for the chunk of a step's use, from 0 to 2 * chunks - 1, of which the first half is forward.
  __device__ __forceinline__ Chunk wait(int step, int use) const {
    if (chunks == 1) wait_for_groups<0>();
    else wait_for_groups<1>();
    __syncthreads();
    long long first;
    return chunk_of(step * (2 * chunks - 1) + use - (use >= chunks), first);
  }

  // After the last use of a chunk by all threads: copy another one to its buffer.
  __device__ __forceinline__ void release() {
    if (chunks == 1) return;  // refill() does it
    __syncthreads();
    copy();
  }

  // With one chunk, copy the batch after the next while this block waits for others: to the buffer of the last step.
  __device__ __forceinline__ void refill(int step) {
    if (chunks == 1 && step) copy();
  }
};
