/* Images of an IDX file as rows of PIXELS numbers in [0, 1]; REAL is float or double. */
#pragma once
#include <fcntl.h>
#include <unistd.h>

#define HEADER 16  /* bytes: a magic number and three dimensions */
#define PIXELS 784 /* of an image */
#define PIECE 32   /* images whose bytes and numbers fit in the L2 cache */

/* Read `count` images from `first` on into out (count, PIXELS). Returns whether the file has them. */
static int read_patterns(int file, long first, long count, REAL *out)
{
    unsigned char pixels[PIECE * PIXELS];
    for (long offset = 0; offset < count; offset += PIECE) {
        const long size = (PIECE < count - offset ? PIECE : count - offset) * PIXELS;
        if (pread(file, pixels, size, HEADER + (first + offset) * PIXELS) != size)
            return 0;
        for (long i = 0; i < size; i++)
            out[offset * PIXELS + i] = pixels[i] / 255.0f;
    }
    return 1;
}
