/* A task per `block` images, created by one thread and executed by all. */
#include "patterns.h"

/* Read `count` images from `first` on into out (count, PIXELS). Returns whether the file has them. */
int read_all(const char *path, long first, long count, REAL *out, long threads, long block)
{
    const int file = open(path, O_RDONLY);
    int is_read = file >= 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (long i = 0; i < count; i += block) {
#pragma omp task firstprivate(i) shared(is_read)
        if (!read_patterns(file, first + i, block < count - i ? block : count - i, out + i * PIXELS)) {
#pragma omp atomic write
            is_read = 0;
        }
    }
    if (file >= 0)
        close(file);
    return is_read;
}
