"""The sources of the chapter's measurements, and the lines of its ladder, at tunings that are fixed beforehand."""

from functools import partial

from ladder.report.telling.lines import MAX, MIN, OFF, SEVERAL, Line, Needs, Source

DTYPE, UNIT, GIGABYTE = "float64", "Gigabyte", 1e9  # GIGABYTE: the bytes of UNIT, the ladder's unit
# The claims are about matrices far larger than any cache. Sizes that several sources share:
MEDIUM, LARGE = {"n": 32768, "m": 8192}, {"n": 65536, "m": 32768}
OUTSIDE = {"mode": ["resident"], "phase": ["scatter"]}  # a resident matrix is sent before the first product
PHASES = ("scatter", "broadcast", "compute", "gather")
GPU_EXPERIMENTS = ("gemv_cards", "gemv_cards_large", "gemv_cards_larger")  # a GPU for each rank
float64_source = partial(Source, dtype=DTYPE)
SOURCES = {
    "threads": float64_source("host", "gemv_threads", n=8192, m=16384),
    "ranks": float64_source("host", "gemv_mpi", **MEDIUM),
    "nodes": float64_source("host", "gemv_mpi", nodes=SEVERAL, **MEDIUM),
    "gpu": float64_source("gpu", "gemv_gpu", n=16384, m=32768),
    "long": float64_source("gpu", "gemv_gpu", n=100, m=1000000),
    "gpus": float64_source("gpus", "gemv_cards", **MEDIUM),
    "sent": float64_source("gpus", "gemv_cards", mode="ship", **MEDIUM),
    "large": float64_source("gpus", "gemv_cards_large", **LARGE),
    "most GPUs": float64_source("widest", "gemv_cards_large", **LARGE),
    "larger": float64_source("widest", "gemv_cards_larger", n=131072, m=32768),
    "ranks, all sizes": float64_source("host", "gemv_mpi"),
    "ranks, smallest": float64_source("host", "gemv_mpi", n=MIN),
    "GPUs, all sizes": float64_source("gpus", "gemv_cards"),
}
# A GPU that lacks the first or the last rung isn't chosen.
MACHINES = {
    "host": Needs(("threads",)),
    "gpu": Needs(("gpu",), frozenset({"cuda_naive", "cublas"})),
    "gpus": Needs(("sent",), min={"ranks": 2}),
    "widest": Needs(("large",), widest="ranks"),
}
BLOCK, PLAIN = {"block": 128}, {"chunks": 1, "graph": OFF}  # PLAIN: the matrix in one piece, and no CUDA graph
THREADS, RANKS = {"threads": MAX}, {"ranks": MAX}
DYNAMIC, SPREAD = {"schedule": "dynamic"} | THREADS, {"binding": "spread"} | THREADS
SHIP, RESIDENT, HYBRID = {"mode": "ship"} | RANKS, {"mode": "resident"} | RANKS, {"threads": 8}
GRAPH = RESIDENT | PLAIN | {"graph": "on"}
SHIP_LABEL, RESIDENT_LABEL, GRAPH_LABEL = "`ship`", "`resident`", "`resident`, `graph`"
LINES = {
    "serial": Line("openmp", {"threads": 1}, "threads", "dot products of rows, four at once"),
    "dynamic": Line("c_openmp", DYNAMIC, "threads", "rows scheduled one by one, in C", "cores", "`dynamic`"),
    "openmp": Line("openmp", THREADS, "threads", "a block of rows for each thread", "the scheduler"),
    "spread": Line("openmp_bound", SPREAD, "threads", "bound threads, first touch", "remote memory", "`spread`"),
    "blas": Line("blas", THREADS, "threads", "OpenBLAS", "instructions"),
    "ship": Line("mpi", SHIP, "ranks", "rows sent for every product", "", SHIP_LABEL, begins=True),
    "hybrid-ship": Line("mpi_openmp", SHIP | HYBRID, "ranks", "fewer ranks, with threads", "messages", SHIP_LABEL),
    "resident": Line("mpi", RESIDENT, "ranks", "rows sent once", "copies", RESIDENT_LABEL, begins=True),
    "hybrid": Line("mpi_openmp", RESIDENT | HYBRID, "ranks", "fewer ranks, with threads", "messages", RESIDENT_LABEL),
    "naive": Line("cuda_naive", BLOCK, "gpu", "one thread per row", "memory", begins=True),
    "coalesced": Line("cuda_coalesced", BLOCK, "gpu", "transposed matrix, coalesced loads", "memory sectors"),
    "shared": Line("cuda_shared", BLOCK, "gpu", "the same, x in shared memory", "loads of x"),
    "warp": Line("cuda_warp", {}, "gpu", "at least one warp per row, 16-byte loads", "load latency"),
    "cublas": Line("cublas", {}, "gpu", "cuBLAS"),
    "mpi-ship": Line("mpi_cublas", SHIP | PLAIN, "sent", "through host memory", "", SHIP_LABEL, begins=True),
    "nccl-ship": Line("nccl_cublas", SHIP | PLAIN, "sent", "from GPU to GPU", "copies", SHIP_LABEL),
    "mpi-resident": Line("mpi_cublas", RESIDENT | PLAIN, "large", "rows sent once", "the link", RESIDENT_LABEL),
    "nccl-resident": Line("nccl_cublas", RESIDENT | PLAIN, "large", "the same with NCCL", "the link", RESIDENT_LABEL),
    "graph": Line("nccl_cublas", GRAPH, "gpus", "rows sent once, one CUDA graph", "the link", GRAPH_LABEL, begins=True),
}
TABLE = [["serial", "dynamic", "openmp", "spread"], ["ship", "hybrid-ship"], ["resident"]]
TABLE += [["naive", "coalesced", "shared", "warp", "cublas"], ["mpi-ship", "nccl-ship"], ["graph"]]
FIGURE = [key for keys in TABLE for key in keys]


def per_unit(rows):
    """Seconds per gigabyte of the arrays, nearly all of it the matrix, since matrices differ in size."""
    return rows["seconds"] / rows["bytes"] * GIGABYTE
