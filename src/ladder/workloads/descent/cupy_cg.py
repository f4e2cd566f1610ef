"""Peer: CuPy's conjugate gradients, the product by cuBLAS; small systems are bound by a wait for every residual."""

from ladder.cuda.gpus import load_cupy
from ladder.workloads.descent.recorder import Recorder, tolerances

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("cupy",)
LIMITS = {"algorithm": ("cg", "jacobi")}


def setup(problem):
    """The timed solve."""
    cupy = load_cupy()
    from cupyx.scipy.sparse.linalg import LinearOperator, cg

    matrix = problem.matrix
    stop = {"maxiter": problem.sizes["iterations"]} | tolerances(problem, cupy.finfo(matrix.dtype))

    def solve():
        recorder, last = Recorder(problem), {}

        def multiply(v):
            last.update(p=v, q=matrix @ v)
            return last["q"]

        operator = LinearOperator(matrix.shape, multiply, dtype=matrix.dtype)
        preconditioner = LinearOperator(matrix.shape, recorder.precondition, dtype=matrix.dtype)
        problem.x[:], _ = cg(operator, problem.b, M=preconditioner, **stop)
        # CuPy allocates a new r in every iteration, and doesn't expose the last one.
        r, z, p, q = recorder.r, recorder.z, last["p"], last["q"]
        recorder.end(r - (r @ z) / (p @ q) * q)

    return solve
