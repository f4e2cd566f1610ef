// Row-major operands of the three forms of GEMM; see __init__.py. REAL is the element type, a macro.
#pragma once

enum class Form { nn, tn, nt };

// Element (i, p) of op(A), which is m x k.
template <Form form>
__device__ __forceinline__ size_t a_index(int i, int p, int m, int k) {
  return form == Form::tn ? size_t(p) * m + i : size_t(i) * k + p;
}

// Element (p, j) of op(B), which is k x n.
template <Form form>
__device__ __forceinline__ size_t b_index(int p, int j, int n, int k) {
  return form == Form::nt ? size_t(j) * k + p : size_t(p) * n + j;
}

// The arguments of every kernel: out (m, n) = op(A) (m, k) op(B) (k, n) + C (m, n). C may be null, for no addend, or
// out itself.
#define GEMM_ARGUMENTS \
  const REAL *__restrict__ a, const REAL *__restrict__ b, const REAL *c, REAL *out, int m, int n, int k

// The three kernels of a source, one per form, from its template `compute_product<form>`, with attributes such as
// launch bounds.
#define GEMM_KERNELS(attributes)                                    \
  extern "C" __global__ void attributes gemm_nn(GEMM_ARGUMENTS) {   \
    compute_product<Form::nn>(a, b, c, out, m, n, k);               \
  }                                                                 \
  extern "C" __global__ void attributes gemm_tn(GEMM_ARGUMENTS) {   \
    compute_product<Form::tn>(a, b, c, out, m, n, k);               \
  }                                                                 \
  extern "C" __global__ void attributes gemm_nt(GEMM_ARGUMENTS) {   \
    compute_product<Form::nt>(a, b, c, out, m, n, k);               \
  }
