"""A study of linear systems with times made up by rule: of solves, of elementary kernels, of convergence."""

import itertools
import math

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import collect, stored
from ladder.report.study import Study
from ladder.workloads.descent_kernel.earlier import COLUMNS

CARD = "nvidia-h200"
# Seconds of an iteration at n = 512.
LADDER = [
    ("openmp", {"threads": 1, "recompute": 1}, 128e-6),
    *(("openmp", {"threads": threads, "recompute": 0}, 64e-6 / threads) for threads in (1, 2, 4)),
    ("blas", {"threads": 4}, 12e-6),
    *(("cuda_version2", {"block": block, "load": 4}, 160e-6) for block in (32, 128, 512)),
    ("cublas", {"graph": "off"}, 24e-6),
    ("cublas", {"graph": "on"}, 8e-6),
    ("cuda_fused", {"graph": "off"}, 16e-6),
    ("cuda_fused", {"graph": "on"}, 4e-6),
    ("cuda_persistent", {}, 2e-6),
    ("cuda_cluster", {}, 1.6e-6),
    ("cuda_symmetric", {}, 6.4e-6),
    ("numpy_loop", {"threads": 1}, 80e-6),
    ("cupy_loop", {}, 136e-6),
]
LARGE = {"cublas": 1.1e-3, "cuda_fused": 1e-3, "cuda_persistent": 1e-3, "cuda_symmetric": 0.58e-3, "cupy_loop": 1.2e-3}
SIZES = (512, 1024, 2048, 4096, 8192, 16384)
# Nanoseconds of a solve, and how they grow with n: Cholesky is the cheapest of all below n = 1024.
SOLUTION = {
    ("blas", "steepest"): (8e-8, 2),
    ("blas", "cg"): (2e-8, 2),
    ("scipy_cg", "cg"): (3e-8, 2),
    ("scipy_cholesky", "direct"): (2e-11, 3),
    ("cuda_persistent", "steepest"): (2e-10, 2),
    ("cuda_persistent", "cg"): (4e-11, 2),
    ("cuda_symmetric", "steepest"): (4e-10, 2),
    ("cuda_symmetric", "cg"): (8e-11, 2),
    ("cupy_cg", "cg"): (2e-9, 2),
    ("cusolver", "direct"): (1e-13, 3),
}
STEPS = {"steepest": 400, "cg": 50, "direct": 0}
# Seconds of a kernel: a launch, and its elements; swapped reductions take longer.
LAUNCH, ELEMENT = 2e-6, 4e-12
MATRIX = ("init", "product", "reduction")


def descent(n, **changes):
    """The sizes of a system."""
    sizes = {"n": n, "kappa": 100.0, "iterations": 100, "algorithm": "steepest", "dtype": "float32"}
    return complete("descent", sizes | changes)


def cases():
    """(experiment, case, seconds, facts) of all of descent's experiments."""
    for variant, tuning, seconds in LADDER:
        yield "descent_ladder", Case("descent", variant, descent(512), tuning), 100 * seconds, {"steps": 100}
    double = descent(512, dtype="float64")
    yield "descent_ladder", Case("descent", "cuda_persistent", double, {}), 4e-4, {"steps": 100}
    for variant, seconds in (("cuda_version1", 80e-6), ("cuda_cluster", 1e-6)):
        yield "descent_version1", Case("descent", variant, descent(32), {}), 100 * seconds, {"steps": 100}
    for variant, seconds in LARGE.items():
        tuning = {"graph": "on"} if variant in ("cublas", "cuda_fused") else {}
        for form in ({"product": "gemv"}, {"product": "symv"}) if variant == "cublas" else ({},):
            case = Case("descent", variant, descent(32768, iterations=20), tuning | form)
            yield "descent_large", case, 20 * seconds, {"steps": 20}
    for (variant, algorithm), (scale, power) in SOLUTION.items():
        experiment = {"blas": "descent_threads", "scipy_cholesky": "descent_direct", "cusolver": "descent_direct"}
        limits = {"iterations": 1} if algorithm == "direct" else {"iterations": 2000, "tolerance": 1e-4}
        counts = {"blas": (2, 4), "scipy_cg": (2,), "scipy_cholesky": (2,)}.get(variant, (0,))
        for n, threads in itertools.product(SIZES, counts):
            tuning = {"threads": threads} if threads else {}
            case = Case("descent", variant, descent(n, algorithm=algorithm, start="random", **limits), tuning)
            seconds = scale * n**power * (0.5 if threads == 4 else 1)
            yield experiment.get(variant, "descent_solution"), case, seconds, {"steps": STEPS[algorithm]}
    for variant, seconds in {"cuda_fused": 1.25, "cuda_symmetric": 0.75}.items():
        sizes = descent(163840, tolerance=1e-4, iterations=2000, algorithm="cg", start="random")
        tuning = {"graph": "on"} if variant == "cuda_fused" else {}
        yield "descent_largest", Case("descent", variant, sizes, tuning), seconds, {"steps": 50}
    starts = {"steepest": "worst", "cg": "random"}
    for kappa, algorithm, recompute in itertools.product((10.0, 100.0, 1000.0), starts, (0, 50)):
        sizes = descent(4096, kappa=kappa, iterations=200, algorithm=algorithm, start=starts[algorithm])
        seconds = 200 * 20e-6 * (1.02 if recompute else 1)
        for variant, tuning in (("blas", {"threads": 2}), ("cuda_fused", {"graph": "on"})):
            case = Case("descent", variant, sizes, tuning | {"recompute": recompute})
            yield "descent_convergence", case, seconds, {"steps": 200}
    yield from kernel_cases()


