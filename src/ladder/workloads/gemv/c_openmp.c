/* y (n) = matrix (n, m) x (m) by OpenMP, with rows assigned as OMP_SCHEDULE says; REAL is double or float. */
void gemv(const REAL *matrix, const REAL *x, REAL *y, long n, long m)
{
#pragma omp parallel for schedule(runtime)
    for (long i = 0; i < n; i++) {
        REAL total = 0;
#pragma omp simd reduction(+ : total)
        for (long j = 0; j < m; j++)
            total += matrix[i * m + j] * x[j];
        y[i] = total;
    }
}
