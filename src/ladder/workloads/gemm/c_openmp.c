/* The three nested loops of openmp.py in C, for comparison: out (m, n) = op(A) (m, k) op(B) (k, n) + C (m, n). REAL is
   double or float. PRODUCT defines the function of a form: A_INDEX is the index of element (i, p) of op(A), B_INDEX
   that of (p, j) of op(B), and RESULT the element of out. */
#define PRODUCT(name, A_INDEX, B_INDEX, RESULT)                                                    \
    void name(const REAL *a, const REAL *b, REAL *out, const REAL *c, long m, long n, long k)      \
    {                                                                                              \
        _Pragma("omp parallel for")                                                                \
        for (long i = 0; i < m; i++)                                                               \
            for (long j = 0; j < n; j++) {                                                         \
                REAL total = 0;                                                                    \
                for (long p = 0; p < k; p++)                                                       \
                    total += a[A_INDEX] * b[B_INDEX];                                              \
                out[i * n + j] = RESULT;                                                           \
            }                                                                                      \
    }

PRODUCT(nn, i * k + p, p * n + j, total)
PRODUCT(tn, p * m + i, p * n + j, total)
PRODUCT(nt, i * k + p, j * k + p, c ? total + c[i * n + j] : total)
