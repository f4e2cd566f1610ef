"""Where the chapter's measurements come from, and the lines of its ladder, at tunings that are fixed beforehand."""

from functools import partial

from ladder.report import ratios
from ladder.report.telling.lines import MAX, Line, Needs, Source, select
from ladder.store.study import values, where
from ladder.workloads.descent import RUNGS
from ladder.workloads.descent.paper.earlier import LOADS

UNIT = "Iteration"
N, DTYPE = 512, "float32"  # of the ladder, where the earlier study ended
CONVERGENCE = "descent_convergence"
SOLUTIONS = ("descent_solution", "descent_threads", "descent_direct")
KERNELS = tuple(f"descent_kernels{name}" for name in ("", "_128", "_512", "_swapped", "_square", "_large"))
DEFAULTS = {"load": 4, "launch": "right"}  # of an elementary kernel, unless a case states them


def by_iteration(rows):
    """Solves with the seconds of one iteration, the mean over a solve."""
    return rows.assign(seconds=rows["seconds"] / rows["steps"])


def comparable_solves(rows):
    """The solves; on the host only those on the most threads that Cholesky used, so that all use as many."""
    if "threads" not in rows:
        return rows
    is_host, is_direct = rows["device"] == "host", rows["algorithm"] == "direct"
    is_reference = is_host & is_direct if (is_host & is_direct).any() else is_host
    return rows[~is_host | (rows["threads"] == rows.loc[is_reference, "threads"].max()).fillna(False)]


def select_load(rows):
    """Calls of elementary kernels, each case once, at one load by kernel, block, n and launch.

    The load, the elements of a thread, is that of the earlier study or, if it wasn't measured, the smallest measured.
    """
    rows = rows.drop_duplicates(["case", "process", "sample"])
    rows = rows.assign(**{key: rows[key].fillna(value) if key in rows else value for key, value in DEFAULTS.items()})
    keys = zip(rows["block"], rows["n"], rows["load"], strict=True)
    rank = rows["load"].mask([LOADS.get((block, n)) == load for block, n, load in keys], 0)
    return rows[rank == rank.groupby([rows[key] for key in ("kernel", "block", "n", "launch")]).transform("min")]


iteration_source = partial(Source, "host", prepare=by_iteration, dtype=DTYPE)  # of an experiment's solves
SOURCES = {
    "ladder": iteration_source("descent_ladder", n=N),
    "ladder on a GPU": iteration_source("descent_ladder", n=N, device="cuda"),
    "small": iteration_source("descent_version1", n=32),
    "large": iteration_source("descent_large", n=32768),
    "largest": iteration_source("descent_largest", n=163840),
    "largest solves": Source("host", "descent_largest", n=163840, dtype=DTYPE),
    "worst": iteration_source(CONVERGENCE, n=4096, kappa=1000, algorithm="steepest", start="worst"),
    "solves": Source("host", *SOLUTIONS, prepare=comparable_solves),
    "kernels": Source("host", *KERNELS, variant="cuda_version2", prepare=select_load),
}
MACHINES = {"host": Needs(("ladder on a GPU", "ladder"))}


def rung(variant, tuning, relieves="", *words, source="ladder"):
    """A line with the idea of its rung."""
    return Line(variant, tuning, source, "", relieves, words)


LINES = {
    "openmp/two products": rung("openmp", {"threads": 1, "recompute": 1}, "", "two products"),
    "openmp/one thread": rung("openmp", {"threads": 1, "recompute": 0}),
    "openmp": rung("openmp", {"threads": MAX, "recompute": 0}, "cores"),
    "blas": rung("blas", {"threads": MAX}, "instructions"),
    "cuda_version1": rung("cuda_version1", {}, "cores, in one block", "n = 32", source="small"),
    "cuda_version2": rung("cuda_version2", {"block": 128}, "cores"),
    "cublas/launched": rung("cublas", {"graph": "off"}, "", "one by one"),
    "cublas": rung("cublas", {"graph": "on"}, "traffic, trips to the host", "graph"),
    "cuda_fused/launched": rung("cuda_fused", {"graph": "off"}, "", "one by one"),
    "cuda_fused": rung("cuda_fused", {"graph": "on"}, "launches, traffic", "graph"),
    "cuda_persistent": rung("cuda_persistent", {}, "launches, memory"),
    "cuda_cluster": rung("cuda_cluster", {}, "barriers"),
    "cuda_symmetric": rung("cuda_symmetric", {}, "memory"),
    "numpy_loop": rung("numpy_loop", {"threads": 1}),
    "cupy_loop": rung("cupy_loop", {}),
    "scipy_cholesky": rung("scipy_cholesky", {}, source="solves"),
    "cusolver": rung("cusolver", {}, source="solves"),
    "kernel": Line("cuda_version2", {}, "kernels"),
}
TABLE = [[key for key, line in LINES.items() if key in RUNGS and line.source in ("ladder", "small")]]
FIGURE = [key for key, line in LINES.items() if line.source == "ladder"]
ALGORITHMS = {"steepest": "steepest descent", "cg": "CG", "direct": "Cholesky"}
# The lines that represent an algorithm in comparisons, on the host and on a GPU, fixed beforehand.
LINES_OF = {
    "host": {"steepest": "blas", "cg": "blas", "direct": "scipy_cholesky"},
    "cuda": {"steepest": "cuda_persistent", "cg": "cuda_persistent", "direct": "cusolver"},
}


def rows_of(solves, device, algorithm, n):
    """The solves of a size by the variant that represents an algorithm."""
    return where(solves, device=device, variant=LINES[LINES_OF[device][algorithm]].variant, algorithm=algorithm, n=n)


def points(solves, device, algorithm):
    """[(n, time of an algorithm over that of Cholesky)] at all sizes at which both were measured."""
    sizes = values(solves, "n")
    points = [(n, ratios.of(*(rows_of(solves, device, name, n) for name in (algorithm, "direct")))) for n in sizes]
    return [(n, ratio) for n, ratio in points if ratio]


def kernel(name, block, n, launch="right"):
    """The calls of an elementary kernel."""
    return select("kernel", "kernels", kernel=name, block=block, n=n, launch=launch)
