"""Descent: solve A x = b, A symmetric and positive definite, by steepest descent or conjugate gradients from x = 0.

A run iterates until |b - A x| <= tolerance |b| or, with a tolerance of 0, for a fixed number of iterations. An
iteration multiplies by A, once if possible: it is bound by the bandwidth at which A is read or, for a small A on a GPU,
by the latency of dependent steps. `system` defines A and b, `trajectory` bounds the effect of rounding on a solve.

| algorithm | method |
| --- | --- |
| steepest | steepest descent |
| cg | conjugate gradients (Hestenes and Stiefel, 1952) |
| jacobi | conjugate gradients with Jacobi's preconditioner, the diagonal of A |
| direct | any direct method, without history and iterations |

The variables have their usual names: residual r = b - A x, direction p, q = A p, and z, which is r or, for jacobi, r
divided by the diagonal of A. A variant's scalars rr, rz and pq are the dot products r.r, r.z and p.q.

Shapes: matrix (n, n), b and x (n,), history (iterations + 1,) with r.r at the start and after every iteration, and
zeros beyond the last one, all of one dtype, float32 or float64; steps int64 (1,), the number of iterations done. If a
residual is exactly 0, a variant stops there, or keeps it in the following steps.
"""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.errors import LadderError
from ladder.harness.contract import Arrays, Kinds, Problem, Round, Sizes
from ladder.harness.validation import CONFIDENCE, Check, compare, unit_roundoff
from ladder.workloads.descent import system, trajectory

