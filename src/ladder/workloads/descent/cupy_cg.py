"""Peer: CuPy's conjugate gradients, the product by cuBLAS; a small system is bound by waiting for every residual."""

from ladder.cuda.gpus import load_cupy
from ladder.harness.contract import Problem, Run
from ladder.workloads.descent.recorder import Recorder, tolerances

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("cupy",)
LIMITS = {"algorithm": ("cg", "jacobi")}


def setup(problem: Problem) -> Run:
    """The timed solve."""
    cupy = load_cupy()
    from cupyx.scipy.sparse.linalg import LinearOperator, cg

    matrix = problem.matrix
    stopping = {"maxiter": problem.sizes["iterations"]} | tolerances(problem, cupy.finfo(matrix.dtype))

    def solve():
        recorder, latest = Recorder(problem), {}

        def multiply(v):
            latest.update(p=v, q=matrix @ v)
            return latest["q"]

        operator = LinearOperator(matrix.shape, multiply, dtype=matrix.dtype)
        preconditioner = LinearOperator(matrix.shape, recorder.precondition, dtype=matrix.dtype)
        problem.x[:], _ = cg(operator, problem.b, M=preconditioner, **stopping)
        # CuPy doesn't expose the last r, so it is computed from the previous one.
        r, z, p, q = recorder.r, recorder.z, latest["p"], latest["q"]
        recorder.end(r - (r @ z) / (p @ q) * q)

    return solve
