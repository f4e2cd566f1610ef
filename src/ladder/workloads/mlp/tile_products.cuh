// Small products without tensor cores, with any epilogue, of matrices and of images whose pixels are bytes. `multiply`
// computes a tile of one by a block of THREADS with Shape<tile>::MEMORY_SIZE elements of dynamic shared memory.
#pragma once
#include "ptx/async_copy.cuh"
#include "vector.cuh"

constexpr int PIXELS = 784;                    // of an image
constexpr int THREADS = 256, THREAD_TILE = 4;  // of a product: threads of a block; rows and columns of a thread's sums
constexpr int STAGES = 4;                      // copies for three steps at once hide the latency of memory
extern __shared__ Vector memory[];

// A block computes tile x tile sums in steps along k. As a batch has few tiles, they are small, and the terms of a sum
// are divided among SLICES of a block's threads, each of SIDE x SIDE.
template <int tile>
struct Shape {
  static constexpr int SIDE = tile / THREAD_TILE, SLICES = THREADS / (SIDE * SIDE);
  static constexpr int DEPTH = 4 * THREADS / tile;  // terms of a step: a thread copies four elements of an operand
  static constexpr int PITCH = tile + V;            // of the rows of an operand in shared memory, (DEPTH, PITCH)
  static constexpr int OPERAND_SIZE = DEPTH * PITCH;            // elements of an operand
  static constexpr int MEMORY_SIZE = (2 * STAGES + 1) * OPERAND_SIZE;  // all stages' operands, and converted pixels
  static_assert(SLICES * tile * tile <= MEMORY_SIZE, "The slices' sums must fit in place of the stages.");
};

// An operand in memory: element (i, p), p along k, is corner[i * stride + p] if along_k, else corner[p * stride + i].
template <int tile, bool along_k>
struct Matrix {
  using S = Shape<tile>;
  const REAL *corner;
  int stride, length;  // from the corner on, there are `length` elements along i; further ones are 0
  int ones_index = -1;  // an i whose elements are 1

  // Start to copy the elements from `first` on along k, which has `count` of them, to a stage (DEPTH, PITCH).
  __device__ __forceinline__ void start(REAL *stage, int first, int count) {
#pragma unroll
    for (int e = threadIdx.x; e < tile * S::DEPTH; e += THREADS) {
      // Neighbouring threads copy neighbouring elements.
      const int i = along_k ? e / S::DEPTH : e % tile, p = along_k ? e % S::DEPTH : e / tile;
      const size_t index = along_k ? size_t(i) * stride + first + p : size_t(first + p) * stride + i;
      if (i == ones_index) stage[p * S::PITCH + i] = 1;
      else copy_async<sizeof(REAL)>(stage + p * S::PITCH + i, corner + index, i < length && first + p < count);
    }
  }

  // The elements of a stage whose copies have arrived.
  __device__ __forceinline__ const REAL *finish(const REAL *stage, REAL *) const { return stage; }
};

// The images of a batch as a left operand (`converted` holds only one) in units of 1 / 255: along i are images and
// along k pixels, or the reverse, with a further pixel of value 1. A thread copies four bytes per step.
template <int tile, bool along_k>
struct Images {
  using S = Shape<tile>;
  static constexpr int WORDS = (along_k ? S::DEPTH : tile) / 4, ROWS = THREADS / WORDS;  // of a stage, in words
  static constexpr int WORD_PITCH = WORDS + 1;  // reads along a column are from different banks
  const unsigned *pixels;
  const long long *order;
  int begin, rows;  // the first i of the tile; images of the batch
  long long image;  // of this thread's next copy, loaded a step ahead

  __device__ __forceinline__ Images(const unsigned *pixels, const long long *order, int begin, int rows)
      : pixels(pixels), order(order), begin(begin), rows(rows) {
    image = order[min((along_k ? begin : 0) + int(threadIdx.x) / WORDS, rows - 1)];
  }

  __device__ __forceinline__ void start(REAL *stage, int first, int) {
    const int r = threadIdx.x / WORDS, c = threadIdx.x % WORDS;
    const int row = (along_k ? begin : first) + r, word = (along_k ? first : begin) / 4 + c;
    copy_async<4>(reinterpret_cast<unsigned *>(stage) + r * WORD_PITCH + c, pixels + image * (PIXELS / 4) + word,
                  row < rows && word < PIXELS / 4);
    if constexpr (!along_k) image = order[min(row + S::DEPTH, rows - 1)];
  }

