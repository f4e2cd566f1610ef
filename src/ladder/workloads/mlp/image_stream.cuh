// The images of every batch, copied to shared memory ahead of their use. BLOCK is the number of threads of a block;
// first_layer.cuh defines PIXELS and IMAGE_WORDS.
#pragma once
#include "first_layer.cuh"
#include "ptx/async_copy.cuh"
#include "warp.cuh"

// Images (rows, PIXELS) of a batch from row `first` on; `rows` may be 0.
struct Chunk {
  const unsigned *images;
  int first, rows;
};

// A step is the training of one batch, which consists of `chunks` chunks, each of at most BLOCK rows. A step uses the
// chunks from the first to the last (forward) and back (for the gradient). The last one stays for its second use; the
// others are copied again.
//
// There are two buffers, each of (chunk_rows, PIXELS) bytes and 16 bytes of padding, which are read but multiplied by
// 0. While a block multiplies a chunk, it copies the next one to the other buffer. Each thread copies one vector before
// each multiply(), because copying everything at once would stall on the L2 cache.
struct ImageStream {
  const unsigned char *pixels;  // of all images
  const long long *order;       // the images' indices, in the order of training
  unsigned *buffers;
  int *image_indices;  // (2, chunk_rows): those of a copy's images, a row for each buffer
  // Numbers: of all images, of images in a batch, of rows in a chunk, of chunks in a batch.
  int images, batch, chunk_rows, chunks;
  int step = 0, copy = 0;  // of the next copy; `copy` is from 0 to 2 * chunks - 2
  int image_index = 0;     // of image threadIdx.x of the next copy
  int next_vector = 0;     // the next vector of 16 bytes that this thread copies

  __device__ __forceinline__ int buffer_words() const { return chunk_rows * IMAGE_WORDS + 4; }

  // The number of a copy's buffer. Buffers alternate also from the last copy of a step to the first of the next step,
  // because a step has 2 * chunks - 1 copies, an odd number.
  __device__ __forceinline__ static int buffer_of(int step, int copy) { return (step + copy) % 2; }

  // The chunk of a copy; it is empty if all batches have been copied.
  __device__ __forceinline__ Chunk chunk_of(int step, int copy) const {
    const int first = (copy < chunks ? copy : 2 * chunks - 2 - copy) * chunk_rows;
    const int rows = min(min(chunk_rows, batch - first), images - step * batch - first);
    return {buffers + buffer_of(step, copy) * buffer_words(), first, max(rows, 0)};
  }

  __device__ __forceinline__ int *indices_of(int step, int copy) const {
    return image_indices + buffer_of(step, copy) * chunk_rows;
  }

  // Load the index of this thread's image of the next copy.
  __device__ __forceinline__ void load_index() {
    const Chunk next = chunk_of(step, copy);
    image_index = threadIdx.x < next.rows ? int(order[step * batch + next.first + threadIdx.x]) : 0;
  }

  // Store the indices of the next copy's images for all threads of the block: before a barrier.
  __device__ __forceinline__ void share_indices() const {
    if (threadIdx.x < chunk_rows) indices_of(step, copy)[threadIdx.x] = image_index;
  }

  // Begin the next copy: after a barrier.
  __device__ __forceinline__ void begin_copy() { next_vector = threadIdx.x; }

  // Copy one vector of the next chunk per thread, if any are left.
  __device__ __forceinline__ void copy_vector() {
    constexpr int VECTORS = PIXELS / 16;
    const Chunk next = chunk_of(step, copy);
    if (next_vector < next.rows * VECTORS) {
      const int image = indices_of(step, copy)[next_vector / VECTORS];
      copy_async<16>(reinterpret_cast<int4 *>(const_cast<unsigned *>(next.images)) + next_vector,
                     pixels + size_t(image) * PIXELS + next_vector % VECTORS * 16, true);
    }
    next_vector += BLOCK;
  }

  // Copy the remaining vectors, and advance to the next copy.
  __device__ __forceinline__ void end_copy() {
    while (next_vector < chunk_rows * (PIXELS / 16)) copy_vector();
    commit_copies();
    if (++copy == 2 * chunks - 1) copy = 0, ++step;
    load_index();
  }

  // Start the first copy.
  __device__ __forceinline__ void start() {
    for (int buffer = 0; buffer < 2; ++buffer)
      if (threadIdx.x < 4) buffers[buffer * buffer_words() + chunk_rows * IMAGE_WORDS + threadIdx.x] = 0;
    load_index();
    share_indices();
    __syncthreads();
    begin_copy();
    end_copy();
  }

  // Wait for a chunk. A step makes 2 * `chunks` uses of chunks, which `use` counts; the first half is the forward pass.
  // No copy is pending afterwards, so the caller may begin the next one, except at use = chunks, the second use of the
  // last chunk, when both buffers are still needed.
  __device__ __forceinline__ Chunk wait(int step, int use) const {
    wait_for_copies();
    share_indices();
    __syncthreads();
    return chunk_of(step, use - (use >= chunks));
  }
};
