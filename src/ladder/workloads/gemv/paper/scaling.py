"""How products scale: rates by cores of a host, and by GPUs with a resident matrix."""

from ladder.report.figures.looks import COLOURS, Look
from ladder.report.telling import scaling
from ladder.report.telling.lines import select
from ladder.report.telling.scaling import Panel
from ladder.store import rates
from ladder.workloads.gemv.paper.model import bandwidth_by_gpus

TITLE = "Matrix-vector products by threads, ranks and GPUs"
CAPTION = """\
Rates of products. Left: by cores of the host, for threads that share the matrix, and for ranks that receive their rows
for every product (ship) or once (resident). Right: by number of GPUs, with a resident matrix. The wide
line is the bandwidth of the same number of cores or GPUs. Medians with 95 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards", "gemv_cards_large")
USES_CEILINGS = True
DASHED = (4, 1.5)
HOST = [
    (select("openmp", "threads"), Look("openmp", COLOURS["red"], "o")),
    (select("spread", "threads"), Look("openmp_bound, spread", COLOURS["orange"], "o")),
    (select("blas", "threads"), Look("blas", COLOURS["blue"], "o")),
    (select("ship", "ranks"), Look("mpi, ship", COLOURS["pink"], "o", DASHED)),
    (select("resident", "ranks"), Look("mpi, resident", COLOURS["pink"], "o")),
    (select("hybrid", "ranks"), Look("mpi_openmp, resident", COLOURS["olive"], "o")),
]
GPUS = [
    (select("graph", "most GPUs"), Look("nccl_cublas, graph", COLOURS["indigo"], "o")),
    (select("nccl-resident", "most GPUs"), Look("nccl_cublas", COLOURS["indigo"], "o", DASHED)),
    (select("mpi-resident", "most GPUs"), Look("mpi_cublas", COLOURS["sky"], "o", DASHED)),
]


def draw(study):
    """A panel of the host and one of the GPUs."""
    panels = [Panel("host", HOST, "cores", rates.bandwidths), Panel("widest", GPUS, "GPUs", bandwidth_by_gpus)]
    return scaling.figure(study, panels, "bytes", "bandwidth", "matrix-vector products on threads, ranks and GPUs")
