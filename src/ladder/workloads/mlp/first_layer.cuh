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
constexpr int PIXELS = 784, IMAGE_WORDS = PIXELS / 4;    // of an image; its words of four bytes
constexpr int TILES = DIGITS / 2, PLANES = GROUPS * TILES * 8;
constexpr int DEPTH = 32;                                // of an mma()
constexpr int STEPS = (PIXELS + DEPTH - 1) / DEPTH;      // half of the last one is outside of the image: weights 0
// The words of a plane of weights: 4 times an odd number, so that rows of eight planes are in different banks. So are
// those of planes of deltas and of images.
constexpr int WEIGHT_PLANE_WORDS = STEPS * DEPTH / 4 + 4;
constexpr int STRIP_PIXELS = DEPTH / 2;                  // of a product of images transposed
constexpr int WARP_STRIPS = (2 * STEPS + WARPS - 1) / WARPS;  // strips for whose weights a warp is responsible

// The position, in steps of 32 rows, of a row of deltas in its plane: as load_transposed() orders rows of images, whose
// first four bytes of a lane are in rows 2 t, 2 t + 1, 2 t + 8 and 2 t + 9.
__device__ __forceinline__ int delta_position(int row) {
  return row / 16 * 16 + row % 8 / 2 * 4 + row % 2 + row % 16 / 8 * 2;
}

// Operands of the products of one step: A, and B of all tiles.
struct Operands {
  unsigned left[4], right[GROUPS * TILES][2];

  // Load operands B from planes, `plane_words` words each, where the step begins.
  __device__ __forceinline__ void load_right(const unsigned *planes, int plane_words) {
    const int lane = threadIdx.x % WARP;
    const unsigned *row = planes + (lane / 16 * 8 + lane % 8) * plane_words + lane / 8 % 2 * 4;
#pragma unroll
    for (int j = 0; j < GROUPS * TILES; j += 2) {
      unsigned words[4];
      load_matrices(words, row + j * 8 * plane_words);
      right[j][0] = words[0], right[j][1] = words[1], right[j + 1][0] = words[2], right[j + 1][1] = words[3];
    }
  }

  __device__ __forceinline__ void multiply(int (&sums)[GROUPS * TILES][4]) const {
#pragma unroll
    for (int j = 0; j < GROUPS * TILES; ++j) mma(sums[j], left, right[j]);
  }
};

// sums (2, count, UNITS) = two parts of images (count, PIXELS) times weights (PIXELS, UNITS), times `inverse_scale`;
// each part has the sums over half of the pixels. `planes` (PLANES, WEIGHT_PLANE_WORDS) has the weights.
// `overlapped_work` is called before each multiply().
template <class Function>
__device__ __forceinline__ void multiply_images(REAL *sums, const unsigned *images, const unsigned *planes, int count,
                                                REAL inverse_scale, Function overlapped_work) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  constexpr int MIDDLE = (STEPS + 1) / 2;
  for (int item = warp; item < (count + 15) / 16 * 2; item += WARPS) {
    const int part = item % 2, top = item / 2 * 16, begin = part ? MIDDLE : 0, end = part ? STEPS : MIDDLE;
    const unsigned *row = images + min(top + lane % 16, count - 1) * IMAGE_WORDS + lane / 16 * 4;
    int digits[GROUPS * TILES][4] = {};
    Operands operands[2];  // of a step and of the next one, which is loaded during the step
    const auto load = [&](Operands &to, int step) {
      load_matrices(to.left, row + 8 * step);
      to.load_right(planes + 8 * step, WEIGHT_PLANE_WORDS);
    };
    load(operands[0], begin);
#pragma unroll 2
    for (int step = begin; step < end; step += 2) {
      load(operands[1], min(step + 1, STEPS - 1));
      overlapped_work();
      operands[0].multiply(digits);
      load(operands[0], min(step + 2, STEPS - 1));
      overlapped_work();
      if (step + 1 < end) operands[1].multiply(digits);
    }
#pragma unroll
    for (int group = 0; group < GROUPS; ++group)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int unit_digits[DIGITS];
#pragma unroll
        for (int s = 0; s < DIGITS; ++s) unit_digits[s] = digits[group * TILES + s / 2][2 * half + s % 2];
        const int image = top + g + 8 * half;
        if (image < count)
          sums[(part * count + image) * UNITS + 4 * group + t] = from_digits(unit_digits) * inverse_scale;
      }
  }
}

// Call function(strip, group, i) for every weight of a thread.
template <class Function>
__device__ __forceinline__ void for_each_weight(Function function) {
#pragma unroll
  for (int strip = 0; strip < WARP_STRIPS; ++strip)
#pragma unroll
    for (int group = 0; group < GROUPS; ++group)
#pragma unroll
      for (int i = 0; i < 2; ++i) function(strip, group, i);
}

