"""Peer: Cholesky factorisation by cuSOLVER (potrf, potrs), of a copy of A that the timed run makes.

Only the largest systems are compute-bound. Up to n of about 4000 the variant is latency-bound: its time grows like n,
the number of dependent steps. CuPy's `cholesky` would also zero a triangle; CuPy's interface to cuSOLVER, which is
called instead, counts elements in 32 bits.
"""

from ladder.cuda.gpus import load_cupy
from ladder.harness.contract import Problem, Run

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("cupy",)
LIMITS = {"n": (1, 46340), "algorithm": ("direct",)}


def setup(problem: Problem) -> Run:
    """The timed solve."""
    cupy = load_cupy()
    from cupy_backends.cuda.libs import cublas, cusolver

    n, dtype = len(problem.b), problem.matrix.dtype
    prefix = {"float32": "s", "float64": "d"}[dtype.name]
    factorise, substitute, buffer_size = (
        getattr(cusolver, prefix + name) for name in ("potrf", "potrs", "potrf_bufferSize")
    )
    factor, x, info = cupy.empty_like(problem.matrix), problem.x, cupy.empty(1, "int32")
    factor_pointer, lower = factor.data.ptr, cublas.CUBLAS_FILL_MODE_LOWER
    handle = cupy.cuda.device.get_cusolver_handle()
    workspace = cupy.empty(buffer_size(handle, lower, n, factor_pointer, n), dtype)

    def solve():
        factor[...], x[...] = problem.matrix, problem.b
        # A is symmetric: its row-major and column-major forms are the same.
        factorise(handle, lower, n, factor_pointer, n, workspace.data.ptr, workspace.size, info.data.ptr)
        substitute(handle, lower, n, 1, factor_pointer, n, x.data.ptr, n, info.data.ptr)
        problem.history[...], problem.steps[...] = 0, 0  # a direct solve has no residuals and no iterations

    return solve
