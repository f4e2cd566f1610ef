// The first layer's products for some of its units, on tensor cores in integers: the pixels are bytes, the other
// operand is in digits (digits.cuh). BLOCK is the number of threads of a block, and GROUPS that of groups of four
// units; both are macros.
//
// Operands B of mma() are read from planes in shared memory, a plane per column: eight columns form a tile, and a group
// has TILES of them. Columns 2 t and 2 t + 1 of tile j of group q are the digits 2 j and 2 j + 1 of unit 4 q + t, so
// that a lane receives all digits of the sums of one unit, t = lane % 4, of every group.
#pragma once
#include "digits.cuh"
#include "ptx/mma.cuh"
#include "warp.cuh"

constexpr int WARPS = BLOCK / WARP, UNITS = 4 * GROUPS;  // the largest number of units of a block
constexpr int PIXELS = 784, ROW = PIXELS / 4;            // of an image; a row of it in words of four bytes
constexpr int TILES = SLICES / 2, PLANES = GROUPS * TILES * 8;
constexpr int DEPTH = 32;                                // of an mma()
constexpr int STEPS = (PIXELS + DEPTH - 1) / DEPTH;      // the last half is outside of the image: its weights are 0
// The words of a plane of weights. Lanes read word lane % 4 of planes lane / 4: with 4 times an odd number as their
// distance these are in 32 different banks. The distance of planes of deltas is such a number, too.
constexpr int WEIGHT_PLANE = STEPS * DEPTH / 4 + 4;
constexpr int SPANS = (STEPS + WARPS - 1) / WARPS;  // of 32 pixels, for whose weights a warp is responsible

// The position, in steps of 32 rows, of a row of deltas in its plane: lane t reads the bytes 4 t to 4 t + 3 of each
// half, which are those of rows 2 t, 2 t + 1, 2 t + 8 and 2 t + 9. With these rows, four lanes read words of images in
// different banks.
__device__ __forceinline__ int delta_position(int row) {
  return row / 16 * 16 + row % 8 / 2 * 4 + row % 2 + row % 16 / 8 * 2;
}

// sums (2, count, units) = two parts of images (count, PIXELS) times weights (PIXELS, units), in units of `unit`: each
// part has the sums over half of the pixels. `planes` (PLANES, WEIGHT_PLANE) has the weights.
__device__ __forceinline__ void multiply_images(REAL *sums, const unsigned *images, const unsigned *planes, int count,
                                                int units, REAL unit) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  const int tiles = (count + 15) / 16;
  for (int item = warp; item < 2 * tiles; item += WARPS) {
    const int part = item % 2, row = item / 2 * 16 + g;
    const unsigned *a = images + min(row, count - 1) * ROW + t, *b = images + min(row + 8, count - 1) * ROW + t;
    const unsigned *weights = planes + g * WEIGHT_PLANE + t;
    int digits[GROUPS * TILES][4] = {};
    const int middle = (STEPS + 1) / 2;
#pragma unroll 4
    for (int step = part ? middle : 0; step < (part ? STEPS : middle); ++step) {
      const unsigned left[4] = {a[8 * step], b[8 * step], a[8 * step + 4], b[8 * step + 4]};
#pragma unroll
      for (int j = 0; j < GROUPS * TILES; ++j) {
        const unsigned *word = weights + j * 8 * WEIGHT_PLANE + 8 * step, right[2] = {word[0], word[4]};
        mma(digits[j], left, right);
      }
    }
#pragma unroll
    for (int group = 0; group < GROUPS; ++group)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int all[SLICES];
#pragma unroll
        for (int s = 0; s < SLICES; ++s) all[s] = digits[group * TILES + s / 2][2 * half + s % 2];
        const int unit_index = 4 * group + t, to = row + 8 * half;
        if (to < count && unit_index < units) sums[(part * count + to) * units + unit_index] = from_digits(all) * unit;
      }
  }
}

// Call function(span, group, i) for every weight of a thread.
template <class Function>
__device__ __forceinline__ void for_each_weight(Function function) {
#pragma unroll
  for (int span = 0; span < SPANS; ++span)
#pragma unroll
    for (int group = 0; group < GROUPS; ++group)
#pragma unroll
      for (int i = 0; i < 4; ++i) function(span, group, i);
}

// This thread's share of the weights (PIXELS, units): those of its unit of each group, for four adjacent pixels of each
// span of 32; 0 outside.
struct Weights {
  REAL values[SPANS][GROUPS][4];

