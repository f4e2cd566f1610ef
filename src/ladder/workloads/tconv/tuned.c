/* A transposed convolution as products without padding: for the elements of one parity and each of their taps, the
   channels of all pixels times the tap's. Rows of a product are ordered by pixel, then by image, so that those inside
   the image are contiguous. */
#include "activation.h"
#include "tile.h"
#include <omp.h>
#include <string.h>

#define TAPS 5

/* The number of elements of the packed filter. */
long packed_size(long c, long k)
{
    return TAPS * TAPS * c * padded(k);
}

/* The number of elements of the threads' sums, for blocks of `block` images, and of a padded bias. */
long workspace(long threads, long block, long h, long k)
{
    return (threads * block * h * h + 1) * padded(k);
}

/* packed (5, 5, c, padded k) = filter (5, 5, k, c): output channels last, in whole vectors. */
void pack(const REAL *filter, REAL *packed, long c, long k)
{
    const long stride = padded(k);
#pragma omp parallel for
    for (long line = 0; line < TAPS * TAPS * c; line++)
        for (long j = 0; j < stride; j++)
            packed[line * stride + j] = j < k ? filter[(line / c * k + j) * c + line % c] : 0;
}

/* sums (h, h, count, stride) += image (count, h, h, c) times one tap (c, stride), for the pixels `down` rows below and
   `right` columns to the right, where they exist. */
static void add_tap(REAL *sums, const REAL *image, const REAL *tap, long count, long h, long c, long stride, long down,
                    long right)
{
    const long first = right < 0 ? -right : 0, last = min(h, h - right);
    if (first >= last)
        return;
    const REAL *rows[(last - first) * count];
    for (long p = down < 0 ? -down : 0; p < min(h, h - down); p++) {
        for (long q = first; q < last; q++)
            for (long n = 0; n < count; n++)
                rows[(q - first) * count + n] = image + ((n * h + p + down) * h + q + right) * c;
        multiply_add(sums + (p * h + first) * count * stride, rows, tap, (last - first) * count, stride, c);
    }
}

/* The elements of one parity of out (count, 2 h, 2 h, k), from image (count, h, h, c), packed (5, 5, c, padded k) and
   bias (padded k), with sums (h, h, count, padded k) as scratch. */
static void convolve_parity(const REAL *image, const REAL *packed, const REAL *bias, REAL *out, REAL *sums, long count,
                            long h, long c, long k, long odd_row, long odd_column, enum activation activation)
{
    const long stride = padded(k);
    for (long row = 0; row < h * h * count; row++)
        memcpy(sums + row * stride, bias, stride * sizeof(REAL));
    for (long r = 1 - odd_row; r < TAPS; r += 2)
        for (long s = 1 - odd_column; s < TAPS; s += 2)
            add_tap(sums, image, packed + (r * TAPS + s) * c * stride, count, h, c, stride, (odd_row + 1 - r) / 2,
                    (odd_column + 1 - s) / 2);
    activate(sums, h * h * count * stride, activation);
    for (long p = 0; p < h; p++)
        for (long q = 0; q < h; q++)
            for (long n = 0; n < count; n++)
                memcpy(out + (((n * h + p) * 2 + odd_row) * 2 * h + 2 * q + odd_column) * k,
                       sums + ((p * h + q) * count + n) * stride, k * sizeof(REAL));
}

/* image (images, h, h, c), packed (5, 5, c, padded k), bias (k), out (images, 2 h, 2 h, k); sums (workspace). Threads
   share the blocks of images and the four parities. */
void convolve(const REAL *image, const REAL *packed, const REAL *bias, REAL *out, REAL *sums, long images, long h,
              long c, long k, long block, long threads, long activation)
{
    const long stride = padded(k), blocks = (images + block - 1) / block;
    REAL *const widened = sums + threads * block * h * h * stride;
    for (long j = 0; j < stride; j++)
        widened[j] = j < k ? bias[j] : 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (long part = 0; part < 4 * blocks; part++) {
        const long first = part / 4 * block, odd = 3 - part % 4;
        convolve_parity(image + first * h * h * c, packed, widened, out + first * 4 * h * h * k,
                        sums + omp_get_thread_num() * block * h * h * stride, min(block, images - first), h, c, k,
                        odd / 2, odd % 2, activation);
    }
}
