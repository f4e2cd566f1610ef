// The parts of a solve that cuBLAS doesn't have: the start, the preconditioner, and the scalars, which stay on the GPU
// and are computed by one thread. REAL is the element type.
//
// Shapes: matrix (n, n), vectors (n), history (iterations + 1), steps (1), scalars (1), rz (1).
//
// Launch: `begin_vectors` any grid along x, `divide_by_diagonal` at least n threads along x, the others one thread. No
// dynamic shared memory.
constexpr REAL SMALLEST_NORMAL = FLOAT64 ? 2.2250738585072014e-308 : 1.17549435e-38;  // the smallest normal number

struct Scalars {
  REAL one;
  REAL pq, rr, rz;  // dot products by cuBLAS: p.q, and r.r and r.z of the new residual
  REAL previous_rr, previous_rz;
  REAL alpha, minus_alpha, beta;
};

// Whether a solve with history (iterations + 1) continues after `step` steps, with a residual whose square is rr.
__device__ bool has_next_step(REAL rr, const REAL *history, long long step, long long iterations, double tolerance) {
  return step < iterations && rr > tolerance * tolerance * history[0];
}

// x = 0, r = b, p = z = r or, if is_preconditioned, r divided by the diagonal of the matrix; history and steps are 0.
extern "C" __global__ void begin_vectors(const REAL *matrix, const REAL *b, REAL *x, REAL *r, REAL *z, REAL *p,
                                         REAL *history, long long *steps, long long n, long long iterations,
                                         int is_preconditioned) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x, stride = (long long)gridDim.x * blockDim.x;
  for (long long i = first; i < n; i += stride) {
    x[i] = 0;
    r[i] = b[i];
    p[i] = z[i] = is_preconditioned ? b[i] / matrix[i * (n + 1)] : b[i];
  }
  for (long long i = first; i <= iterations; i += stride) history[i] = 0;
  if (first == 0) steps[0] = 0;
}

// z (n) = r (n) divided by the diagonal of matrix (n, n).
extern "C" __global__ void divide_by_diagonal(const REAL *matrix, const REAL *r, REAL *z, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = r[i] / matrix[i * (n + 1)];
}

// The first entry of the history, and the scalars of the first iteration. Without a preconditioner, rz is rr.
extern "C" __global__ void begin_scalars(Scalars *scalars, const REAL *rz, REAL *history) {
  scalars->one = 1;
  history[0] = scalars->previous_rr = scalars->rr;
  scalars->previous_rz = *rz;
}

// The step length alpha; 0 once the solve has ended.
extern "C" __global__ void step_length(Scalars *scalars, const REAL *history, const long long *steps,
                                       long long iterations, double tolerance) {
  const bool is_active = has_next_step(scalars->previous_rr, history, steps[0], iterations, tolerance);
  scalars->alpha = is_active ? scalars->previous_rz / max(scalars->pq, SMALLEST_NORMAL) : REAL(0);
  scalars->minus_alpha = -scalars->alpha;
}

// The next entry of the history, and beta, the coefficient of the last direction in the next one; 0 once the solve has
// ended, so that directions stay finite.
extern "C" __global__ void update_scalars(Scalars *scalars, const REAL *rz, REAL *history, long long *steps,
                                          long long iterations, double tolerance) {
  const bool is_active = has_next_step(scalars->previous_rr, history, steps[0], iterations, tolerance);
  scalars->beta = is_active ? *rz / max(scalars->previous_rz, SMALLEST_NORMAL) : REAL(0);
  if (!is_active) return;
  history[++steps[0]] = scalars->previous_rr = scalars->rr;
  scalars->previous_rz = *rz;
}
