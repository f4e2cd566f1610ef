// The kernels of `cuda_fused.cu` with the products of images, in `forward_images` and `update`, on tensor cores, in full
// precision. Those of float64 are by instructions for it. Those of float32 are in bfloat16: pixels, integers below 256, are exact in it,
// and a float32 number is the sum of three parts in bfloat16, which take a product each.
//
// A block computes BM x BN sums in steps of DEPTH along k, a warp WARP_ROWS x BN of them over its SLICE_DEPTH terms of
// each step. The sums of a block's SLICES are added at the end, in a fixed order. A thread copies at most CHUNK pixels
// of a step, and converts the same ones, so that a step needs one barrier.
//
// Shapes: as in `cuda_fused.cu`, but pixels (images, 784), bytes. Fragments, the parts of operands in a lane's
// registers, are those of `ptx/mma.cuh`; g and t are as there.
//
// Launch of these two: block THREADS, dynamic shared memory MEMORY_BYTES; grid of `forward_images` (ceil(fan_out / BN),
// ceil(rows / BM)), of `update` 1 + the blocks of all layers: ceil(785 / BM) * ceil(fan_out / BN) for the first one.
// Others are as there, with TILE 32.
#include "ptx/mma.cuh"

#define TILE 32  // of further layers
#include "further_layers.cuh"

constexpr bool IS_DOUBLE = sizeof(REAL) == 8;
constexpr int WARP_ROWS = 32, ROW_WARPS = BM / WARP_ROWS, SLICES = THREADS / WARP / ROW_WARPS;
constexpr int SLICE_DEPTH = IS_DOUBLE ? 8 : 16, DEPTH = SLICES * SLICE_DEPTH;
constexpr int ROW_FRAGMENTS = WARP_ROWS / 16, COLUMN_FRAGMENTS = BN / 8;  // of a warp's sums
constexpr int CHUNK = 16;                                                 // pixels, a copy of 16 bytes
// The rows of the operands in shared memory, padded so that the lanes of an access read different banks: of the right
// one (DEPTH, PITCH), of float64 pixels (DEPTH, ROW_PITCH), of bfloat16 ones (BM, DEPTH_PITCH) or (DEPTH, ROW_PITCH).
constexpr int PITCH = BN + 4, ROW_PITCH = BM + (IS_DOUBLE ? 4 : 8), DEPTH_PITCH = DEPTH + 8;
constexpr int RIGHT_SIZE = DEPTH * PITCH;  // elements of a step
constexpr int LEFT_SIZE = IS_DOUBLE || DEPTH * ROW_PITCH > BM * DEPTH_PITCH ? DEPTH * ROW_PITCH : BM * DEPTH_PITCH;
constexpr int PIXEL_BYTES = IS_DOUBLE ? 8 : 2;  // of a converted pixel
// The right operand and the pixels of all stages, and the converted pixels of two steps; later the slices' sums.
constexpr int MEMORY_BYTES = STAGES * (RIGHT_SIZE * sizeof(REAL) + BM * DEPTH) + 2 * LEFT_SIZE * PIXEL_BYTES;
static_assert(SLICES * BM * BN * sizeof(REAL) <= MEMORY_BYTES, "The slices' sums must fit in place of the operands.");
static_assert(Shape<UPDATE_TILE>::MEMORY_SIZE * sizeof(REAL) <= MEMORY_BYTES, "`update` has both kinds of products.");
static_assert(BM == 32 || BM == 64, "bm must be 32 or 64.");
static_assert(BN % 8 == 0, "bn must be a multiple of 8.");
static_assert(BM * DEPTH / CHUNK <= THREADS && LEFT_SIZE * PIXEL_BYTES % 16 == 0 && RIGHT_SIZE % V == 0);

using Sums = REAL[ROW_FRAGMENTS][COLUMN_FRAGMENTS][4];

// The right operand: element (p, j), p along k, is corner[p * stride + j], or 0 from j = `length` on.
struct RightOperand {
  const REAL *corner;
  int stride, length;