// This thread's share of the weights (PIXELS, units): those of its unit of each group, for two adjacent pixels of each
// of its warp's strips; 0 outside.
struct Weights {
  REAL values[WARP_STRIPS][GROUPS][2];

  // The first of the thread's two pixels of a strip; PIXELS or more if the strip is outside of the image.
  __device__ __forceinline__ static int first_pixel(int strip) {
    return (threadIdx.x / WARP + strip * WARPS) * STRIP_PIXELS + threadIdx.x % WARP / 4 * 2;
  }

  // Call function(value, pixel, unit) for every weight of this thread.
  template <class Function>
  __device__ __forceinline__ void for_each(int units, Function function) {
    for_each_weight([&](int strip, int group, int i) {
      const int pixel = first_pixel(strip) + i, unit = 4 * group + threadIdx.x % 4;
      if (pixel < PIXELS && unit < units) function(values[strip][group][i], pixel, unit);
    });
  }

  // The largest magnitude_bits() of the thread's weights.
  __device__ __forceinline__ unsigned magnitude() const {
    unsigned max_bits = 0;
    for_each_weight([&](int strip, int group, int i) {
      max_bits = max(max_bits, magnitude_bits(values[strip][group][i]));
    });
    return max_bits;
  }

  // Write the digits of the thread's weights times `scale` to planes (PLANES, WEIGHT_PLANE_WORDS), two pixels at once.
  __device__ __forceinline__ void write(unsigned *planes, REAL scale) const {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int strip = 0; strip < WARP_STRIPS; ++strip)
      if (const int pixel = first_pixel(strip); pixel < STEPS * DEPTH)
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
          unsigned digits[2][DIGITS / 4];
#pragma unroll
          for (int i = 0; i < 2; ++i) to_digits(digits[i], values[strip][group][i], scale);
#pragma unroll
          for (int s = 0; s < DIGITS; s += 2) {
            const unsigned digit_pairs = __byte_perm(digits[0][s / 4], digits[1][s / 4], s % 4 ? 0x7362 : 0x5140);
            unsigned short *plane = reinterpret_cast<unsigned short *>(
                planes + ((group * TILES + s / 2) * 8 + 2 * t) * WEIGHT_PLANE_WORDS);
            plane[pixel / 2] = digit_pairs, plane[2 * WEIGHT_PLANE_WORDS + pixel / 2] = digit_pairs >> 16;
          }
        }
  }
};

// The sums of pixels times deltas over rows, in digits, for the weights of this thread.
struct Gradient {
  int sums[WARP_STRIPS][GROUPS * TILES][4] = {};

  // Add images (count, PIXELS) transposed times the deltas in planes (PLANES, plane_words): of a product's 16 rows, row
  // g is pixel 2 g of the strip, and row g + 8 is pixel 2 g + 1. `overlapped_work` is called before each multiply().
  template <class Function>
  __device__ __forceinline__ void add(const unsigned *images, const unsigned *planes, int plane_words, int count,
                                      Function overlapped_work) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int first = 0; first < count; first += DEPTH) {
      Operands operands;
      operands.load_right(planes + first / 4, plane_words);
      // Beyond `count`, the deltas are 0.
      const unsigned *row = images + min(first + lane, count - 1) * IMAGE_WORDS + STRIP_PIXELS / 4 * warp;
#pragma unroll
      for (int strip = 0; strip < WARP_STRIPS; ++strip)
        if (warp + strip * WARPS < PIXELS / STRIP_PIXELS) {
          unsigned words[4];
          load_transposed(words, row + STRIP_PIXELS / 4 * WARPS * strip);
          overlapped_work();
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            operands.left[2 * half] = __byte_perm(words[2 * half], words[2 * half + 1], 0x6420);
            operands.left[2 * half + 1] = __byte_perm(words[2 * half], words[2 * half + 1], 0x7531);
          }
          operands.multiply(sums[strip]);
        }
    }
  }

  // Add the sums times `inverse_scale` to the block's weights; beyond the block's units they are 0.
  __device__ __forceinline__ void update(Weights &weights, REAL inverse_scale) const {
    for_each_weight([&](int strip, int group, int i) {
      int digits[DIGITS];
#pragma unroll
      for (int s = 0; s < DIGITS; ++s) digits[s] = sums[strip][group * TILES + s / 2][i * 2 + s % 2];
      if (Weights::first_pixel(strip) + i < PIXELS)
        weights.values[strip][group][i] += from_digits(digits) * inverse_scale;
    });
  }
};
