// A transposed convolution as products whose gathered matrix is never written. A block works on many images at one
// place of the result, so that all its rows sum over the same pixels and rows of the filter: those that exist, and no
// zero. What is a row of a matrix is an image's channels at one pixel, and the next row is the next image's.
//
// PARITIES says how many parities of the result's rows and columns are columns of one product:
//   1  those of one place (2 p + y, 2 q + x); the filter is packed (25, k);
//   2  those of two places side by side, which share most of their pixels; the filter is packed (15, 2 k);
//   4  those of the four places around pixel (p, q), where output channels are few; the filter is packed (9, 4 k).
// Where a place isn't hit by a pixel, the packed filter has zeros.
#pragma once
#include "activation.cuh"
#include "columns.cuh"

constexpr int TAPS = 5;

// The rows (or columns) of the image that one row (or column) of the result takes, from `first` to before `end`; with
// `both`, one of each parity.
template <bool both>
struct Span {
  int at, parity, first, end;
  __device__ __forceinline__ Span(int at, int parity, int h) : at(at), parity(parity) {
    first = at > 0 ? at - 1 : 0;
    end = min(!both && parity == 0 ? at + 1 : at + 2, h);
  }
  // The packed filter's row for a row of the image.
  __device__ __forceinline__ int tap(int row) const { return both ? row - at + 1 : 2 * (at - row) + parity + 1; }
  __device__ __forceinline__ int count() const { return end - first; }
};

// A pixel by its number among h x h, along the sides of squares that grow; the first row and column come last, and the
// last ones before these, since the places around them have least to sum.
struct Pixel {
  int y, x;
  __device__ __forceinline__ Pixel(int number, int h) {
    const int side = sqrtf(number), left = number - side * side;
    y = ((left <= side ? side : left - side - 1) + 1) % h;
    x = ((left <= side ? left : side) + 1) % h;
  }
};

// A place of the result by its number among those of an image: those with most to sum first, so that the last blocks of
// a grid are short.
struct Site {
  static constexpr int PLACES = 4 / PARITIES;  // around a pixel
  Span<PARITIES == 4> y;
  Span<PARITIES != 1> x;
  __device__ __forceinline__ Site(int number, int h)
      : Site(Pixel(number % (h * h), h), PLACES - 1 - number / (h * h), h) {}
  // The row of the packed filter for a pixel.
  __device__ __forceinline__ int tap(int row, int column) const {
    return y.tap(row) * (PARITIES == 1 ? TAPS : 3) + x.tap(column);
  }
  // Where the first column of a product goes, in pixels of the result.
  __device__ __forceinline__ size_t pixel(size_t image, int h) const {
    return (image * 2 * h + 2 * y.at + y.parity) * 2 * h + 2 * x.at + x.parity;
  }

 private:
  __device__ __forceinline__ Site(Pixel pixel, int place, int h)
      : y(pixel.y, PARITIES == 1 ? place / 2 : place, h), x(pixel.x, PARITIES == 1 ? place % 2 : 0, h) {}
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
