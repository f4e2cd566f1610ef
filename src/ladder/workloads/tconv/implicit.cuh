// A transposed convolution as implicit products, whose gathered matrix is never stored. A block computes one element
// position of the result for many images, so that all its rows sum over the same existing pixels and taps, and no zero
// is multiplied. A row of the matrix is an image's channels at one pixel, and the next row is that of the next image.
//
// PARITIES is the number of neighbouring elements of the result whose channels are the columns of one product:
//   1  one element (2 p + y, 2 q + x); the filter is packed (25, k);
//   2  two elements side by side, which share most of their pixels; the filter is packed (15, 2 k);
//   4  the four elements around pixel (p, q), for few output channels; the filter is packed (9, 4 k).
// The packed filter has zeros where a pixel doesn't contribute to an element.
#pragma once

constexpr int TAPS = 5;

// The range of rows (or columns) of the image, `first` to `end` - 1, that contribute to one row (or column) of the
// result; with `both`, to one of each parity.
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

// A pixel by its number among h x h, ordered along the sides of growing squares; the first row and column are last, and
// the last row and column before these, since their elements have the shortest sums. With h = 3 the order of (y, x) is
// (1, 1), (2, 1), (2, 2), (1, 2), (0, 1), (0, 2), (0, 0), (1, 0), (2, 0).
struct Pixel {
  int y, x;
  __device__ __forceinline__ Pixel(int number, int h) {
    const int side = sqrtf(number), left = number - side * side;
    y = ((left <= side ? side : left - side - 1) + 1) % h;
    x = ((left <= side ? left : side) + 1) % h;
  }
};

// An element position of the result by its number: those with the longest sums first, so that the last blocks of a grid
// are short.
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
  // The pixel of the result that the first column of a product belongs to.
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
  __device__ __forceinline__ Walk(const Site &site, int c)
      : site(site), c(c), row(site.y.first), column(site.x.first) {}
  __device__ __forceinline__ int steps() const { return site.y.count() * site.x.count() * ((c - 1) / depth + 1); }
  __device__ __forceinline__ void next() {
    if ((channel += depth) < c) return;
    channel = 0;
    if (++column < site.x.end) return;
    column = site.x.first, ++row;
  }
};
