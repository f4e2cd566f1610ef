/* The operations of a generator on the host other than transposed convolutions: projection, and epilogue of a layer. */
#include "activation.h"
#include "tile.h"
#include <string.h>

/* Images whose projection a thread computes at once. */
#define BLOCK 12

/* out (images, columns) = activation(latents (images, terms) weights (terms, columns) + bias (columns));
   columns is a multiple of LANES. */
void project(const REAL *latents, const REAL *weights, const REAL *bias, REAL *out, long images, long terms,
             long columns, long activation, long threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (long first = 0; first < images; first += BLOCK) {
        const long rows = min(BLOCK, images - first);
        const REAL *latent_rows[BLOCK];
        for (long row = 0; row < rows; row++) {
            latent_rows[row] = latents + (first + row) * terms;
            memcpy(out + (first + row) * columns, bias, columns * sizeof(REAL));
        }
        multiply_add(out + first * columns, latent_rows, weights, rows, columns, terms);
        activate(out + first * columns, rows * columns, activation);
    }
}

/* values (images, pixels, channels) = activation(scale (channels) * values + shift (channels)), in place; a null scale
   stands for no batch norm. pixels * channels is a multiple of LANES. */
void epilogue(REAL *values, const REAL *scale, const REAL *shift, long images, long pixels, long channels,
              long activation, long threads)
{
#pragma omp parallel for num_threads(threads)
    for (long image = 0; image < images; image++) {
        REAL *const image_values = values + image * pixels * channels;
        for (long pixel = 0; scale && pixel < pixels; pixel++)
            for (long j = 0; j < channels; j++)
                image_values[pixel * channels + j] = image_values[pixel * channels + j] * scale[j] + shift[j];
        activate(image_values, pixels * channels, activation);
    }
}