RUNGS = {
    "openmp": "loops in Numba, on OpenMP threads",
    "blas": "products by SciPy's BLAS, which reads all of A or one triangle of it",
    "cuda_version1": "a block per row of a small matrix, a kernel per operation, the step length computed by the host",
    "cuda_version2": "a thread per element, by a linear index; in reductions, several elements per thread",
    "cublas": "cuBLAS, all scalars on the GPU, single calls or a CUDA graph",
    "cuda_fused": "one launch per iteration, products and sums fused",
    "cuda_persistent": "one cooperative launch per solve, A in registers or shared memory if it fits",
    "cuda_cluster": "one cluster of blocks that exchange q = A r through distributed shared memory",
    "cuda_symmetric": "one triangle of A is read, and used twice",
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
# Cases in which errors are injected, to see what the checks detect.
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
# The minimum tolerance as a multiple of kappa u, the residual that rounding leaves; u is the unit roundoff.
MIN_TOLERANCE = 10.0
# Bytes: if half of A is larger, no chip holds it, and A is read from memory in every iteration.
MAX_ON_CHIP = 2**30
# From these numbers of steps and elements on, the check detects an x that was rounded only once.
MIN_STEPS, MIN_ELEMENTS = 8, 64
# Between the median errors of an x rounded once, below 0.55 u |x|, and of one after MIN_STEPS steps, about u |x|.
ONE_ROUNDING = 0.58


def refuse(sizes: Sizes) -> str | None:
    """The reason why these sizes are invalid, as a sentence, or None."""
    if sizes["kappa"] < 1:
        return f"kappa={sizes['kappa']:g} of descent is not a condition number, which is at least 1."
    if sizes["start"] == "worst" and sizes["scaling"] != "none":
        return "start=worst of descent is defined only without scaling: take start=random."
    if sizes["tolerance"] >= 1:
        return f"tolerance={sizes['tolerance']:g} of descent must be below 1: x = 0 meets any other."
    minimum = MIN_TOLERANCE * sizes["kappa"] * unit_roundoff(sizes["dtype"])
    if 0 < sizes["tolerance"] < minimum:
        return (
            f"tolerance={sizes['tolerance']:g} of descent can't be reached in {sizes['dtype']} with "
            f"kappa={sizes['kappa']:g}: ask for {minimum:.1e} or more, or for float64."
        )
    return None


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    n, dtype = sizes["n"], sizes["dtype"]
    outputs = {"x": ((n,), dtype), "history": ((sizes["iterations"] + 1,), dtype), "steps": ((1,), "int64")}
    return {"matrix": ((n, n), dtype), "b": ((n,), dtype)}, outputs


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write b in place; returns its name. `generate` writes the matrix."""
    inputs["b"][...] = system.from_sizes(sizes, round).b
    return ["b"]


def generate(problem: Problem, round: int) -> None:
    """Write the round's matrix in place."""
    equations = system.from_sizes(problem.sizes, round)
    system.generate(problem, equations.c, equations.d, equations.p)


def cost(sizes: Sizes, facts: Mapping[str, int]) -> SimpleNamespace:
    """FLOPs of the products or, for `direct`, of Cholesky's factorisation, and the minimum of bytes.

    Half of A suffices because A is symmetric. It is read once if it fits on a chip, where it may stay, else in every
    iteration.
    """
    n = sizes["n"]
    half = n * (n + 1) // 2 * np.dtype(sizes["dtype"]).itemsize
    flops = n**3 / 3 if sizes["algorithm"] == "direct" else 2 * n * n * facts["steps"]
    reads = max(facts["steps"], 1) if half > MAX_ON_CHIP else 1
    return SimpleNamespace(flops=flops, bytes=half * reads, precision=sizes["dtype"])


def check(
    sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, reference: Any, precision: str
) -> Round:
    """Compare the history with the reference's, A x with b, and the last step with the expected one."""
    equations = system.from_sizes(sizes, round)
    x, steps = outputs["x"].astype(np.float64), int(outputs["steps"][0])
    residual = np.linalg.norm(equations.b - equations.product(x))
    if sizes["algorithm"] == "direct":
        allowed = CONFIDENCE * sizes["n"] ** 0.5 * unit_roundoff(precision) * equations.norm * np.linalg.norm(x)
        return [Check("residual", float(residual), float(allowed) or np.finfo(np.float64).tiny)], None
    exact = trajectory.from_sizes(sizes, round)
    if exact.history[-1] > sizes["tolerance"] ** 2 * (equations.b @ equations.b) > 0:
        raise LadderError(
            f"iterations={sizes['iterations']} of descent don't suffice for tolerance={sizes['tolerance']:g}: the "
            f"exact solve reaches {(exact.history[-1] / exact.history[0]) ** 0.5:.1e}. Ask for more iterations."
        )
    if not 0 <= steps <= sizes["iterations"]:
        middle = sizes["iterations"] / 2  # a number outside 0 to `iterations` is farther from it than its bound
        return [Check("steps", abs(steps - middle), middle)], None
    history = outputs["history"].astype(np.float64)
    computed, expected = history[: steps + 1], exact.history[: steps + 1]
    # Residuals as small as rounding errors always pass.
    allowed = exact.drift[: steps + 1] + exact.gap[: steps + 1] ** 2 + unit_roundoff(precision) * expected
    checks = [
        compare("history", computed, expected, allowed),
        compare("history beyond the end", history[steps + 1 :], np.zeros(len(history) - steps - 1), 0.0),
        Check(
            "true residual", float(abs(residual - computed[-1] ** 0.5)), float(exact.gap[steps]) or np.finfo(float).tiny
        ),
        *end_checks(sizes, history, steps, equations.b @ equations.b),
    ]
    if sizes["tolerance"]:
        limit = sizes["tolerance"] * np.linalg.norm(equations.b) + exact.gap[steps]
        checks.append(Check("residual", float(residual), float(limit)))
    is_long = steps >= MIN_STEPS and exact.history[MIN_STEPS] > unit_roundoff(precision) ** 2 * exact.history[0]
    # With kappa = 1 the matrix is diagonal, and any solve ends with an x that is rounded once.
    if precision == "float32" and sizes["n"] >= MIN_ELEMENTS and is_long and sizes["kappa"] > 1:
        # Fails if the median error is below ONE_ROUNDING; 1e-9 stands for an error of 0.
        checks.append(
            Check("precision", ONE_ROUNDING / max(median_error(x, sizes, round, steps, precision), 1e-9), 1.0)
        )
    points = zip(range(steps + 1), computed, expected, allowed, strict=True)
    return checks, [dict(zip(CURVE, map(float, point), strict=True)) for point in points]


def end_checks(sizes, history, steps, squared_b):
    """Checks that a solve stopped at the right step; `squared_b` is b.b."""
    if history[steps] == 0:
        return []
    if not sizes["tolerance"]:
        return [Check("steps", float(abs(sizes["iterations"] - steps)), 0.5)]
    # The variant's b.b is a sum of n terms, too.
    slack = 1 + CONFIDENCE * sizes["n"] ** 0.5 * unit_roundoff(sizes["dtype"])
    limit = sizes["tolerance"] ** 2 * squared_b
    checks = [Check("residual where it stops", float(history[steps] / limit), slack)]
    if steps:
        checks.append(Check("residual before it stops", float(limit / history[steps - 1]), slack))
    return checks


def median_error(x, sizes, round, steps, precision):
    """The median relative error of x's elements, in units of the unit roundoff.

    If a variant iterates at a higher precision than declared and rounds x once at the end, this is the median of a
    single rounding, at most ONE_ROUNDING.
    """
    expected = trajectory.x_after(sizes, round, steps)
    relative_errors = np.divide(x - expected, expected, out=np.zeros_like(expected), where=expected != 0)
    return float(np.median(np.abs(relative_errors))) / unit_roundoff(precision)
