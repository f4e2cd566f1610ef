/* A transposed convolution as products without zeros. For the elements of one parity and each of their taps, a
   product multiplies the pixels' channels by the tap. Its rows are ordered by pixel, then by image, so that the rows of
   adjacent pixels are contiguous. */
#include "activation.h"
#include "tile.h"
#include <omp.h>
#include <string.h>

#define FILTER_SIDE 5

/* The number of elements of the packed filter. */
long packed_size(long c, long k)
{
    return FILTER_SIDE * FILTER_SIDE * c * padded(k);
}

/* The number of elements of the workspace: the threads' sums, for blocks of `block` images, and a padded bias. */
long workspace_size(long threads, long block, long h, long k)
{
    return (threads * block * h * h + 1) * padded(k);
}

/* packed (5, 5, c, padded k) = filter (5, 5, k, c): output channels last, in whole vectors. */
void pack(const REAL *filter, REAL *packed, long c, long k)
{
    const long stride = padded(k);
#pragma omp parallel for
    for (long row = 0; row < FILTER_SIDE * FILTER_SIDE * c; row++)
        for (long j = 0; j < stride; j++)
            packed[row * stride + j] = j < k ? filter[(row / c * k + j) * c + row % c] : 0;
}

/* sums (h, h, count, stride) += image (count, h, h, c) times one tap (c, stride). The sums at (p, q) use the pixel at
   (p + down, q + right), if there is one. */
static void add_tap(REAL *sums, const REAL *image, const REAL *tap, long count, long h, long c, long stride, long down,
                    long right)
{
    const long first = right < 0 ? -right : 0, end = min(h, h - right);
    if (first >= end)
        return;
    const REAL *rows[(end - first) * count];
    for (long p = down < 0 ? -down : 0; p < min(h, h - down); p++) {
        for (long q = first; q < end; q++)
            for (long n = 0; n < count; n++)
                rows[(q - first) * count + n] = image + ((n * h + p + down) * h + q + right) * c;
        multiply_add(sums + (p * h + first) * count * stride, rows, tap, (end - first) * count, stride, c);
    }
}

/* Compute the elements of one parity of out (count, 2 h, 2 h, k) from image (count, h, h, c), packed (5, 5, c,
   padded k) and bias (padded k), with sums (h, h, count, padded k) as scratch. */
static void convolve_parity(const REAL *image, const REAL *packed, const REAL *bias, REAL *out, REAL *sums, long count,
                            long h, long c, long k, long odd_row, long odd_column, enum activation activation)
{
    const long stride = padded(k);
    for (long row = 0; row < h * h * count; row++)
        memcpy(sums + row * stride, bias, stride * sizeof(REAL));
    for (long r = 1 - odd_row; r < FILTER_SIDE; r += 2)
        for (long s = 1 - odd_column; s < FILTER_SIDE; s += 2)
            add_tap(sums, image, packed + (r * FILTER_SIDE + s) * c * stride, count, h, c, stride,
                    (odd_row + 1 - r) / 2, (odd_column + 1 - s) / 2);
    activate(sums, h * h * count * stride, activation);
    for (long p = 0; p < h; p++)
        for (long q = 0; q < h; q++)
            for (long n = 0; n < count; n++)
                memcpy(out + (((n * h + p) * 2 + odd_row) * 2 * h + 2 * q + odd_column) * k,
                       sums + ((p * h + q) * count + n) * stride, k * sizeof(REAL));
}

/* Convolve image (images, h, h, c) with packed (5, 5, c, padded k) and bias (k) to out (images, 2 h, 2 h, k), with sums
   (workspace_size) as scratch. A thread's task is one parity of a block of images; of the four parities, that with the
   most taps comes first. */
void convolve(const REAL *image, const REAL *packed, const REAL *bias, REAL *out, REAL *sums, long images, long h,
              long c, long k, long block, long threads, long activation)
{
    const long stride = padded(k), blocks = (images + block - 1) / block;
    REAL *const padded_bias = sums + threads * block * h * h * stride;
    for (long j = 0; j < stride; j++)
        padded_bias[j] = j < k ? bias[j] : 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (long task = 0; task < 4 * blocks; task++) {
        const long first = task / 4 * block, parity = 3 - task % 4;
        convolve_parity(image + first * h * h * c, packed, padded_bias, out + first * 4 * h * h * k,
                        sums + omp_get_thread_num() * block * h * h * stride, min(block, images - first), h, c, k,
                        parity / 2, parity % 2, activation);
    }
}