  // The first of the thread's four pixels of a span; PIXELS or more if the span is outside of the image.
  __device__ __forceinline__ static int first_pixel(int span) {
    return (threadIdx.x / WARP + span * WARPS) * 32 + threadIdx.x % WARP / 4 * 4;
  }

  // Call function(value, pixel, unit) for every weight of this thread.
  template <class Function>
  __device__ __forceinline__ void for_each(int units, Function function) {
    for_each_weight([&](int span, int group, int i) {
      const int pixel = first_pixel(span) + i, unit = 4 * group + threadIdx.x % 4;
      if (pixel < PIXELS && unit < units) function(values[span][group][i], pixel, unit);
    });
  }

  // The largest magnitude_bits() of the thread's weights.
  __device__ __forceinline__ unsigned magnitude() const {
    unsigned largest = 0;
    for_each_weight([&](int span, int group, int i) {
      largest = max(largest, magnitude_bits(values[span][group][i]));
    });
    return largest;
  }

  // Write the digits of the thread's weights times `scale` to planes (PLANES, WEIGHT_PLANE).
  __device__ __forceinline__ void write(unsigned *planes, REAL scale) const {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int span = 0; span < SPANS; ++span)
      if (const int pixel = first_pixel(span); pixel < STEPS * DEPTH)
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
          unsigned digits[4][SLICES / 4];
#pragma unroll
          for (int i = 0; i < 4; ++i) to_digits(digits[i], values[span][group][i], scale);
#pragma unroll
          for (int part = 0; part < SLICES / 4; ++part) {
            const unsigned words[4] = {digits[0][part], digits[1][part], digits[2][part], digits[3][part]};
            unsigned slices[4];
            transpose_bytes(slices, words);
#pragma unroll
            for (int s = 0; s < 4; ++s) {
              const int slice = 4 * part + s, plane = (group * TILES + slice / 2) * 8 + 2 * t + slice % 2;
              planes[plane * WEIGHT_PLANE + pixel / 4] = slices[s];
            }
          }
        }
  }
};

// The sums of pixels times deltas over rows, in digits, for the weights of this thread.
struct Gradient {
  int sums[SPANS][2][GROUPS * TILES][4] = {};

  // Add images (count, PIXELS) transposed times the deltas in planes (PLANES, distance).
  __device__ __forceinline__ void add(const unsigned *images, const unsigned *planes, int distance, int count) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    for (int first = 0; first < count; first += DEPTH) {
      unsigned right[GROUPS * TILES][2];
#pragma unroll
      for (int j = 0; j < GROUPS * TILES; ++j) {
        const unsigned *word = planes + (j * 8 + g) * distance + first / 4 + t;
        right[j][0] = word[0], right[j][1] = word[4];
      }
      const unsigned *rows[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int row = first + 16 * half + 2 * t + j % 2 + j / 2 * 8;  // beyond `count`, the deltas are 0
          rows[half][j] = images + min(row, count - 1) * ROW + g;
        }
#pragma unroll
      for (int span = 0; span < SPANS; ++span)
        if (const int step = warp + span * WARPS; step < STEPS) {
          unsigned columns[2][4];
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const unsigned words[4] = {rows[half][0][8 * step], rows[half][1][8 * step], rows[half][2][8 * step],
                                       rows[half][3][8 * step]};
            transpose_bytes(columns[half], words);
          }
#pragma unroll
          for (int pair = 0; pair < 2; ++pair) {
            const unsigned left[4] = {columns[0][2 * pair], columns[0][2 * pair + 1], columns[1][2 * pair],
                                      columns[1][2 * pair + 1]};
#pragma unroll
            for (int j = 0; j < GROUPS * TILES; ++j) mma(sums[span][pair][j], left, right[j]);
          }
        }
    }
  }

  // Add the sums, in units of `unit_value`, to the block's weights; beyond the block's units they are 0.
  __device__ __forceinline__ void update(Weights &weights, REAL unit_value) const {
    for_each_weight([&](int span, int group, int i) {
      int digits[SLICES];
#pragma unroll
      for (int s = 0; s < SLICES; ++s) digits[s] = sums[span][i / 2][group * TILES + s / 2][i % 2 * 2 + s % 2];
      if (Weights::first_pixel(span) + i < PIXELS) weights.values[span][group][i] += from_digits(digits) * unit_value;
    });
  }
};
