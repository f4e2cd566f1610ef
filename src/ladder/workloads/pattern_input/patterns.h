/* Images of an IDX file as rows of PIXELS numbers in [0, 1]; REAL is float or double. */
#pragma once
#include <fcntl.h>
#include <unistd.h>

#define HEADER_BYTES 16 /* a magic number and three dimensions */
#define PIXELS 784      /* of an image */
#define PIECE_IMAGES 32 /* images whose bytes and numbers fit in the L2 cache */

/* Read `count` images from `first` on into out (count, PIXELS). Returns whether the file has them. */
static int read_patterns(int file, long first, long count, REAL *out)
{
    unsigned char pixels[PIECE_IMAGES * PIXELS];
    for (long offset = 0; offset < count; offset += PIECE_IMAGES) {
        const long size = (PIECE_IMAGES < count - offset ? PIECE_IMAGES : count - offset) * PIXELS;
        if (pread(file, pixels, size, HEADER_BYTES + (first + offset) * PIXELS) != size)
            return 0;
        for (long i = 0; i < size; i++)
            out[offset * PIXELS + i] = pixels[i] / 255.0f;
    }
    return 1;
}
