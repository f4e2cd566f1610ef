/* Products of small matrices, C += A B, by register tiles of C. Rows of B and C are whole aligned vectors; A is read
   element by element through an array of row pointers, as it is or transposed. */
#pragma once

/* The calling convention of vectors depends on the flags, but all functions that take vectors are inline. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef REAL Vector __attribute__((vector_size(VECTOR)));
#define LANES ((long)(VECTOR / sizeof(REAL)))

/* A tile of ROWS x MAX_VECTORS vectors of sums, a row of B and an element of A are in registers. Narrow tiles are
   taller, since the latency of additions requires enough independent ones. */
#define ROWS 3
#define MAX_ROWS 8
#define ROWS_OF(width) ((width) == 1 ? MAX_ROWS : (width) == 2 ? 4 : ROWS)
#if __AVX512VL__
#define MAX_VECTORS 7 /* of 32 */
#else
#define MAX_VECTORS 3 /* of 16 */
#endif

/* Without it gcc reloads a row of B for every row of A, and the load ports become the bottleneck. */
#if VECTOR <= 16 || (__AVX__ && VECTOR <= 32) || __AVX512VL__
#define IN_REGISTER(vector) __asm__("" : "+v"(vector))
#else
#define IN_REGISTER(vector)
#endif

/* The number of elements in half of an L1 cache of 32 KiB; divided by the length of B's rows, the number of terms. */
#define HALF_CACHE (16384 / (long)sizeof(REAL))

static inline long min(long a, long b)
{
    return a < b ? a : b;
}

/* A count rounded up to whole vectors. */
static inline long padded(long count)
{
    return (count + LANES - 1) / LANES * LANES;
}

/* C (rows, vectors) += A (rows, terms) B (terms, vectors); rows of B and C are `stride` vectors apart. Element (r, k)
   of A is a[r][at + k], or, transposed, a[k][at + r]. */
static inline __attribute__((always_inline)) void tile(Vector *c, const REAL *const *a, long at, const Vector *b,
                                                       long stride, long terms, int rows, int vectors, int transposed)
{
    Vector sums[MAX_ROWS][MAX_VECTORS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sums[r][v] = c[r * stride + v];
    for (long k = 0; k < terms; k++) {
        Vector row[MAX_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            row[v] = b[k * stride + v];
            IN_REGISTER(row[v]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const REAL x = transposed ? a[k][at + r] : a[r][at + k];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                sums[r][v] += x * row[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            c[r * stride + v] = sums[r][v];
}

/* `tile` for all rows of C (rows, width), a width that the compiler knows: tall tiles, then lower ones, the last rows
   one by one. */
static inline __attribute__((always_inline)) void column(Vector *c, const REAL *const *a, long at, const Vector *b,
                                                         long stride, long terms, long rows, int width, int transposed)
{
    const int heights[] = {ROWS_OF(width), ROWS, 1};
    long r = 0;
#pragma GCC unroll 3
    for (int height = 0; height < 3; height++)
        for (; r + heights[height] <= rows; r += heights[height])
            tile(c + r * stride, transposed ? a : a + r, transposed ? at + r : at, b, stride, terms, heights[height],
                 width, transposed);
}

/* `column` for C (rows, vectors) of any width, by one copy of the code per width. */
static inline __attribute__((always_inline)) void strip(Vector *c, const REAL *const *a, long at, const Vector *b,
                                                        long stride, long terms, long rows, long vectors,
                                                        int transposed)
{
#define OF_WIDTH(width)                                                   \
    case width:                                                           \
        column(c, a, at, b, stride, terms, rows, width, transposed);      \
        break;
    switch (vectors) {
        OF_WIDTH(1)
        OF_WIDTH(2)
        OF_WIDTH(3)
#if MAX_VECTORS > 3
        OF_WIDTH(4)
        OF_WIDTH(5)
        OF_WIDTH(6)
        OF_WIDTH(7)
#endif
    }
#undef OF_WIDTH
}

/* C (rows, stride) += A (rows, terms) B (terms, stride), in numbers, A as for `tile`: blocked by the terms that fit in
   the L1 cache, and in strips of nearly the same width. */
static inline __attribute__((always_inline)) void product(REAL *c, const REAL *const *a, long at, const REAL *b,
                                                          long rows, long stride, long terms, int transposed)
{
    const long vectors = stride / LANES, strips = (vectors + MAX_VECTORS - 1) / MAX_VECTORS;
    const long max_terms = HALF_CACHE / stride > 16 ? HALF_CACHE / stride : 16;
    for (long k = 0; k < terms; k += max_terms)
        for (long s = 0; s < strips; s++) {
            const long left = vectors * s / strips, width = vectors * (s + 1) / strips - left;
            const long count = min(max_terms, terms - k);
            Vector *to = (Vector *)c + left;
            const Vector *from = (const Vector *)b + k * vectors + left;
            strip(to, transposed ? a + k : a, transposed ? at : k, from, vectors, count, rows, width, transposed);
        }
}

/* C (rows, stride) += A (rows, terms) B (terms, stride); a (rows) are the addresses of A's rows. */
static __attribute__((noinline)) void multiply_add(REAL *c, const REAL *const *a, const REAL *b, long rows, long stride,
                                                   long terms)
{
    product(c, a, 0, b, rows, stride, terms, 0);
}

/* C (rows, stride) += A^T B (terms, stride), with columns `at` to at + rows - 1 of A; a (terms) are the addresses of
   its rows. */
static __attribute__((noinline)) void multiply_add_transposed(REAL *c, const REAL *const *a, long at, const REAL *b,
                                                              long rows, long stride, long terms)
{
    product(c, a, at, b, rows, stride, terms, 1);
}
