/* Read the images of a file in one thread, one piece after the other. */
#include "patterns.h"

/* Read `count` images, beginning with image `first`, into `out` of shape (count, PIXELS). Returns whether the file has
   them. */
int read_all(const char *path, long first, long count, REAL *out)
{
    const int file = open(path, O_RDONLY);
    const int is_read = file >= 0 && read_patterns(file, first, count, out);
    if (file >= 0)
        close(file);
    return is_read;
}
