"""Descent: solve A x = b, A symmetric and positive definite, by steepest descent or conjugate gradients from x = 0.

A run solves from the start until |b - A x| <= tolerance |b|, or, with a tolerance of 0, for a fixed number of
iterations. An iteration multiplies by A once: it is bound by the bandwidth at which A is read or, if A stays on the
chip, by the latency of dependent steps. `system` defines A and b, `trajectory` bounds the effect of rounding on a
solve.

| algorithm | does |
| --- | --- |
| steepest | steepest descent |
| cg | conjugate gradients (Hestenes and Stiefel, 1952) |
| jacobi | conjugate gradients on A and b divided by the diagonal of A |
| direct | any direct method, without history and iterations |

Shapes: matrix (n, n), b and x (n,), history (iterations + 1,) with r.r at the start and after every iteration and 0
after the last, all of one dtype, float32 or float64; steps int64 (1,), the number of iterations done. If a residual is
exactly 0, a variant ends there, or keeps it in the following steps.
"""

from types import SimpleNamespace

import numpy as np

from ladder.errors import LadderError
from ladder.harness.validation import CONFIDENCE, Check, compare, unit_roundoff
from ladder.workloads.descent import system, trajectory

RUNGS = {
    "openmp": "the CPU program on OpenMP threads",
    "blas": "products by SciPy's BLAS, with A or one triangle of it",
    "cuda_version1": "a block as wide as the matrix, a kernel per operation, the step length computed by the host",
    "cuda_version2": "the same with a linear index, blocks of any size, several elements per thread",
    "cublas": "cuBLAS, all scalars on the GPU, single calls or a CUDA graph",
    "cuda_fused": "one launch per iteration, products and sums fused",
    "cuda_persistent": "one cooperative launch per solve, A in registers or shared memory if it fits",
    "cuda_cluster": "one cluster of blocks that exchange q = A r through distributed shared memory",
    "cuda_symmetric": "each element of A is read once and used twice",
    "numpy_loop": "peer: hand-written loop in NumPy",
    "scipy_cg": "peer: SciPy's conjugate gradients",
    "scipy_cholesky": "peer: SciPy's Cholesky factorisation",
    "cupy_loop": "peer: hand-written loop in CuPy",
    "cupy_cg": "peer: CuPy's conjugate gradients",
    "cusolver": "peer: Cholesky by cuSOLVER",
}
SIZES = {
    "n": int,
    "kappa": float,
    "iterations": int,
    "tolerance": 0.0,
    "algorithm": ("steepest", "cg", "jacobi", "direct"),
    "start": ("worst", "random"),
    "scaling": ("none", "rows"),
    "dtype": ("float32", "float64"),
    "seed": 1,
}
CURVE = ("step", "residual", "reference", "bound")
FACTS = ("steps",)
GENERATED = ("matrix",)
SENSITIVITY = [
    ("numpy_loop", {"threads": 1}, {"n": 65, "kappa": 10.0, "iterations": 20}),
    (
        "numpy_loop",
        {"threads": 1},
        {"n": 65, "kappa": 10.0, "iterations": 40, "tolerance": 0.01, "algorithm": "cg", "start": "random"},
    ),
    (
        "scipy_cholesky",
        {"threads": 1},
        {"n": 65, "kappa": 10.0, "iterations": 1, "algorithm": "direct", "start": "random"},
    ),
]
# A tolerance must be at least this multiple of kappa u, the residual that rounding leaves.
REACHED = 10.0
# Beyond this size no chip holds half of A: it is read from memory in every iteration.
ON_CHIP = 2**30
# From these numbers of steps and elements on, x differs detectably from one that was rounded only once.
STEPS, ELEMENTS = 8, 64
# The median of one rounding is below 0.55 u |x|, that of STEPS steps about u |x|.
ONCE = 0.58


def refuse(sizes):
    """Why these sizes are invalid, or None."""
    if sizes["kappa"] < 1:
        return f"kappa={sizes['kappa']:g} of descent is below 1, which no condition number is."
    if sizes["start"] == "worst" and sizes["scaling"] != "none":
        return "start=worst of descent is known without a scaling only: take start=random."
    if sizes["tolerance"] >= 1:
        return f"tolerance={sizes['tolerance']:g} of descent must be below 1: x = 0 is an answer to it already."
    minimum = REACHED * sizes["kappa"] * unit_roundoff(sizes["dtype"])
    if 0 < sizes["tolerance"] < minimum:
        return (
            f"tolerance={sizes['tolerance']:g} of descent can't be reached in {sizes['dtype']} with "
            f"kappa={sizes['kappa']:g}: ask for {minimum:.1e} or more, or for float64."
        )
    return None


def arrays(sizes):
    """Inputs and outputs as {name: (shape, dtype)}."""
    n, dtype = sizes["n"], sizes["dtype"]
    outputs = {"x": ((n,), dtype), "history": ((sizes["iterations"] + 1,), dtype), "steps": ((1,), "int64")}
    return {"matrix": ((n, n), dtype), "b": ((n,), dtype)}, outputs