  // Convert the pixels of a stage whose copies have arrived.
  __device__ __forceinline__ const REAL *finish(const REAL *stage, REAL *converted) const {
    const int r = threadIdx.x % ROWS, c = threadIdx.x / ROWS;
    const unsigned word = reinterpret_cast<const unsigned *>(stage)[r * WORD_PITCH + c];
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const int i = along_k ? r : 4 * c + b, p = along_k ? 4 * c + b : r;
      const bool is_one = !along_k && begin + i == PIXELS;
      converted[p * S::PITCH + i] = is_one ? REAL(255) : REAL(int(word >> 8 * b & 255));
    }
    __syncthreads();  // all pixels are converted
    return converted;
  }
};

// A tile of a product: call epilogue(i, j, the sum of left (i, p) right (j, p) over p < count) for its elements.
template <int tile, class Left, class Right, class Epilogue>
__device__ __forceinline__ void multiply(Left left, Right right, int count, Epilogue epilogue) {
  using S = Shape<tile>;
  REAL *const stages = reinterpret_cast<REAL *>(memory), *const converted = stages + 2 * STAGES * S::OPERAND_SIZE;
  const int slice = threadIdx.x / (S::SIDE * S::SIDE), y = threadIdx.x / S::SIDE % S::SIDE, x = threadIdx.x % S::SIDE;
  const auto start = [&](int step) {
    REAL *stage = stages + step % STAGES * 2 * S::OPERAND_SIZE;
    if (const int first = step * S::DEPTH; first < count) {
      left.start(stage, first, count);
      right.start(stage + S::OPERAND_SIZE, first, count);
    }
    commit_copies();
  };
  for (int step = 0; step < STAGES - 1; ++step) start(step);
  REAL sums[THREAD_TILE][THREAD_TILE] = {};
  for (int step = 0; step * S::DEPTH < count; ++step) {
    wait_for_groups<STAGES - 2>();
    __syncthreads();  // the step's operands have arrived, and those of the step before are read: they are replaced next
    start(step + STAGES - 1);
    REAL *stage = stages + step % STAGES * 2 * S::OPERAND_SIZE;
    const REAL *a = left.finish(stage, converted) + slice * S::PITCH + y * V;
    const REAL *b = right.finish(stage + S::OPERAND_SIZE, converted) + slice * S::PITCH + x * V;
    const int terms = min(S::DEPTH, count - step * S::DEPTH);
    for (int first = 0; first < terms; first += 4 * S::SLICES)
#pragma unroll
      for (int p = first; p < first + 4 * S::SLICES; p += S::SLICES) {
        Vector a_vecs[THREAD_TILE / V], b_vecs[THREAD_TILE / V];
#pragma unroll
        for (int v = 0; v < THREAD_TILE / V; ++v) {
          a_vecs[v] = *reinterpret_cast<const Vector *>(a + p * S::PITCH + v * S::SIDE * V);
          b_vecs[v] = *reinterpret_cast<const Vector *>(b + p * S::PITCH + v * S::SIDE * V);
        }
#pragma unroll
        for (int i = 0; i < THREAD_TILE; ++i)
#pragma unroll
          for (int j = 0; j < THREAD_TILE; ++j) sums[i][j] += a_vecs[i / V].value[i % V] * b_vecs[j / V].value[j % V];
      }
  }
  wait_for_copies();
  __syncthreads();  // all operands are read: the slices' sums (SLICES, tile, tile) replace them
#pragma unroll
  for (int i = 0; i < THREAD_TILE; ++i)
#pragma unroll
    for (int j = 0; j < THREAD_TILE; ++j) {
      const int row = (i / V * S::SIDE + y) * V + i % V, column = (j / V * S::SIDE + x) * V + j % V;
      stages[(slice * tile + row) * tile + column] = sums[i][j];
    }
  __syncthreads();  // the sums of all slices are written
#pragma unroll
  for (int e = threadIdx.x; e < tile * tile; e += THREADS) {
    REAL sum = 0;
#pragma unroll
    for (int s = 0; s < S::SLICES; ++s) sum += stages[s * tile * tile + e];
    epilogue(e / tile, e % tile, sum);
  }
}
