"""What is claimed of matrix-vector products, by the earlier study and behind our rungs."""

from ladder.report import latex, ratios
from ladder.report.study import values
from ladder.report.telling.chapter_study import NotMeasured, phase_times
from ladder.report.telling.claims import share
from ladder.report.telling.lines import FLOOR, SEVERAL, Cause, Claim, select

FAR = 2  # times as long, for "far longer"
NEAR = 1.1  # times as long as the bandwidth allows, for "near"
EQUAL = 0.05  # the margin of a claim of equality
COMPUTE = "compute"
SHIPPED, STAYING = (select(key, "ranks", ranks=SEVERAL) for key in ("ship", "resident"))
PHASES, ONE_AND_SEVERAL = "the phases", "one rank and several"


def bound(study):
    """Where no memory is far, what is measured is binding alone: the rest of the claim isn't tested."""
    ratio = study.ratio("openmp", "spread")
    if has_one_memory(study.machine("host")):
        raise NotMeasured(needs="several memory nodes")
    return ratio


def has_one_memory(host):
    """Whether a machine's description shows one memory node, so that no memory is far."""
    return host.descriptions.get(host.subject, {}).get("cpu", {}).get("NUMA node(s)") == "1"


def communication(selection):
    """The time of all phases but the computation over that of the computation, as a function of the study."""

    def ratio(study):
        phases = phases_of_product(study, selection)
        if phases["phase"].str.contains(" and ").any():  # both went on at once
            raise NotMeasured
        is_computed = phases["phase"] == COMPUTE
        return ratios.of_parts(phases[~is_computed], phases[is_computed])

    return ratio


def phases_of_product(study, selection):
    """The phases of every product of a case; NotMeasured where they weren't timed."""
    phases = study.phases(selection)
    if phases.empty:
        raise NotMeasured
    return of_products(phases)


def of_products(phases):
    """The phases of every product among those of a case: a matrix that stays was sent before the first one."""
    return phases[(phases["mode"] != "resident") | (phases["phase"] != "scatter")] if len(phases) else phases


def fewest(study, ratio):
    """Communication on two ranks, as a cause."""
    spent = communication(select("ship", "ranks", ranks=2))(study)
    return spent and f"on two ranks: {ratios.times(latex.digits(spent.value, 2))}"


def scattering(study, ratio):
    """The share of the phase `scatter`, as a cause."""
    spent = phase_times(phases_of_product(study, SHIPPED))
    return f"`scatter`: {latex.percent(spent['scatter'] / sum(spent.values()), 2)}" if "scatter" in spent else None


def of_widest(study):
    """A graph over launches, with the number of cards."""
    most = max(values(study.frame("most cards"), "ranks"), default=0)
    return f"A graph over launches, {most} cards" if most else "A graph over launches"


def on_another(key, words, source):
    """The claim that `cuda_warp` is faster than `cublas` on another matrix."""
    return Claim(key, f"`cuda_warp` over `cublas`, {words}", select("cublas", source), select("warp", source))


def several(count, numeral, claimed):
    """The claim of what so many cards gain over one."""
    eager, graph = ([select(key, "most cards", ranks=ranks) for ranks in (1, count)] for key in ("nccl", "graph"))
    cause = Cause("without a graph", *eager)
    words = f"{numeral} cards over one, as a graph"
    return Claim(f"cards/{count}", words, *graph, claimed, needs=f"{count} cards", cause=cause)


CLAIMS = {
    "earlier": [
        Claim("openmp", "Threads speed up a product", "serial", "openmp"),
        Claim("dynamic", "A `dynamic` schedule over `openmp`", "openmp", "dynamic"),
        Claim(
            "bound",
            "Threads bound, rows first touched",
            ratio=bound,
            cause=Cause("spread over close", select("spread", "threads", binding="close"), select("spread", "threads")),
        ),
        Claim(
            "communication",
            "Communication far longer than computation",
            ratio=communication(SHIPPED),
            min=FAR,
            needs=PHASES,
            cause=fewest,
        ),
        Claim(
            "travelling",
            "Ranks lose where the matrix travels",
            SHIPPED,
            select("ship", "ranks", ranks=1),
            needs=ONE_AND_SEVERAL,
            cause=scattering,
        ),
        Claim(
            "staying",
            "Ranks gain where the matrix stays",
            select("resident", "ranks", ranks=1),
            STAYING,
            needs=ONE_AND_SEVERAL,
            cause=Cause("over all threads", select("openmp", "ranks"), STAYING),
        ),
        Claim(
            "hybrid",
            "`mpi_openmp` over `mpi`, sent",
            "ship",
            "hybrid-ship",
            cause=Cause("where the matrix stays", "resident", "hybrid"),
        ),
        Claim(
            "nodes",
            "Ranks gain by several nodes",
            select("resident", "ranks", ranks=1),
            select("resident", "nodes"),
            needs="several nodes",
        ),
        Claim("coalesced", "`cuda_coalesced` over `cuda_naive`", "naive", "coalesced"),
        Claim("shared", "`cuda_shared` over `cuda_naive`", "naive", "shared"),
        Claim("cublas", "`cublas` over `cuda_coalesced`", "coalesced", "cublas"),
        Claim(
            "cards-over-ranks",
            "Several cards over ranks of the host, sent",
            SHIPPED,
            select("mpi-ship", "cards"),
            needs="both",
            cause=Cause("by NCCL", SHIPPED, select("nccl-ship", "cards")),
        ),
        Claim("card", "A card over all threads", "openmp", "cublas"),
    ],
    "rungs": [
        Claim("memory", "`openmp_bound` near the bandwidth", "spread", FLOOR, 0, NEAR, 0, "the rung and ceilings", share),
        Claim("warp", "`cuda_warp` near the bandwidth", "warp", FLOOR, 0, NEAR, 0, "the rung and ceilings", share),
        Claim("equal", "`cuda_warp` as fast as `cublas`", "cublas", "warp", 1, 1, EQUAL),
        on_another("small", "small matrix", "small"),
        on_another("long", "few long rows", "long"),
        Claim("nccl", "`nccl_cublas` over `mpi_cublas`, sent", "mpi-ship", "nccl-ship"),
        Claim("link", "`nccl_cublas` near the link's rate", "nccl-ship", FLOOR, 0, NEAR, 0, "the rung and ceilings", share),
        Claim(
            "pieces",
            "Sent in four pieces over one",
            *(select("nccl-ship", "cards", chunks=count) for count in (1, 4)),
            needs="both numbers of pieces",
            cause=Cause("where it stays", *(select("nccl", "cards", chunks=count) for count in (1, 4))),
        ),
        Claim("graph", of_widest, select("nccl", "most cards"), select("graph", "most cards"), needs="both"),
        several(2, "Two", 1.8),
        several(4, "Four", 3.6),
    ],
}