  // Start to copy the elements from `first` on along k, which has `count` of them, to a stage (DEPTH, PITCH).
  __device__ __forceinline__ void start(REAL *stage, int first, int count) const {
    const bool is_aligned = stride % V == 0 && reinterpret_cast<size_t>(corner) % 16 == 0;
#pragma unroll 1
    for (int e = threadIdx.x; e < DEPTH * BN / V; e += THREADS) {
      const int p = e / (BN / V), j = e % (BN / V) * V;
      const REAL *from = corner + size_t(first + p) * stride + j;
      REAL *to = stage + p * PITCH + j;
      if (is_aligned) {
        copy_async<16>(to, from, first + p < count && j < length);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v) copy_async<sizeof(REAL)>(to + v, from + v, first + p < count && j + v < length);
      }
    }
  }
};

// A byte of a word as a number: it is appended to the bits of 2^23, or 2^52, whose last one is worth 1.
__device__ __forceinline__ float pixel_as_float(unsigned word, int byte) {
  return __int_as_float(__byte_perm(word, 0x4b000000, 0x7540 | byte)) - 8388608.0f;
}
__device__ __forceinline__ double pixel_as_double(unsigned word, int byte) {
  return __hiloint2double(0x43300000, word >> 8 * byte & 255) - 4503599627370496.0;
}
// Two float32 numbers as bfloat16 in a word, by their upper halves; the first is in the lower one.
__device__ __forceinline__ unsigned upper_halves(float first, float second) {
  return __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632);
}

// The left operand, the images of a batch in units of 1 / 255: along its rows are images and along k pixels, or the
// reverse, with a further pixel of value 1.
template <bool along_k>
struct ImageOperand {
  static constexpr int COUNT = along_k ? BM : DEPTH;                   // images of a step
  static constexpr int CHUNKS = (along_k ? DEPTH : BM) / CHUNK;        // of each
  static constexpr int BFLOAT16_PITCH = along_k ? DEPTH_PITCH : ROW_PITCH;
  const unsigned char *pixels;
  const long long *order;
  int begin, rows;      // the first row of the tile; images of the batch
  int number, chunk;    // of this thread's chunk: its image in a step, and its position there
  long long image;      // of this thread's next copy, loaded a step ahead

  __device__ __forceinline__ ImageOperand(const unsigned char *pixels, const long long *order, int begin, int rows)
      : pixels(pixels), order(order), begin(begin), rows(rows) {
    // Along k, neighbouring threads have chunks of an image, else neighbouring images: stores are to different banks.
    number = along_k ? threadIdx.x / CHUNKS : threadIdx.x % COUNT;
    chunk = along_k ? threadIdx.x % CHUNKS : threadIdx.x / COUNT;
    image = order[min((along_k ? begin : 0) + number, rows - 1)];
  }

  __device__ __forceinline__ bool has_chunk() const { return threadIdx.x < COUNT * CHUNKS; }

  // Start to copy the thread's chunk of the step from `first` on along k to a stage (COUNT * CHUNKS, CHUNK).
  __device__ __forceinline__ void start(unsigned char *stage, int first) {
    const int row = (along_k ? begin : first) + number, pixel = (along_k ? first : begin) + chunk * CHUNK;
    if (has_chunk())
      copy_async<16>(stage + threadIdx.x * CHUNK, pixels + image * PIXELS + pixel, row < rows && pixel < PIXELS);
    if constexpr (!along_k) image = order[min(row + DEPTH, rows - 1)];
  }

