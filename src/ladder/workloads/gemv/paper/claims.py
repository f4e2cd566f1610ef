"""The claims about matrix-vector products: those of the earlier study, and our own questions."""

from dataclasses import replace
from functools import partial

from ladder.report import ratios
from ladder.report.latex import percent
from ladder.report.telling.chapter_study import NotMeasured, phase_times, required
from ladder.report.telling.claims import share_of_floor
from ladder.report.telling.lines import FLOOR, SEVERAL, Cause, Claim, select
from ladder.store.study import cases

COMPUTE = "compute"
SHIP, RESIDENT = (select(key, "ranks", ranks=SEVERAL) for key in ("ship", "resident"))
ONE = select("resident", "ranks", ranks=1)  # which sends nothing
HYBRID = select("hybrid-ship", "ranks")
NODES, RANKS = "several nodes, linked by a network", "one rank and several"
at_floor = partial(Claim, faster=FLOOR, min=1, max=1, needs="the rung and ceilings", cause=share_of_floor())


def has_one_memory(host):
    """Whether a machine's description shows a single memory node."""
    return host.descriptions.get(host.subject, {}).get("cpu", {}).get("NUMA node(s)") == "1"


def over_bound(key):
    """The ratio of a claim: the speed-up by bound threads and first touch over a line, where some memory is far."""

    def ratio(study):
        if has_one_memory(study.machine("host")):
            raise NotMeasured(needs="several memory nodes")
        return study.ratio(key, "spread")

    return ratio


def phase_ratio(study, selection):
    """The time of all phases except the computation over that of the computation."""
    return study.ratio_to_rest(selection, [COMPUTE], inverse=True)


def communication_ratio(study, slower, faster):
    """The time of all phases of a selection except the computation over that of another's."""
    rows, others = (required(study.phases(selection)) for selection in (slower, faster))
    ratio = ratios.of_parts(*(frame[frame["phase"] != COMPUTE] for frame in (rows, others)))
    return replace(required(ratio), cases=cases(rows, others))


def scatter_share(study, ratio):
    """The share of the phase `scatter`, as the text of a cause."""
    times = phase_times(study.phases(SHIP))
    return f"`scatter` takes {percent(times['scatter'] / sum(times.values()), 2)}" if "scatter" in times else None


OVER_NODES = partial(phase_ratio, selection=select("ship", "nodes"))
ON_ONE_HOST = partial(phase_ratio, selection=SHIP)
LESS_COMMUNICATION = partial(communication_ratio, slower=SHIP, faster=HYBRID)
TWO_GPUS = [select("graph", "gpus", ranks=count) for count in (1, 2)]
EARLIER = [
    Claim("sockets", "Far memory and moving threads slow the plain loop", ratio=over_bound("dynamic"), place="slide 9"),
    Claim("binding", "Binding and first touch help", ratio=over_bound("openmp"), place="slides 10, 11"),
    Claim("nodes", "Communication beyond computation", needs=NODES, ratio=OVER_NODES, place="slides 13, 14"),
    Claim(
        "hybrid",
        "Threads in ranks lessen communication, in one host",
        needs="the phases of both",
        cause=Cause("whole product", SHIP, HYBRID),
        ratio=LESS_COMMUNICATION,
        place="slide 14",
    ),
    Claim("coalesced", "`cuda_coalesced` over `cuda_naive`", "naive", "coalesced", place="slide 17"),
    Claim("shared", "`cuda_shared` over `cuda_coalesced`", "coalesced", "shared", place="slides 18, 19"),
]
OWN = [
    at_floor("memory", "`openmp_bound` reads as fast as memory permits", "spread"),
    at_floor("warp", "`cuda_warp` reads as fast as memory permits", "warp"),
    Claim("equal", "`cuda_warp` as fast as `cublas`", "cublas", "warp", 1, 1),
    Claim("in-memory", "Communication beyond computation, in one host", needs="the phases", ratio=ON_ONE_HOST),
    Claim("travelling", "Ranks lose when the matrix is sent", SHIP, ONE, needs=RANKS, cause=scatter_share),
    Claim("staying", "Ranks gain when the matrix stays", ONE, RESIDENT, needs=RANKS),
    Claim("nccl", "`nccl_cublas` over `mpi_cublas`, matrix sent", "mpi-ship", "nccl-ship"),
    at_floor("link", "`nccl_cublas` sends as fast as a link permits", "nccl-ship"),
    # The model divides the bytes by the bandwidth of the memory of all GPUs.
    Claim("gpus/2", "Two GPUs over one, matrix resident", *TWO_GPUS, 2, 2, needs="one GPU and two"),
]
CLAIMS = {"earlier": EARLIER, "own": OWN}
