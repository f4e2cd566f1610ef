/* A generator's operations on the host other than its transposed convolutions: the projection, and a layer's epilogue.
   */
#include "activation.h"
#include "tile.h"
#include <string.h>

/* Rows of a product that a thread computes at once. */
#define BLOCK 12

/* out (images, count) = activation(latents (images, terms) weights (terms, count) + bias (count)); rows are whole
   vectors. */
void project(const REAL *latents, const REAL *weights, const REAL *bias, REAL *out, long images, long terms,
             long count, long activation, long threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (long first = 0; first < images; first += BLOCK) {
        const long rows = min(BLOCK, images - first);
        const REAL *given[BLOCK];
        for (long row = 0; row < rows; row++) {
            given[row] = latents + (first + row) * terms;
            memcpy(out + (first + row) * count, bias, count * sizeof(REAL));
        }
        multiply_add(out + first * count, given, weights, rows, count, terms);
        activate(out + first * count, rows * count, activation);
    }
}

/* Batch normalisation of values (images, pixels, channels) in place, by a factor and a summand (channels), and their
   activation; without factors, no normalisation. Images are whole vectors. */
void finish(REAL *values, const REAL *scale, const REAL *shift, long images, long pixels, long channels,
            long activation, long threads)
{
#pragma omp parallel for num_threads(threads)
    for (long image = 0; image < images; image++) {
        REAL *const of_image = values + image * pixels * channels;
        for (long pixel = 0; scale && pixel < pixels; pixel++)
            for (long j = 0; j < channels; j++)
                of_image[pixel * channels + j] = of_image[pixel * channels + j] * scale[j] + shift[j];
        activate(of_image, pixels * channels, activation);
    }
}