  // Convert the thread's chunk, whose copy has arrived.
  __device__ __forceinline__ void convert(const unsigned char *stage, void *converted) const {
    if (!has_chunk()) return;
    unsigned words[CHUNK / 4];
    *reinterpret_cast<uint4 *>(words) = *reinterpret_cast<const uint4 *>(stage + threadIdx.x * CHUNK);
    if (!along_k && begin + chunk * CHUNK == PIXELS) words[0] = 255;  // a one, for the bias
    if constexpr (IS_DOUBLE) {
      double *const to = static_cast<double *>(converted);
#pragma unroll
      for (int b = 0; b < CHUNK; ++b) {
        const int along = chunk * CHUNK + b;
        to[along_k ? along * ROW_PITCH + number : number * ROW_PITCH + along] = pixel_as_double(words[b / 4], b % 4);
      }
    } else {
      unsigned short *const to = static_cast<unsigned short *>(converted) + number * BFLOAT16_PITCH + chunk * CHUNK;
      unsigned pairs[CHUNK / 2];
#pragma unroll
      for (int b = 0; b < CHUNK; b += 2)
        pairs[b / 2] = upper_halves(pixel_as_float(words[b / 4], b % 4), pixel_as_float(words[b / 4], b % 4 + 1));
#pragma unroll
      for (int half = 0; half < 2; ++half)
        reinterpret_cast<uint4 *>(to)[half] = reinterpret_cast<const uint4 *>(pairs)[half];
    }
  }
};

// Add a slice's products of a step to a warp's sums. `converted` has the step's pixels, and `right` (DEPTH, PITCH).
template <bool along_k>
__device__ __forceinline__ void multiply_add(double (&sums)[ROW_FRAGMENTS][COLUMN_FRAGMENTS][4], const void *converted,
                                             const double *right, int slice, int first_row) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int p = slice * SLICE_DEPTH; p < (slice + 1) * SLICE_DEPTH; p += 4) {
    const double *left = static_cast<const double *>(converted) + (p + t) * ROW_PITCH + first_row + g;
    double a[ROW_FRAGMENTS][2], b[COLUMN_FRAGMENTS][1];
#pragma unroll
    for (int f = 0; f < 2 * ROW_FRAGMENTS; ++f) a[f / 2][f % 2] = left[f * 8];
#pragma unroll
    for (int j = 0; j < COLUMN_FRAGMENTS; ++j) b[j][0] = right[(p + t) * PITCH + j * 8 + g];
#pragma unroll
    for (int f = 0; f < ROW_FRAGMENTS; ++f)
#pragma unroll
      for (int j = 0; j < COLUMN_FRAGMENTS; ++j) mma(sums[f][j], a[f], b[j]);
  }
}

template <bool along_k>
__device__ __forceinline__ void multiply_add(float (&sums)[ROW_FRAGMENTS][COLUMN_FRAGMENTS][4], const void *converted,
                                             const float *right, int slice, int first_row) {
  const int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, p = slice * SLICE_DEPTH;
  // A lane passes the address of row `lane` % 8 of matrix `lane` / 8; matrices 1 and 3 are 8 rows of the operand below 0
  // and 2, and 2 and 3 are 8 terms after 0 and 1.
  const int matrix_row = first_row + lane / 8 % 2 * 8, matrix_term = p + lane / 16 * 8;
  const unsigned short *left = static_cast<const unsigned short *>(converted);
  unsigned a[ROW_FRAGMENTS][4];
#pragma unroll
  for (int f = 0; f < ROW_FRAGMENTS; ++f)
    if constexpr (along_k) load_matrices(a[f], left + (matrix_row + f * 16 + lane % 8) * DEPTH_PITCH + matrix_term);
    else load_transposed(a[f], left + (matrix_term + lane % 8) * ROW_PITCH + matrix_row + f * 16);
#pragma unroll
  for (int j = 0; j < COLUMN_FRAGMENTS; ++j) {
    const float *from = right + (p + 2 * t) * PITCH + j * 8 + g;
    float rest[4] = {from[0], from[PITCH], from[8 * PITCH], from[9 * PITCH]};
    unsigned parts[3][2];  // from the largest to the smallest
#pragma unroll
    for (int part = 0; part < 3; ++part)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        parts[part][h] = upper_halves(rest[2 * h], rest[2 * h + 1]);
        rest[2 * h] -= __int_as_float(parts[part][h] << 16);
        rest[2 * h + 1] -= __int_as_float(parts[part][h] & 0xffff0000);
      }
#pragma unroll
    for (int part = 2; part >= 0; --part)
#pragma unroll
      for (int f = 0; f < ROW_FRAGMENTS; ++f) mma_packed<Math::bfloat16>(sums[f][j], a[f], parts[part]);
  }
}

