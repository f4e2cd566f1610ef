/* The three nested loops of openmp.py in C, for comparison: out (m, n) = op(A) (m, k) op(B) (k, n) + C (m, n). REAL is
   double or float. A macro for the three forms: A and B are the indices of op(A) (i, p) and op(B) (p, j). */
#define PRODUCT(name, A, B, END)                                                                       \
    void name(const REAL *a, const REAL *b, REAL *out, const REAL *c, long m, long n, long k)      \
    {                                                                                                  \
        _Pragma("omp parallel for")                                                                    \
        for (long i = 0; i < m; i++)                                                                   \
            for (long j = 0; j < n; j++) {                                                             \
                REAL total = 0;                                                                       \
                for (long p = 0; p < k; p++)                                                           \
                    total += a[A] * b[B];                                                              \
                out[i * n + j] = END;                                                                  \
            }                                                                                          \
    }

PRODUCT(nn, i * k + p, p * n + j, total)
PRODUCT(tn, p * m + i, p * n + j, total)
PRODUCT(nt, i * k + p, j * k + p, c ? total + c[i * n + j] : total)
