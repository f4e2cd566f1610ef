// A transposed convolution as products whose gathered matrix is never written. A block works on many images at one
// place of the result, so that all its rows sum over the same pixels and rows of the filter: those that exist, and no
// zero. What is a row of a matrix is an image's channels at one pixel, and the next row is the next image's.
//
// PARITIES says how many parities of the result's rows and columns are columns of one product:
//   1  those of one place (2 p + y, 2 q + x); the filter is packed (25, k);
//   4  those of the four places around pixel (p, q), where output channels are few; the filter is packed (9, 4 k), with
//      zeros where a pixel isn't hit.
#pragma once
#include "activation.cuh"

static_assert(PARITIES == 1 || PARITIES == 4, "PARITIES must be 1 or 4.");

constexpr int TAPS = 5;

// The rows (or columns) of the image that one row (or column) of the result takes, from `first` to before `end`.
struct Span {
  int at, parity, first, end;
  __device__ __forceinline__ Span(int at, int parity, int h) : at(at), parity(parity) {
    first = at > 0 ? at - 1 : 0;
    end = min(PARITIES == 1 && parity == 0 ? at + 1 : at + 2, h);
  }
  // The filter's row for a row of the image.
  __device__ __forceinline__ int tap(int row) const {
    return PARITIES == 4 ? row - at + 1 : 2 * (at - row) + parity + 1;
  }
  __device__ __forceinline__ int count() const { return end - first; }
};

// A place of the result by its number among those of an image: those with most to sum first, so that the last blocks of a
// grid are short.
struct Site {
  static constexpr int PLACES = PARITIES == 1 ? 4 : 1;  // around a pixel
  Span y, x;
  __device__ __forceinline__ Site(int number, int h)
      : y(number % (h * h) / h, (PLACES - 1 - number / (h * h)) / 2, h),
        x(number % h, (PLACES - 1 - number / (h * h)) % 2, h) {}
  // The row of the packed filter for a pixel.
  __device__ __forceinline__ int tap(int row, int column) const {
    return y.tap(row) * (PARITIES == 4 ? 3 : TAPS) + x.tap(column);
  }
  // Where the first column of a product goes, in pixels of the result.
  __device__ __forceinline__ size_t pixel(size_t image, int h) const {
    return (image * 2 * h + 2 * y.at + y.parity) * 2 * h + 2 * x.at + x.parity;
  }
};

// The steps of a sum: pixel by pixel, `depth` channels at a time.
template <int depth>
struct Walk {
  const Site &site;
  const int c;
  int row, column, channel = 0;
  __device__ __forceinline__ Walk(const Site &site, int c) : site(site), c(c), row(site.y.first), column(site.x.first) {}
  __device__ __forceinline__ int steps() const { return site.y.count() * site.x.count() * ((c - 1) / depth + 1); }
  __device__ __forceinline__ void next() {
    if ((channel += depth) < c) return;
    channel = 0;
    if (++column < site.x.end) return;
    column = site.x.first, ++row;
  }
};

// Of a column of the product, its output channel, and how far from the first one it is written where pixels have
// `width` channels.
__device__ __forceinline__ int channel_of(int column, int k) { return PARITIES == 4 ? column % k : column; }

__device__ __forceinline__ int offset_of(int column, int h, int k, int width) {
  if (PARITIES != 4) return column;
  const int place = column / k;
  return (place / 2 * 2 * h + place % 2) * width + column % k;
}
