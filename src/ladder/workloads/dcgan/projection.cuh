// The projection of latents on tensor cores, in TF32, with bias and activation. The inner dimension, LATENT, is so
// small that storing the product dominates. A warp keeps WARP_COLUMNS columns of the weights in registers. A block
// computes ROWS images while the next ROWS latents are copied to shared memory. The eight sums that a lane has of a
// row are contiguous.
//
// Launch: grid (columns / COLUMNS, any), block THREADS, no dynamic shared memory.
#pragma once
#include "activation.cuh"
#include "ptx/arithmetic.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/mma.cuh"
#include "ptx/programmatic_launch.cuh"
#include "output_types.cuh"

constexpr int LATENT = 100;  // as in layout.py
constexpr int ROWS = 32, WARP_COLUMNS = 32, THREADS = 128, COLUMNS = THREADS / 32 * WARP_COLUMNS;
constexpr int RESIDENT_BLOCKS = 3;         // per multiprocessor
constexpr int STEPS = (LATENT + 7) / 8;    // of mma() along a latent
constexpr int LATENT_VECTORS = 2 * STEPS;  // of a latent in shared memory

static_assert(LATENT % 4 == 0, "A latent must have whole vectors.");
static_assert(8 * STEPS % 32 == 8, "Four rows of latents must lie in different banks.");

using Vector = AlignedVector<float, 4>;

// Start to copy ROWS of latents (images, LATENT), from image `first` on, to buffer (ROWS, LATENT_VECTORS), with zeros
// after the last latent and after each latent's elements.
__device__ __forceinline__ void load_latents(Vector (&buffer)[ROWS][LATENT_VECTORS], const float *latents, int first,
                                             int images) {
  for (int e = threadIdx.x; e < ROWS * LATENT_VECTORS; e += THREADS) {
    const int row = e / LATENT_VECTORS, v = e % LATENT_VECTORS, image = first + row;
    copy_async<16>(&buffer[row][v], latents + size_t(image) * LATENT + v * 4, image < images && v < LATENT / 4);
  }
  commit_copies();
}

// out (images, columns) = activation(latents (images, LATENT) weights (LATENT, columns) + bias (columns)), where
// COLUMNS divides columns.
//
// With g = lane / 4 and t = lane % 4, elements t and t + 4 of a row of mma() in step s are the latent's elements
// 8 s + 2 t and 8 s + 2 t + 1. Column g of product j is the warp's column 4 g + j. So a lane's elements are
// neighbours in memory.
template <class Format>
__device__ __forceinline__ void project(const float *latents, const float *weights, const float *bias,
                                        typename Format::Type *out, int images, int columns, int activation) {
  using Out = typename Format::Type;
  constexpr int V = 16 / sizeof(Out);
  __shared__ Vector latent_buffers[2][ROWS][LATENT_VECTORS];
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int column = blockIdx.x * COLUMNS + threadIdx.x / 32 * WARP_COLUMNS;
  wait_for_previous_kernel();
  launch_dependents();
  int first = blockIdx.y * ROWS, buffer = 0;
  load_latents(latent_buffers[buffer], latents, first, images);

  float weight_fragments[STEPS][4][2];
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 8 * step + 2 * t + half;
      Vector vector = {};
      if (row < LATENT) vector = *reinterpret_cast<const Vector *>(weights + size_t(row) * columns + column + 4 * g);
#pragma unroll
      for (int j = 0; j < 4; ++j) weight_fragments[step][j][half] = to_mma_operand(vector.value[j]);
    }
  Vector bias_vectors[2];
  for (int half = 0; half < 2; ++half)
    bias_vectors[half] = *reinterpret_cast<const Vector *>(bias + column + 8 * t + 4 * half);

  for (const int stride = gridDim.y * ROWS; first < images; first += stride, buffer ^= 1) {
    if (first + stride < images)
      load_latents(latent_buffers[buffer ^ 1], latents, first + stride, images);
    else
      commit_copies();  // an empty group, so that wait_for_groups<1>() below waits for the group before
    wait_for_groups<1>();
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < ROWS; i += 16) {
      float sums[4][4];  // of each product j, in the layout of mma()
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[j][e] = bias_vectors[e % 2].value[j];
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        float latent_fragments[4];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float *const pair = &latent_buffers[buffer][i + half * 8 + g][2 * step + t / 2].value[t % 2 * 2];
          const float2 values = *reinterpret_cast<const float2 *>(pair);
          latent_fragments[half] = to_mma_operand(values.x), latent_fragments[2 + half] = to_mma_operand(values.y);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) mma(sums[j], latent_fragments, weight_fragments[step][j]);
      }
      activate<16, true>(&sums[0][0], activation);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first + i + half * 8 + g;
        if (row >= images) continue;
        Out *const start = out + size_t(row) * columns + column + 8 * t;
#pragma unroll
        for (int offset = 0; offset < 8; offset += V) {
          AlignedVector<Out, V> neighbours;
#pragma unroll
          for (int v = 0; v < V; ++v)
            neighbours.value[v] = Format::convert(sums[(offset + v) % 4][(offset + v) / 4 + 2 * half]);
          *reinterpret_cast<AlignedVector<Out, V> *>(start + offset) = neighbours;
        }
      }
    }
    __syncthreads();  // the latents have been read
  }
}

// A kernel that calls project().
#define PROJECT(name, Format)                                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS)                                          \
  name(const float *latents, const float *weights, const float *bias, Format::Type *out, int images, int columns, \
       int activation) {                                                                                          \
    project<Format>(latents, weights, bias, out, images, columns, activation);                                    \
  }