def kernel_cases():
    """(experiment, case, seconds, facts) of the elementary kernels."""
    names = ("init", "product", "reduction", "transpose", "scale", "vecdif", "vecsum")
    for name, (block, n, load) in itertools.product(names, (*COLUMNS, (512, 512, 4), (512, 4096, 4))):
        sizes = complete("descent_kernel", {"kernel": name, "n": n})
        seconds = LAUNCH + ELEMENT * (n * n if name in MATRIX else n)
        other = {"reduction": "swapped", "vecsum": "square"}.get(name)
        for launch in filter(None, ("right", other)):
            tuning = {"block": block, "load": load, "launch": launch}
            slower = 1.5 if launch == "swapped" and block == 512 else 1
            yield "descent_kernels", Case("descent_kernel", "cuda_version2", sizes, tuning), slower * seconds, None


def reported(case, step):
    """The residual that a run reports: what the theory says or, where it is recomputed, at least rounding's 1e-6.

    From there that of steepest descent falls again; that of CG stays.
    """
    kappa, is_cg = case.sizes["kappa"], case.sizes["algorithm"] == "cg"
    root = math.sqrt(kappa) if is_cg else kappa
    rate, every = (root - 1) / (root + 1), case.tuning.get("recompute")
    since = step % every if every else step
    if rate ** (step - since) > 1e-6:
        return rate**step
    return 1e-6 if is_cg else 1e-6 * rate**since


def curves(rows, case):
    """The points of the first process, fewer of them towards the end."""
    points = []
    for step in [*range(50), *range(50, case.sizes["iterations"] + 1, 10)]:
        residual = 4096 * reported(case, step) ** 2
        points.append(rows[0] | {"step": step, "residual": residual, "reference": residual, "bound": residual})
    return points


def checks(rows, case):
    """How far the reported residual of each process is from the true one: 1e-6 or, recomputed, 1e-7 of |b|, 64."""
    error = 6.4e-6 if case.tuning.get("recompute") else 6.4e-5
    return [row | {"check": "true residual", "error": error, "bound": 1e-3} for row in rows if row["sample"] == 0]


def tables(machine=CARD, processes=6, chosen=None):
    """The tables of all experiments, or of the chosen (experiment, case, seconds, facts)."""
    found = {}
    for experiment, case, seconds, facts in chosen if chosen is not None else cases():
        parts = found.setdefault(experiment, {name: [] for name in collect.TABLES})
        rows = made_up.case_rows(machine, experiment, case, seconds, processes, 2, facts=facts)
        if rows[0]["device"] == "cuda":
            rows = [row | {"joules": 500 * row["seconds"], "sustained": row["seconds"]} for row in rows]
        parts["samples"] += rows
        if experiment == "descent_convergence":
            parts["curves"] += curves(rows, case)
            parts["checks"] += checks(rows, case)
    return {
        name: {table: stored.with_integers(pd.DataFrame(rows)) for table, rows in parts.items()}
        for name, parts in found.items()
    }


def ceilings(machine=CARD):
    """The tables of what reading reaches, on cores and on the card."""
    chosen = []
    for threads in (1, 2, 4):
        sizes = complete("stream", {"kernel": "read", "elements": 2**22})
        case = Case("stream", "openmp", sizes, {"threads": threads})
        chosen.append(("ceiling_bandwidth", case, 2**22 * 8 / (10e9 * threads)))
    case = Case("stream", "cuda", sizes, {"block": 512})
    chosen.append(("ceiling_gpu_bandwidth", case, 2**22 * 8 / 4.4e12))
    return made_up.tables(machine, chosen=chosen)


def study(machine=CARD, **choices):
    """A study of one machine with its card."""
    return Study(tables(machine, **choices) | ceilings(machine), machine, {machine: made_up.description()})
