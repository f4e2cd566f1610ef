/* A transposed convolution as products of exact size: of the elements of one parity, and of each row and column of the
   filter that belongs to it, every pixel's channels times the filter's. The order of the rows of a product is that of
   pixels first and images last, so that those that hit the image lie side by side. */
#include "activation.h"
#include <omp.h>
#include <string.h>

#define TAPS 5

/* How many numbers the packed filter has. */
long packed_size(long c, long k)
{
    return TAPS * TAPS * c * padded(k);
}

/* How many numbers the threads' sums have, of blocks of `block` images, and a vector of bias. */
long workspace(long threads, long block, long h, long k)
{
    return (threads * block * h * h + 1) * padded(k);
}

/* The filter (5, 5, k, c) with output channels last, in whole vectors. */
void pack(const REAL *filter, REAL *packed, long c, long k)
{
    const long stride = padded(k);
#pragma omp parallel for
    for (long line = 0; line < TAPS * TAPS * c; line++)
        for (long j = 0; j < stride; j++)
            packed[line * stride + j] = j < k ? filter[(line / c * k + j) * c + line % c] : 0;
}

/* Adds one row and column of the filter to the sums of the rows of pixels `p`, where it hits pixels `to` rows below. */
static void add_tap(REAL *sums, const REAL *image, const REAL *tap, long count, long h, long c, long stride, long down,
                    long right)
{
    const long first = right < 0 ? -right : 0, last = least(h, h - right);
    if (first >= last)
        return;
    const REAL *rows[(last - first) * count];
    for (long p = down < 0 ? -down : 0; p < least(h, h - down); p++) {
        for (long q = first; q < last; q++)
            for (long n = 0; n < count; n++)
                rows[(q - first) * count + n] = image + ((n * h + p + down) * h + q + right) * c;
        multiply_add(sums + (p * h + first) * count * stride, rows, tap, (last - first) * count, stride, c);
    }
}

/* The elements of one parity of some images. */
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

/* Shapes as in __init__.py; `sums` has `workspace` numbers, and blocks of images are shared among threads by parity. */
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
                        sums + omp_get_thread_num() * block * h * h * stride, least(block, images - first), h, c, k,
                        odd / 2, odd % 2, activation);
    }
}
