"""Peer: Cholesky factorisation by cuSOLVER (potrf, potrs), of a copy of A that is made in the timed run.

Compute-bound. CuPy's `cholesky` would also zero a triangle, so its interface to cuSOLVER is called directly; that has
32-bit element counts.
"""

from ladder.cuda.gpus import load_cupy

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("cupy",)
LIMITS = {"n": (1, 46340), "algorithm": ("direct",)}


def setup(problem):
    """The timed solve."""
    cupy = load_cupy()
    from cupy_backends.cuda.libs import cublas, cusolver

    n, dtype = len(problem.b), problem.matrix.dtype
    kind = {"float32": "s", "float64": "d"}[dtype.name]
    factorise, substitute, room = (getattr(cusolver, kind + name) for name in ("potrf", "potrs", "potrf_bufferSize"))
    factor, x, info = cupy.empty_like(problem.matrix), problem.x, cupy.empty(1, "int32")
    place, lower = factor.data.ptr, cublas.CUBLAS_FILL_MODE_LOWER
    handle = cupy.cuda.device.get_cusolver_handle()
    workspace = cupy.empty(room(handle, lower, n, place, n), dtype)

    def solve():
        factor[...], x[...] = problem.matrix, problem.b
        # A is symmetric: its row-major and column-major forms are the same.
        factorise(handle, lower, n, place, n, workspace.data.ptr, workspace.size, info.data.ptr)
        substitute(handle, lower, n, 1, place, n, x.data.ptr, n, info.data.ptr)
        problem.history[...], problem.steps[...] = 0, 0

    return solve
