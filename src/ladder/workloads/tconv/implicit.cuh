// A transposed convolution as implicit products: a product's left matrix is gathered tile by tile, but never stored as
// a whole. A block computes PARITIES neighbouring elements of the result for many images, so that all its rows
// sum over the same pixels, and no inserted zero is multiplied. A row of the matrix has the channels of one image, the
// next row those of the next.
//
// An element with indices (2 p + y, 2 q + x) lies at pixel (p, q) and has the parities y and x, 0 or 1. PARITIES is the
// number of neighbouring elements of the result whose channels are the columns of one product:
//   1  one element; the filter is packed (25, k);
//   2  two elements side by side, which share most of their pixels; the filter is packed (15, 2 k);
//   4  the four elements around pixel (p, q), for few output channels; the filter is packed (9, 4 k).
// The packed filter has zeros where a pixel doesn't contribute to an element.
#pragma once

constexpr int FILTER_SIDE = 5;

// The rows (or columns) of the image, `first` to `end` - 1, that contribute to row (or column) 2 center + parity of the
// result; if has_both_parities, to rows 2 center and 2 center + 1. `h` is their number in the image.
template <bool has_both_parities>
struct PixelRange {
  int center, parity, first, end;
  __device__ __forceinline__ PixelRange(int center, int parity, int h) : center(center), parity(parity) {
    first = center > 0 ? center - 1 : 0;
    end = min(!has_both_parities && parity == 0 ? center + 1 : center + 2, h);
  }
  // One coordinate of the packed filter's row, for a row (or column) of the image: a tap or, if has_both_parities, the
  // number of a neighbouring pixel, 0 to 2.
  __device__ __forceinline__ int packed_coordinate(int row) const {
    return has_both_parities ? row - center + 1 : 2 * (center - row) + parity + 1;
  }
  __device__ __forceinline__ int count() const { return end - first; }
};

// A pixel by its number among h x h. They are ordered along the sides of growing squares: the last row and column come
// late, and the first row and column come last, since their elements have the shortest sums. With h = 3 the order of
// (y, x) is (1, 1), (2, 1), (2, 2), (1, 2), (0, 1), (0, 2), (0, 0), (1, 0), (2, 0).
struct Pixel {
  int y, x;
  __device__ __forceinline__ Pixel(int number, int h) {
    const int side = sqrtf(number), remainder = number - side * side;
    y = ((remainder <= side ? side : remainder - side - 1) + 1) % h;
    x = ((remainder <= side ? remainder : side) + 1) % h;
  }
};

// The position of a product's PARITIES elements by its number. Those with the longest sums are first, so that the last
// blocks of a grid are short.
struct Position {
  static constexpr int POSITIONS_PER_PIXEL = 4 / PARITIES;
  PixelRange<PARITIES == 4> y;
  PixelRange<PARITIES != 1> x;
  __device__ __forceinline__ Position(int number, int h)
      : Position(Pixel(number % (h * h), h), POSITIONS_PER_PIXEL - 1 - number / (h * h), h) {}
  // The row of the packed filter for a pixel.
  __device__ __forceinline__ int packed_row(int row, int column) const {
    return y.packed_coordinate(row) * (PARITIES == 1 ? FILTER_SIDE : 3) + x.packed_coordinate(column);
  }
  // The index of the first of the elements among those of all images.
  __device__ __forceinline__ size_t element_index(size_t image, int h) const {
    return (image * 2 * h + 2 * y.center + y.parity) * 2 * h + 2 * x.center + x.parity;
  }

 private:
  __device__ __forceinline__ Position(Pixel pixel, int parity_index, int h)
      : y(pixel.y, PARITIES == 1 ? parity_index / 2 : parity_index, h),
        x(pixel.x, PARITIES == 1 ? parity_index % 2 : 0, h) {}
};

// The position of a sum in the image: it proceeds pixel by pixel, `depth` channels at a time. `c` is the number of
// channels.
template <int depth>
struct StepIterator {
  const Position &position;
  const int c;
  int row, column, channel = 0;
  __device__ __forceinline__ StepIterator(const Position &position, int c)
      : position(position), c(c), row(position.y.first), column(position.x.first) {}
  // The number of steps.
  __device__ __forceinline__ int count() const {
    return position.y.count() * position.x.count() * ((c - 1) / depth + 1);
  }
  __device__ __forceinline__ void next() {
    if ((channel += depth) < c) return;
    channel = 0;
    if (++column < position.x.end) return;
    column = position.x.first, ++row;
  }
};
