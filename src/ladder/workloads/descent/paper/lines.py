"""Where the chapter's measurements come from, and the lines of its ladder, at tunings that are fixed beforehand."""

from functools import partial

from ladder.report import ratios
from ladder.report.telling.lines import MAX, UNSTATED, Line, Needs, Source, select
from ladder.store.study import values, where
from ladder.workloads.descent import RUNGS
from ladder.workloads.descent_kernel.earlier import VERSION1_N

UNIT = "Iteration"
N, DTYPE = 512, "float32"  # of the ladder, where the earlier study ended
CONVERGENCE, SOLUTION, DIRECT = "descent_convergence", "descent_solution", "descent_direct"
SOLVE_EXPERIMENTS = (SOLUTION, "descent_threads", DIRECT)
KERNEL_EXPERIMENTS = ("descent_kernels", "descent_kernels_128", "descent_kernels_512")  # launched as in the study
LARGE_KERNEL_N = 8192  # of kernels that write products to memory, and of one that does not


def comparable_solves(rows):
    """The solves; on the host only those on the most threads that Cholesky used, so that all use as many."""
    if "threads" not in rows:
        return rows
    is_host, is_direct = rows["device"] == "host", rows["algorithm"] == "direct"
    is_reference = is_host & is_direct if (is_host & is_direct).any() else is_host
    return rows[~is_host | (rows["threads"] == rows.loc[is_reference, "threads"].max()).fillna(False)]


# A source of solves with the seconds of one iteration, the mean over a solve.
per_iteration = partial(Source, prepare=lambda rows: rows.assign(seconds=rows["seconds"] / rows["steps"]), dtype=DTYPE)
SOURCES = {
    "ladder": per_iteration("ladder", "descent_ladder", n=N),
    "ladder on a GPU": per_iteration("ladder", "descent_ladder", n=N, device="cuda"),
    "small": per_iteration("ladder", "descent_version1", n=32),
    "large": per_iteration("ladder", "descent_large", n=32768),
    "largest": per_iteration("ladder", "descent_largest", n=163840),
    "largest solves": Source("ladder", "descent_largest", n=163840, dtype=DTYPE),
    "worst": per_iteration("convergence", CONVERGENCE, n=4096, kappa=1000, algorithm="steepest", start="worst"),
    "solution": Source("ladder", SOLUTION, prepare=comparable_solves),
    "solves": Source("solves", *SOLVE_EXPERIMENTS, prepare=comparable_solves),
    "direct": Source("solves", DIRECT),
    "direct on a GPU": Source("solves", DIRECT, device="cuda"),
    "kernels": Source("ladder", *KERNEL_EXPERIMENTS, launch="study", dtype=DTYPE),
    "version 1": Source("ladder", "descent_kernels_version1", n=VERSION1_N, dtype=DTYPE),
    "large kernels": Source("ladder", "descent_kernels_large", n=LARGE_KERNEL_N, dtype=DTYPE),
}
MACHINES = {
    "ladder": Needs(("ladder on a GPU", "ladder")),
    "solves": Needs(("direct on a GPU", "direct", "solves"), min={"n": 4096}, separate=True),
    "convergence": Needs(("worst",), separate=True),
}
BLOCKS, GRAPH = {"block": 512, "load": 8}, {"graph": "on"}  # the blocks are those of version 2 at this n
STUDY, RIGHT = (BLOCKS | {"launch": launch} for launch in ("study", "right"))
LINES = {
    "openmp/two products": Line("openmp", {"threads": 1, "recompute": 1}, "ladder", label="`two products`"),
    "openmp/one thread": Line("openmp", {"threads": 1, "recompute": 0}, "ladder"),
    "openmp": Line("openmp", {"threads": MAX, "recompute": 0}, "ladder", relieves="cores"),
    "blas": Line("blas", {"threads": MAX}, "ladder", "products by SciPy's BLAS, which reads all of A", "instructions"),
    "cuda_version1": Line("cuda_version1", {}, "small", relieves="cores", label="`n = 32`"),
    "cuda_version2": Line("cuda_version2", STUDY, "ladder", relieves="cores", label="launched as in the study"),
    "cuda_version2/right": Line("cuda_version2", RIGHT, "ladder", relieves="idle threads", label="launched correctly"),
    "cublas": Line("cublas", GRAPH, "ladder", "cuBLAS, scalars on the GPU", "traffic, trips to the host", "`graph`"),
    "cuda_fused/launched": Line("cuda_fused", {"graph": "off"}, "ladder", label="`one by one`"),
    "cuda_fused": Line("cuda_fused", GRAPH, "ladder", relieves="launches, traffic", label="`graph`"),
    "cuda_persistent": Line("cuda_persistent", {}, "ladder", "one launch a solve, A in registers", "launches, memory"),
    "cuda_cluster": Line("cuda_cluster", {}, "ladder", relieves="barriers"),
    "cuda_symmetric": Line("cuda_symmetric", {}, "ladder", relieves="memory"),
    "cupy_loop": Line("cupy_loop", {}, "ladder"),
    "scipy_cholesky": Line("scipy_cholesky", {}, "solves"),
    "cusolver": Line("cusolver", {}, "solves"),
    "kernel": Line("cuda_version2", {}, "kernels"),
    "kernel/version 1": Line("cuda_version1", {}, "version 1"),
    "kernel/large": Line("cuda_version2", {"block": 512, "load": UNSTATED, "launch": UNSTATED}, "large kernels"),
}
TABLE = [[key for key, line in LINES.items() if key in RUNGS and line.source == name] for name in ("ladder", "small")]
FIGURE = [key for key, line in LINES.items() if line.source == "ladder"]
ALGORITHMS = {"steepest": "steepest descent", "cg": "CG", "direct": "Cholesky"}
# The key of the line that represents an algorithm in comparisons, by device; fixed beforehand.
LINE_KEYS = {
    "host": {"steepest": "blas", "cg": "blas", "direct": "scipy_cholesky"},
    "cuda": {"steepest": "cuda_persistent", "cg": "cuda_persistent", "direct": "cusolver"},
}


def solve_rows(solves, device, algorithm, n):
    """The solves of a size by the variant that represents an algorithm."""
    return where(solves, device=device, variant=LINES[LINE_KEYS[device][algorithm]].variant, algorithm=algorithm, n=n)


def solve_ratios(solves, device, algorithm):
    """[(n, time of an algorithm over that of Cholesky)] at all sizes at which both were measured."""
    sizes = values(solves, "n")
    points = [(n, ratios.of(*(solve_rows(solves, device, name, n) for name in (algorithm, "direct")))) for n in sizes]
    return [(n, ratio) for n, ratio in points if ratio]


def select_kernel(name, block, n):
    """The calls of an elementary kernel, launched as in the earlier study; of version 1 if `block` is None."""
    return select("kernel", kernel=name, block=block, n=n) if block else select("kernel/version 1", kernel=name)
