/* Products of small matrices, C += A B or C += A^T B, by register tiles of C. REAL is the element type and VECTOR the
   bytes of a vector, both macros. Rows of B and C are whole aligned vectors; A is read element by element through an
   array of row pointers. */
#pragma once

/* gcc warns that the calling convention of vectors depends on its flags; functions with such arguments are inline. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef REAL Vector __attribute__((vector_size(VECTOR)));
#define LANES ((long)(VECTOR / sizeof(REAL)))

/* Registers hold a tile of at most ROWS x MAX_VECTORS vectors of sums, a row of B and an element of A. Narrower tiles
   have more rows, because hiding the latency of additions requires enough independent ones. */
#define ROWS 3
#define MAX_ROWS 8
#define ROWS_OF(width) ((width) == 1 ? MAX_ROWS : (width) == 2 ? 4 : ROWS)
#if __AVX512VL__
#define MAX_VECTORS 7 /* of 32 registers: 3 x 7 sums and a row of 7 */
#else
#define MAX_VECTORS 3 /* of 16 registers */
#endif

/* Keep a vector in a register. Otherwise gcc reloads a row of B for every row of A, and the load ports become the
   bottleneck. */
#if VECTOR <= 16 || (__AVX__ && VECTOR <= 32) || __AVX512VL__
#define KEEP_IN_REGISTER(vector) __asm__("" : "+v"(vector))
#else
#define KEEP_IN_REGISTER(vector)
#endif

/* The number of elements in half of an L1 cache of 32 KiB, which a block of B's rows fills. */
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
   of A is a[r][offset + k], or a[k][offset + r] if `transposed`. */
static inline __attribute__((always_inline)) void multiply_tile(Vector *c, const REAL *const *a, long offset,
                                                                const Vector *b, long stride, long terms, int rows,
                                                                int vectors, int transposed)
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
            KEEP_IN_REGISTER(row[v]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const REAL x = transposed ? a[k][offset + r] : a[r][offset + k];
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

/* `multiply_tile` for all rows of a strip C (rows, width), whose width in vectors the compiler knows: the tallest tiles
   first, then lower ones, and the last rows one by one. */
static inline __attribute__((always_inline)) void multiply_strip_of_width(Vector *c, const REAL *const *a, long offset,
                                                                          const Vector *b, long stride, long terms,
                                                                          long rows, int width, int transposed)
{
    const int heights[] = {ROWS_OF(width), ROWS, 1};
    long r = 0;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++)
        for (; r + heights[i] <= rows; r += heights[i])
            multiply_tile(c + r * stride, transposed ? a : a + r, transposed ? offset + r : offset, b, stride, terms,
                          heights[i], width, transposed);
}

/* `multiply_strip_of_width` for a strip C (rows, vectors) of any width, with a copy of the code for every width. */
static inline __attribute__((always_inline)) void multiply_strip(Vector *c, const REAL *const *a, long offset,
                                                                 const Vector *b, long stride, long terms, long rows,
                                                                 long vectors, int transposed)
{
#define CASE_OF_WIDTH(width)                                                              \
    case width:                                                                           \
        multiply_strip_of_width(c, a, offset, b, stride, terms, rows, width, transposed); \
        break;
    switch (vectors) {
        CASE_OF_WIDTH(1)
        CASE_OF_WIDTH(2)
        CASE_OF_WIDTH(3)
#if MAX_VECTORS > 3
        CASE_OF_WIDTH(4)
        CASE_OF_WIDTH(5)
        CASE_OF_WIDTH(6)
        CASE_OF_WIDTH(7)
#endif
    }
#undef CASE_OF_WIDTH
}

/* C (rows, stride) += A (rows, terms) B (terms, stride), where `stride` counts elements and A is as in `multiply_tile`:
   in blocks of terms whose rows of B fit in half of the L1 cache, but at least 16 terms, and in strips of nearly the
   same width. */
static inline __attribute__((always_inline)) void multiply(REAL *c, const REAL *const *a, long offset,
                                                           const REAL *b, long rows, long stride, long terms,
                                                           int transposed)
{
    const long vectors = stride / LANES, strips = (vectors + MAX_VECTORS - 1) / MAX_VECTORS;
    const long max_terms = HALF_CACHE / stride > 16 ? HALF_CACHE / stride : 16;
    for (long k = 0; k < terms; k += max_terms)
        for (long s = 0; s < strips; s++) {
            const long first = vectors * s / strips, width = vectors * (s + 1) / strips - first;
            const long count = min(max_terms, terms - k);
            Vector *to = (Vector *)c + first;
            const Vector *from = (const Vector *)b + k * vectors + first;
            multiply_strip(to, transposed ? a + k : a, transposed ? offset : k, from, vectors, count, rows, width,
                           transposed);
        }
}

/* C (rows, stride) += A (rows, terms) B (terms, stride); a (rows) holds the addresses of A's rows. */
static __attribute__((noinline)) void multiply_add(REAL *c, const REAL *const *a, const REAL *b, long rows, long stride,
                                                   long terms)
{
    multiply(c, a, 0, b, rows, stride, terms, 0);
}

/* C (rows, stride) += A^T B (terms, stride), with columns `offset` to offset + rows - 1 of A; a (terms) holds the
   addresses of A's rows. */
static __attribute__((noinline)) void multiply_add_transposed(REAL *c, const REAL *const *a, long offset, const REAL *b,
                                                              long rows, long stride, long terms)
{
    multiply(c, a, offset, b, rows, stride, terms, 1);
}
