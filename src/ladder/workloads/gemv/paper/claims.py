"""The claims about matrix-vector products: those of the earlier study, and our own."""

from functools import partial

from ladder.report.latex import percent
from ladder.report.telling.chapter_study import NotMeasured, phase_times
from ladder.report.telling.claims import share_of_floor
from ladder.report.telling.lines import FLOOR, SEVERAL, Cause, Claim, select
from ladder.store.study import values

FAR_LONGER = 2  # times as long, at least
NEAR_BANDWIDTH = 1.1  # times as long as the bandwidth permits, at most
EQUAL = 0.05  # the margin of a claim of equality
COMPUTE = "compute"
SHIP, RESIDENT = (select(key, "ranks", ranks=SEVERAL) for key in ("ship", "resident"))
SHIP_ONE, RESIDENT_ONE = (select(key, "ranks", ranks=1) for key in ("ship", "resident"))
BY_MPI = select("mpi-ship", "gpus")
PIECES, PIECES_RESIDENT = ([select(key, "gpus", chunks=n) for n in (1, 4)] for key in ("nccl-ship", "nccl"))
LONGER = "Communication far longer than computation"
BOTH, CEILINGS = "one rank and several", "the rung and ceilings"
near = partial(Claim, faster=FLOOR, min=0, max=NEAR_BANDWIDTH, margin=0, needs=CEILINGS, cause=share_of_floor())


def binding_ratio(study):
    """The speed-up by bound threads and first touch; a single memory node would only test the binding."""
    ratio = study.ratio("openmp", "spread")
    if has_one_memory(study.machine("host")):
        raise NotMeasured(needs="several memory nodes")
    return ratio


def has_one_memory(host):
    """Whether a machine's description shows a single memory node."""
    return host.descriptions.get(host.subject, {}).get("cpu", {}).get("NUMA node(s)") == "1"


def phase_ratio(study, selection=SHIP):
    """The time of all phases except the computation over that of the computation."""
    return study.ratio_to_rest(selection, [COMPUTE], inverse=True)


def scatter_share(study, ratio):
    """The share of the phase `scatter`, as the text of a cause."""
    times = phase_times(study.phases(SHIP))
    return f"`scatter`: {percent(times['scatter'] / sum(times.values()), 2)}" if "scatter" in times else None


def graph_words(study):
    """The words of the claim about a CUDA graph, with the number of GPUs."""
    count = max(values(study.frame("most GPUs"), "ranks"), default=0)
    return f"A CUDA graph over launches, {count} GPUs" if count else "A CUDA graph over launches"


def over_one_gpu(count, numeral, min_speedup):
    """The claim that `count` GPUs speed up a product over one GPU."""
    eager, graph = ([select(key, "most GPUs", ranks=ranks) for ranks in (1, count)] for key in ("nccl", "graph"))
    words, cause = f"{numeral} GPUs over one, with a graph", Cause("without a graph", *eager)
    return Claim(f"gpus/{count}", words, *graph, min_speedup, needs=f"{count} GPUs", cause=cause)


ON_TWO_RANKS = Cause("on two ranks", ratio=partial(phase_ratio, selection=select("ship", "ranks", ranks=2)))
SPREAD = Cause("spread over close", select("spread", "threads", binding="close"), select("spread", "threads"))
OVER_THREADS = Cause("over all threads", select("openmp", "ranks"), RESIDENT)
HYBRID_RESIDENT = Cause("matrix resident", "resident", "hybrid")
BY_NCCL = Cause("with NCCL", SHIP, select("nccl-ship", "gpus"))
RESIDENT_GAIN = Cause("matrix resident", *PIECES_RESIDENT)
EARLIER = [
    Claim("openmp", "Threads speed up a product", "serial", "openmp"),
    Claim("dynamic", "A `dynamic` schedule over `openmp`", "openmp", "dynamic"),
    Claim("bound", "Bound threads with first touch", cause=SPREAD, ratio=binding_ratio),
    Claim("communication", LONGER, None, None, FAR_LONGER, needs="the phases", cause=ON_TWO_RANKS, ratio=phase_ratio),
    Claim("travelling", "Ranks lose when the matrix is sent", SHIP, SHIP_ONE, needs=BOTH, cause=scatter_share),
    Claim("staying", "Ranks gain when the matrix stays", RESIDENT_ONE, RESIDENT, needs=BOTH, cause=OVER_THREADS),
    Claim("hybrid", "`mpi_openmp` over `mpi`, matrix sent", "ship", "hybrid-ship", cause=HYBRID_RESIDENT),
    Claim("nodes", "Ranks gain from several nodes", RESIDENT_ONE, select("resident", "nodes"), needs="several nodes"),
    Claim("coalesced", "`cuda_coalesced` over `cuda_naive`", "naive", "coalesced"),
    Claim("shared", "`cuda_shared` over `cuda_naive`", "naive", "shared"),
    Claim("cublas", "`cublas` over `cuda_coalesced`", "coalesced", "cublas"),
    Claim("gpus-over-ranks", "Several GPUs over ranks, matrix sent", SHIP, BY_MPI, needs="both", cause=BY_NCCL),
    Claim("gpu", "One GPU over all threads", "openmp", "cublas"),
]
RUNGS = [
    near("memory", "`openmp_bound` near the bandwidth", "spread"),
    near("warp", "`cuda_warp` near the bandwidth", "warp"),
    Claim("equal", "`cuda_warp` as fast as `cublas`", "cublas", "warp", 1, 1, EQUAL),
    Claim("small", "`cuda_warp` over `cublas`, small matrix", select("cublas", "small"), select("warp", "small")),
    Claim("long", "`cuda_warp` over `cublas`, few long rows", select("cublas", "long"), select("warp", "long")),
    Claim("nccl", "`nccl_cublas` over `mpi_cublas`, matrix sent", "mpi-ship", "nccl-ship"),
    near("link", "`nccl_cublas` near the link's rate", "nccl-ship"),
    Claim("pieces", "Four pieces over one, matrix sent", *PIECES, needs="both numbers of pieces", cause=RESIDENT_GAIN),
    Claim("graph", graph_words, select("nccl", "most GPUs"), select("graph", "most GPUs"), needs="both"),
    over_one_gpu(2, "Two", 1.8),
    over_one_gpu(4, "Four", 3.6),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
