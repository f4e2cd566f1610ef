// The projection of latents on tensor cores, in TF32, with bias and activation: k is so small that storing the product
// dominates. A warp has its WARP_COLUMNS of the weights in registers, and a block computes ROWS images at once, while
// the latents of the next ones are copied to shared memory. A lane's eight sums of a row are contiguous.
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
constexpr int ROWS = 32, WARP_COLUMNS = 32, THREADS = 128, COLUMNS = THREADS / 32 * WARP_COLUMNS, AT_ONCE = 3;
constexpr int STEPS = (LATENT + 7) / 8, ACROSS = 2 * STEPS;  // vectors of a row of latents in shared memory

static_assert(LATENT % 4 == 0, "A latent must be whole vectors.");
static_assert(8 * STEPS % 32 == 8, "Four rows of latents must lie in different banks.");

using Numbers = AlignedVector<float, 4>;

// Start to copy ROWS of latents (images, LATENT) from `first` on to (ROWS, ACROSS), vectors: zeros after the last
// latent and after each latent's elements.
__device__ __forceinline__ void load_latents(Numbers (&to)[ROWS][ACROSS], const float *latents, int first, int images) {
  for (int e = threadIdx.x; e < ROWS * ACROSS; e += THREADS) {
    const int row = e / ACROSS, at = e % ACROSS, image = first + row;
    copy_async<16>(&to[row][at], latents + size_t(image) * LATENT + at * 4, image < images && at < LATENT / 4);
  }
  commit_copies();
}

// out (images, columns) = activation(latents (images, LATENT) weights (LATENT, columns) + bias) for whole COLUMNS.
//
// With g = lane / 4 and t = lane % 4, elements (., t) and (., t + 4) of mma() in step s are those at 8 s + 2 t and
// 8 s + 2 t + 1, and column g of product j is 4 g + j, so that a lane loads and stores neighbours.
template <class As>
__device__ __forceinline__ void project(const float *latents, const float *weights, const float *bias,
                                        typename As::Type *out, int images, int columns, int activation) {
  using Out = typename As::Type;
  constexpr int V = 16 / sizeof(Out);
  __shared__ Numbers staged[2][ROWS][ACROSS];
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int column = blockIdx.x * COLUMNS + threadIdx.x / 32 * WARP_COLUMNS;
  wait_for_previous_kernel();
  launch_dependents();
  int first = blockIdx.y * ROWS, turn = 0;
  load_latents(staged[turn], latents, first, images);

  float of_weights[STEPS][4][2];
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int at = 8 * step + 2 * t + h;
      Numbers numbers = {};
      if (at < LATENT) numbers = *reinterpret_cast<const Numbers *>(weights + size_t(at) * columns + column + 4 * g);
#pragma unroll
      for (int j = 0; j < 4; ++j) of_weights[step][j][h] = to_mma_operand(numbers.value[j]);
    }
  Numbers of_bias[2];
  for (int h = 0; h < 2; ++h) of_bias[h] = *reinterpret_cast<const Numbers *>(bias + column + 8 * t + 4 * h);

  for (const int step = gridDim.y * ROWS; first < images; first += step, turn ^= 1) {
    if (first + step < images)
      load_latents(staged[turn ^ 1], latents, first + step, images);
    else
      commit_copies();  // an empty group, so that the number of pending groups stays the same
    wait_for_groups<1>();
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < ROWS; i += 16) {
      float sums[4][4];  // by product, in the layout of mma()
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[j][e] = of_bias[e % 2].value[j];
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        float of_latents[4];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float *const pair = &staged[turn][i + h * 8 + g][2 * step + t / 2].value[t % 2 * 2];
          const float2 values = *reinterpret_cast<const float2 *>(pair);
          of_latents[h] = to_mma_operand(values.x), of_latents[2 + h] = to_mma_operand(values.y);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) mma(sums[j], of_latents, of_weights[step][j]);
      }
      activate<16, true>(&sums[0][0], activation);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = first + i + h * 8 + g;
        if (row >= images) continue;
        Out *const to = out + size_t(row) * columns + column + 8 * t;
#pragma unroll
        for (int at = 0; at < 8; at += V) {
          AlignedVector<Out, V> neighbours;
#pragma unroll
          for (int v = 0; v < V; ++v) neighbours.value[v] = As::convert(sums[(at + v) % 4][(at + v) / 4 + 2 * h]);
          *reinterpret_cast<AlignedVector<Out, V> *>(to + at) = neighbours;
        }
      }
    }
    __syncthreads();  // the latents have been read
  }
}

// A kernel of project().
#define PROJECT(name, As)                                                                                    \
  extern "C" __global__ void __launch_bounds__(THREADS, AT_ONCE)                                             \
  name(const float *latents, const float *weights, const float *bias, As::Type *out, int images, int columns, \
       int activation) {                                                                                     \
    project<As>(latents, weights, bias, out, images, columns, activation);                                   \
  }