def fill(inputs, sizes, round, data):
    """Write b in place; its name. The matrix is generated."""
    inputs["b"][...] = system.of(sizes, round).b
    return ["b"]


def generate(problem, round):
    """Write the round's matrix in place."""
    equations = system.of(problem.sizes, round)
    system.generate(problem, equations.c, equations.d, equations.p)


def cost(sizes, facts):
    """FLOPs of the products, and the minimum of bytes: half of A, once or in every iteration.

    A is symmetric, and if half of it fits on a chip it may stay there.
    """
    n = sizes["n"]
    half = n * (n + 1) // 2 * np.dtype(sizes["dtype"]).itemsize
    flops = n**3 / 3 if sizes["algorithm"] == "direct" else 2 * n * n * facts["steps"]
    times = max(facts["steps"], 1) if half > ON_CHIP else 1
    return SimpleNamespace(flops=flops, bytes=half * times, precision=sizes["dtype"])


def check(sizes, inputs, outputs, round, data, reference, precision):
    """Compare the history with the reference's, A x with b, and the last step with the expected one."""
    equations = system.of(sizes, round)
    x, steps = outputs["x"].astype(np.float64), int(outputs["steps"][0])
    true = np.linalg.norm(equations.b - equations.product(x))
    if sizes["algorithm"] == "direct":
        allowed = CONFIDENCE * sizes["n"] ** 0.5 * unit_roundoff(precision) * equations.norm * np.linalg.norm(x)
        return [Check("residual", float(true), float(allowed) or np.finfo(np.float64).tiny)], None
    exact = trajectory.of(sizes, round)
    if exact.history[-1] > sizes["tolerance"] ** 2 * (equations.b @ equations.b) > 0:
        raise LadderError(
            f"iterations={sizes['iterations']} of descent don't suffice for tolerance={sizes['tolerance']:g}: the "
            f"exact solve is at {(exact.history[-1] / exact.history[0]) ** 0.5:.1e} after them. Ask for more."
        )
    if not 0 <= steps <= sizes["iterations"]:
        return [Check("steps", float(abs(steps)), float(sizes["iterations"]))], None
    history = outputs["history"].astype(np.float64)
    computed, expected = history[: steps + 1], exact.history[: steps + 1]
    # A residual of the size of rounding errors is not checked.
    allowed = exact.drift[: steps + 1] + exact.gap[: steps + 1] ** 2 + unit_roundoff(precision) * expected
    checks = [
        compare("history", computed, expected, allowed),
        compare("history beyond the end", history[steps + 1 :], np.zeros(len(history) - steps - 1), 0.0),
        Check("true residual", float(abs(true - computed[-1] ** 0.5)), float(exact.gap[steps]) or np.finfo(float).tiny),
        *ends(sizes, history, steps, equations.b @ equations.b),
    ]
    if sizes["tolerance"]:
        limit = sizes["tolerance"] * np.linalg.norm(equations.b) + exact.gap[steps]
        checks.append(Check("residual", float(true), float(limit)))
    is_long = steps >= STEPS and exact.history[STEPS] > unit_roundoff(precision) ** 2 * exact.history[0]
    # With kappa = 1 the matrix is diagonal, and a solve ends at an x that is rounded once.
    if precision == "float32" and sizes["n"] >= ELEMENTS and is_long and sizes["kappa"] > 1:
        checks.append(Check("precision", ONCE / max(roundings(x, sizes, round, steps, precision), 1e-9), 1.0))
    points = zip(range(steps + 1), computed, expected, allowed, strict=True)
    return checks, [dict(zip(CURVE, map(float, point), strict=True)) for point in points]


def ends(sizes, history, steps, squared):
    """Checks of the last step of a solve; `squared` is b.b."""
    if history[steps] == 0:
        return []
    if not sizes["tolerance"]:
        return [Check("steps", float(abs(sizes["iterations"] - steps)), 0.5)]
    # The variant's b.b is a sum of n terms, too.
    slack = 1 + CONFIDENCE * sizes["n"] ** 0.5 * unit_roundoff(sizes["dtype"])
    limit = sizes["tolerance"] ** 2 * squared
    checks = [Check("residual where it stops", float(history[steps] / limit), slack)]
    if steps:
        checks.append(Check("residual before it stops", float(limit / history[steps - 1]), slack))
    return checks


def roundings(x, sizes, round, steps, precision):
    """The median over the elements of x's distance from the reference's, in units of u |x|.

    If a variant iterates at a higher precision than declared and rounds x once at the end, it is that of one rounding.
    """
    expected = trajectory.x_after(sizes, round, steps)
    parts = np.divide(x - expected, expected, out=np.zeros_like(expected), where=expected != 0)
    return float(np.median(np.abs(parts))) / unit_roundoff(precision)
