// The projection of latents on tensor cores, in TF32, with what follows it: a product that is hardly deep, so that
// writing it takes longest. A block keeps its COLUMNS of the weights in shared memory, and takes ROWS images at once.
//
// Launch: grid (columns / COLUMNS, any), block BLOCK, dynamic shared memory PROJECTION_MEMORY.
#pragma once
#include "activation.cuh"
#include "ptx.cuh"

constexpr int LATENT = 100;  // as in layout.py
constexpr int ROWS = 128, COLUMNS = 64, STEPS = (LATENT + 7) / 8, DEPTH = 8 * STEPS;
// Rows in shared memory, in numbers: what a warp reads at once lies in different banks.
constexpr int LATENT_ROW = DEPTH + 4, WEIGHT_ROW = COLUMNS + 8;
constexpr int PROJECTION_MEMORY = sizeof(float) * (ROWS * LATENT_ROW + DEPTH * WEIGHT_ROW);
constexpr int WARP_ROWS = 32, WARP_COLUMNS = 32, WARPS_ACROSS = COLUMNS / WARP_COLUMNS;

static_assert(LATENT % 4 == 0, "A latent must be whole vectors.");
static_assert(BLOCK == 32 * (ROWS / WARP_ROWS) * WARPS_ACROSS, "A block must have a warp for each part of it.");
static_assert(PROJECTION_MEMORY == 85248, "As in card.py.");

extern __shared__ __align__(16) Vector<float, 4> memory[];

// Copy a matrix (rows, columns) to shared memory, rounded to TF32, zeros behind its last row or column. Each thread
// waits for its own numbers only.
template <int rows, int columns, int row_there>
__device__ __forceinline__ void load_rounded(float *to, const float *from, size_t stride, int rows_left,
                                             int columns_left) {
  for (int e = threadIdx.x * 4; e < rows * columns; e += BLOCK * 4) {
    const int row = e / columns, at = e % columns;
    copy<16>(to + row * row_there + at, reinterpret_cast<const REAL *>(from + row * stride + at),
             row < rows_left && at < columns_left);
  }
  wait_for_copies();
  for (int e = threadIdx.x * 4; e < rows * columns; e += BLOCK * 4) {
    auto &own = *reinterpret_cast<Vector<float, 4> *>(to + e / columns * row_there + e % columns);
#pragma unroll
    for (int v = 0; v < 4; ++v) own.of[v] = rounded(own.of[v]);
  }
}

// out (images, columns) = activation(latents (images, LATENT) weights (LATENT, columns) + bias) for whole COLUMNS.
template <class As>
__device__ __forceinline__ void project(const float *__restrict__ latents, const float *__restrict__ weights,
                                        const float *__restrict__ bias, typename As::Type *__restrict__ out,
                                        int images, int columns, int activation) {
  using Out = typename As::Type;
  struct alignas(2 * sizeof(Out)) Pair {
    Out x, y;
  };
  float *const own_latents = reinterpret_cast<float *>(memory), *const own_weights = own_latents + ROWS * LATENT_ROW;
  const int column = blockIdx.x * COLUMNS, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_ACROSS * WARP_ROWS, warp_column = warp % WARPS_ACROSS * WARP_COLUMNS;
  load_rounded<DEPTH, COLUMNS, WEIGHT_ROW>(own_weights, weights + column, columns, LATENT, COLUMNS);
  for (int first = blockIdx.y * ROWS; first < images; first += gridDim.y * ROWS) {
    const float *const some = latents + size_t(first) * LATENT;
    load_rounded<ROWS, DEPTH, LATENT_ROW>(own_latents, some, LATENT, images - first, LATENT);
    __syncthreads();
    float sums[WARP_ROWS / 16][WARP_COLUMNS / 8][4] = {};
#pragma unroll 2
    for (int step = 0; step < STEPS; ++step) {
      float of_latents[WARP_ROWS / 16][4];
#pragma unroll
      for (int i = 0; i < WARP_ROWS / 16; ++i)
#pragma unroll
        for (int h = 0; h < 4; ++h) {
          const int row = warp_row + i * 16 + h % 2 * 8 + g, at = step * 8 + h / 2 * 4 + t;
          of_latents[i][h] = own_latents[row * LATENT_ROW + at];
        }
#pragma unroll
      for (int j = 0; j < WARP_COLUMNS / 8; ++j) {
        const float *const from = own_weights + (step * 8 + t) * WEIGHT_ROW + warp_column + j * 8 + g;
        const float of_weights[2] = {from[0], from[4 * WEIGHT_ROW]};
#pragma unroll
        for (int i = 0; i < WARP_ROWS / 16; ++i) mma(sums[i][j], of_latents[i], of_weights);
      }
    }
    const int own = column + warp_column + t * 2;
#pragma unroll
    for (int j = 0; j < WARP_COLUMNS / 8; ++j)
#pragma unroll
      for (int i = 0; i < WARP_ROWS / 16; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][j][e] += bias[own + j * 8 + e % 2];
    activate<WARP_ROWS / 16 * WARP_COLUMNS / 8 * 4, true>(&sums[0][0][0], activation);
#pragma unroll
    for (int i = 0; i < WARP_ROWS / 8; ++i) {
      const int row = first + warp_row + i * 8 + g;
      if (row >= images) continue;
#pragma unroll
      for (int j = 0; j < WARP_COLUMNS / 8; ++j) {
        const Pair pair = {As::of(sums[i / 2][j][i % 2 * 2]), As::of(sums[i / 2][j][i % 2 * 2 + 1])};
        *reinterpret_cast<Pair *>(out + size_t(row) * columns + own + j * 8) = pair;
      }
    }
    __syncthreads();  // the latents have been read
  }
}

#define PROJECT(name, As)                                                                                              \
  extern "C" __global__ void __launch_bounds__(BLOCK, 2)                                                               \
  name(const float *__restrict__ latents, const float *__restrict__ weights, const float *__restrict__ bias,           \
       As::Type *__restrict__ out, int images, int columns, int activation) {                                          \
    project<As>(latents, weights, bias, out, images, columns, activation);                                             \
  }
