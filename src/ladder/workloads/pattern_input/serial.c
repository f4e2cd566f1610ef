/* The images one after the other. */
#include "patterns.h"

int read_all(const char *path, long first, long count, REAL *out)
{
    const int file = open(path, O_RDONLY);
    const int is_read = file >= 0 && read_patterns(file, first, count, out);
    if (file >= 0)
        close(file);
    return is_read;
}
