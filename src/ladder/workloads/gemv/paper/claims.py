"""The claims about matrix-vector products: those of the earlier study, and our own."""

from functools import partial

from ladder.report.latex import percent
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.claims import floor_claim
from ladder.report.telling.lines import SEVERAL, Cause, Claim, select
from ladder.store.study import phase_times

COMPUTE, TRANSFER_PHASES = "compute", ("scatter", "broadcast", "gather")
SHIP, RESIDENT = (select(key, "ranks", ranks=SEVERAL) for key in ("ship", "resident"))
ONE_RANK, HYBRID = select("resident", "ranks", ranks=1), select("hybrid-ship", "ranks")  # one rank sends nothing
# The communication and the computation of a product: on the ranks of one host, on several hosts, in hybrid ranks.
IN_ONE_HOST = TRANSFER, COMPUTATION = [SHIP.phase(*phases) for phases in (TRANSFER_PHASES, [COMPUTE])]
ACROSS_HOSTS = [select("ship", "nodes").phase(*phases) for phases in (TRANSFER_PHASES, [COMPUTE])]
HYBRID_TRANSFER = HYBRID.phase(*TRANSFER_PHASES)
NEEDS_HOSTS, NEEDS_RANKS = "several hosts, linked by a network", "one rank and several"
HYBRID_WORDS, WHOLE = "Threads in ranks reduce communication", Cause("whole product:", SHIP, HYBRID)


def has_one_numa_node(machine):
    """Whether a machine's description has a single NUMA node."""
    return machine.description.get("cpu", {}).get("NUMA node(s)") == "1"


def speedup_of_binding(study, line):
    """The speed-up of bound threads and first touch over a line; NotMeasured where all memory is local."""
    if has_one_numa_node(study.machine("host")):
        raise NotMeasured(needs="several NUMA nodes")
    return study.ratio(line, "spread")


def scatter_share(study, ratio):
    """The share of the phase `scatter`, as the text of a cause."""
    times = phase_times(study.phases(SHIP))
    return f"`scatter` takes {percent(times['scatter'] / sum(times.values()), 2)}" if "scatter" in times else None


speedup_over_dynamic, speedup_over_openmp = (partial(speedup_of_binding, line=key) for key in ("dynamic", "openmp"))
ONE_AND_TWO_GPUS = [select("graph", "gpus", ranks=count) for count in (1, 2)]
EARLIER_CLAIMS = [
    Claim("sockets", "Remote memory and migrating threads slow the loop", ratio=speedup_over_dynamic, place="slide 9"),
    Claim("binding", "Binding and first touch help", ratio=speedup_over_openmp, place="slides 10, 11"),
    Claim("nodes", "Communication longer than computation", *ACROSS_HOSTS, needs=NEEDS_HOSTS, place="slides 13, 14"),
    Claim("hybrid", HYBRID_WORDS, needs=NEEDS_HOSTS, ratio=lambda study: None, place="slide 14"),
    Claim("coalesced", "`cuda_coalesced` over `cuda_naive`", "naive", "coalesced", place="slide 17"),
    Claim("shared", "`cuda_shared` over `cuda_coalesced`", "coalesced", "shared", place="slides 18, 19"),
]
OUR_CLAIMS = [
    floor_claim("memory", "`openmp_bound` reads as fast as memory permits", "spread"),
    floor_claim("warp", "`cuda_warp` reads as fast as memory permits", "warp"),
    Claim("equal", "`cuda_warp` as fast as `cublas`", "cublas", "warp", 1, 1),
    Claim("in-memory", "Communication longer than computation, in one host", *IN_ONE_HOST, needs="the phases"),
    Claim("hybrid/host", f"{HYBRID_WORDS}, in one host", TRANSFER, HYBRID_TRANSFER, needs="both phases", cause=WHOLE),
    Claim("travelling", "Ranks lose when the matrix is sent", SHIP, ONE_RANK, needs=NEEDS_RANKS, cause=scatter_share),
    Claim("staying", "Ranks gain when the matrix stays", ONE_RANK, RESIDENT, needs=NEEDS_RANKS),
    Claim("nccl", "`nccl_cublas` over `mpi_cublas`, matrix sent", "mpi-ship", "nccl-ship"),
    floor_claim("link", "`nccl_cublas` sends as fast as a link permits", "nccl-ship"),
    # The model divides the bytes by the bandwidth of the memory of all GPUs.
    Claim("gpus/2", "Two GPUs over one, matrix resident", *ONE_AND_TWO_GPUS, 2, 2, needs="one GPU and two"),
]
CLAIMS = {"earlier": EARLIER_CLAIMS, "own": OUR_CLAIMS}