// A tile of a product: call epilogue(i, j, the sum of left (i, p) right (p, j) over p < count) for its elements.
template <bool along_k, class Epilogue>
__device__ __forceinline__ void multiply_images(ImageOperand<along_k> left, RightOperand right, int count,
                                                Epilogue epilogue) {
  REAL *const right_stages = reinterpret_cast<REAL *>(memory);
  unsigned char *const pixel_stages = reinterpret_cast<unsigned char *>(right_stages + STAGES * RIGHT_SIZE);
  unsigned char *const converted = pixel_stages + STAGES * BM * DEPTH;
  const int warp = threadIdx.x / WARP, slice = warp / ROW_WARPS, first_row = warp % ROW_WARPS * WARP_ROWS;
  const auto start = [&](int step) {
    if (const int first = step * DEPTH, stage = step % STAGES; first < count) {
      left.start(pixel_stages + stage * BM * DEPTH, first);
      right.start(right_stages + stage * RIGHT_SIZE, first, count);
    }
    commit_copies();
  };
  for (int step = 0; step < STAGES - 1; ++step) start(step);
  Sums sums = {};
  for (int step = 0; step * DEPTH < count; ++step) {
    wait_for_groups<STAGES - 2>();
    unsigned char *const step_pixels = converted + step % 2 * LEFT_SIZE * PIXEL_BYTES;
    left.convert(pixel_stages + step % STAGES * BM * DEPTH, step_pixels);
    // The step's operands are complete, and those of the step before are read: they are replaced next.
    __syncthreads();
    start(step + STAGES - 1);
    multiply_add<along_k>(sums, step_pixels, right_stages + step % STAGES * RIGHT_SIZE, slice, first_row);
  }
  wait_for_copies();
  __syncthreads();  // all operands are read: the slices' sums (SLICES, BM, BN) replace them
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int f = 0; f < ROW_FRAGMENTS; ++f)
#pragma unroll
    for (int j = 0; j < COLUMN_FRAGMENTS; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = first_row + f * 16 + e / 2 * 8 + g, column = j * 8 + t * 2 + e % 2;
        right_stages[(slice * BM + row) * BN + column] = sums[f][j][e];
      }
  __syncthreads();  // the sums of all slices are written
#pragma unroll 2
  for (int e = threadIdx.x; e < BM * BN; e += THREADS) {
    REAL sum = 0;
#pragma unroll
    for (int s = 0; s < SLICES; ++s) sum += right_stages[s * BM * BN + e];
    epilogue(e / BN, e % BN, sum);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    forward_images(const unsigned char *pixels, const long long *order, const REAL *weights, const REAL *bias,
                   REAL *activations, int rows, int fan_out, int is_relu) {
  const int top = blockIdx.y * BM, first = blockIdx.x * BN;
  const ImageOperand<true> left(pixels, order, top, rows);
  const RightOperand right = {weights + first, fan_out, fan_out - first};
  multiply_images(left, right, PIXELS, store_activations(activations, bias, top, first, rows, fan_out, 255, is_relu));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    update(const Layer *layers, int count, const unsigned char *pixels, const long long *order, const REAL *losses,
           REAL *loss, int rows) {
  update_layers<BM, BN>(layers, count, losses, loss, rows,
                        [&](int top, int first, const REAL *deltas, int fan_out, auto epilogue) {
                          const ImageOperand<false> left(pixels, order, top, rows);
                          const RightOperand right = {deltas + first, fan_out, fan_out - first};
                          multiply_images(left, right, rows, epilogue);
                        });
}
