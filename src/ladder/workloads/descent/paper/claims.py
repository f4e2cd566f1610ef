"""The claims about descent: those of the earlier study, about rates in elements written per second, and our own."""

import itertools
from dataclasses import replace
from functools import partial

from ladder.report import latex, ratios
from ladder.report.telling.chapter_study import required
from ladder.report.telling.claims import share_of_floor
from ladder.report.telling.lines import UNSTATED, Claim, select
from ladder.store import rates
from ladder.store.study import cases, middle
from ladder.workloads.descent.paper.earlier import KERNELS, seconds
from ladder.workloads.descent.paper.lines import MATERIALISED, kernel
from ladder.workloads.descent_kernel.earlier import VERSION1, elements_written, traffic

IN_32, IN_128, IN_512 = (32, 16, 64, 144), (128, 64, 256), (512, 256, 512)  # a number of blocks, and its N in order
MATRICES, VECTORS, OTHERS = KERNELS[:3], KERNELS[3:], KERNELS[1:]  # OTHERS: all but init
TABLES, VERSION1_TABLES = "section 5.5", "sections 4.1, 4.2"
WRITING, PRODUCT = ("product", "reduction"), "gemv"  # a product A x in two kernels, and in one
MOVED = sum(traffic(name, MATERIALISED) for name in WRITING) / traffic(PRODUCT, MATERIALISED)


def work(names, small, large):
    """The elements that kernels write at a large N over those at a small one."""
    return sum(elements_written(name, large) for name in names) / sum(elements_written(name, small) for name in names)


def gains(study, names, block, *sizes):
    """The factors by which the rates of kernels rise from each N to the next, [(Ratio, name, small, large)]."""
    return [
        (study.ratio(*(kernel(name, block, n) for n in pair)).times(work([name], *pair)), name, *pair)
        for name in names
        for pair in itertools.pairwise(sizes)
    ]


def least(every):
    """Of some gains the one that decides whether all rates rise."""
    return min(every, key=lambda gain: gain[0].low)


def greatest(every):
    """Of some gains the one that decides whether no rate rises."""
    return max(every, key=lambda gain: gain[0].high)


def over_kernels(key, words, pick, names, block, *sizes, **bounds):
    """A claim about the gains of kernels, which the picked one decides."""

    def gain(study):
        return pick(gains(study, names, block, *sizes))

    def cause(study, ratio):
        _, name, small, large = gain(study)
        then = work([name], small, large) * seconds(name, block, small) / seconds(name, block, large)
        return f"decided by `{name}`, {small} to {large}, then {ratios.short(then)}"

    first = {"needs": "all kernels", "cause": cause, "place": TABLES}
    return Claim(key, words, **first, ratio=lambda study: gain(study)[0], **bounds)


def together(rows, *others):
    """A row for each process of a case, with its median time and those of other cases of this process added up."""
    keys = [name for name in ("campaign", "process") if name in rows]
    rows, *others = (frame.fillna({"campaign": ""}) if "campaign" in keys else frame for frame in (rows, *others))
    times = sum(frame.groupby(keys)["seconds"].median() for frame in (rows, *others))
    return rows.drop_duplicates(keys).set_index(keys).assign(seconds=times).dropna(subset="seconds").reset_index()


def of_all(study, names, block, small, large):
    """The gain in the rate of kernels together."""
    rows = [[study.rows(kernel(name, block, n)) for name in names] for n in (small, large)]
    ratio = required(ratios.of(*(together(*frames) for frames in rows))).times(work(names, small, large))
    return replace(ratio, cases=cases(*rows[0], *rows[1]))


def both_gains(study):
    """The gains of the kernels on matrices, and of those on vectors."""
    return [of_all(study, names, *IN_128) for names in (MATRICES, VECTORS)]


def of_matrices(study):
    """The gain of kernels on matrices over that of kernels on vectors, with an interval wide enough for both."""
    over, under = both_gains(study)
    low, high = over.low / under.high, over.high / under.low
    return replace(over, value=over.value / under.value, low=low, high=high, cases=over.cases + under.cases)


def over_bandwidth(study):
    """The time of the kernel of version 1 that is nearest to the GPU's bandwidth, over the time of its traffic."""
    bandwidth = required(rates.gpu_bandwidth(study.machine("host")))
    frames = [study.rows(kernel(name, None, None)) for name in VERSION1]
    return min((ratios.over(rows, rows["bytes"].iloc[0] / bandwidth) for rows in frames), key=lambda one: one.low)


def materialised(study):
    """The time of a product that writes all its terms over that of one that writes none."""
    product, reduction, fused = (study.rows(select("kernel/large", kernel=name)) for name in (*WRITING, PRODUCT))
    ratio = required(ratios.of(together(product, reduction), fused))
    return replace(ratio, cases=cases(product, reduction, fused))


def bandwidths(study, ratio):
    """The cause of what writing costs: the shares of the bandwidth at which a kernel writes, and `gemv` reads."""
    bandwidth, shares = required(rates.gpu_bandwidth(study.machine("host"))), []
    for name in (WRITING[0], PRODUCT):
        rows = study.rows(select("kernel/large", kernel=name))
        shares.append(f"`{name}` at {latex.percent(rows['bytes'].iloc[0] / middle(rows) / bandwidth, 2)}")
    return f"{' and '.join(shares)} of the bandwidth"


def saved(slower, faster):
    """The cause of a claim about latency: the seconds that an iteration saves."""

    def cause(study, ratio):
        difference = middle(study.rows(slower)) - middle(study.rows(faster))
        return f"{latex.seconds(abs(difference), 2)} {'less' if difference > 0 else 'more'} an iteration"

    return cause


def reading(selection):
    """The cause of a claim about traffic: the share of the bandwidth with which a selection reads A."""

    def cause(study, ratio):
        share = study.predicted(selection) / middle(study.rows(selection))
        return f"`{selection.line}` reads at {latex.percent(share, 2)} of the bandwidth"

    return cause


def fewer_steps(study, ratio):
    """The cause of CG's gain: the iterations of both algorithms."""
    return " and ".join(latex.num(int(study.rows(side)["steps"].iloc[0])) for side in CG) + " iterations"


EARLIER = [
    over_kernels("rises-32", "Rates rise with $N$ in 32 blocks", least, KERNELS, *IN_32),
    over_kernels("rises-128", "Rates rise with $N$ in 128 blocks", least, KERNELS, *IN_128),
    Claim(
        "matrices",
        r"\dots mostly of kernels on matrices",
        needs="all kernels",
        cause=lambda study, ratio: "{}, on vectors {}".format(
            *(ratios.short(gain.value) for gain in both_gains(study))
        ),
        ratio=of_matrices,
        place=TABLES,
    ),
    over_kernels("init", "In 512 blocks the rate of `init` rises", least, ("init",), *IN_512),
    over_kernels("others", r"\dots and no other", greatest, OTHERS, *IN_512, min=1, max=1),
    Claim(
        "bandwidth",
        r"$32 \times 32$ elements don't fill the bandwidth",
        needs="version 1 and a ceiling",
        cause=share_of_floor("{} of it at best"),
        ratio=over_bandwidth,
        place=VERSION1_TABLES,
    ),
]
LARGE, AGAIN = (select("cuda_fused", "large", recompute=every) for every in (UNSTATED, 1))
solve = partial(select, "cuda_persistent", "solves", n=4096, kappa=100)
EXCHANGED, GRAPH = ("cuda_version2", "cuda_version2/right"), ("cuda_fused/launched", "cuda_fused")
ONE_LAUNCH, SYMMETRIC = ("cuda_fused", "cuda_persistent"), select("cuda_symmetric", "large")
CG = solve(algorithm="steepest"), solve(algorithm="cg")
WRITES = "Writing products costs their traffic"
OWN = [
    Claim("exchanged", "Launching as the study did costs time", *EXCHANGED, cause=saved(*EXCHANGED)),
    Claim("materialised", WRITES, None, None, MOVED, MOVED, cause=bandwidths, ratio=materialised),
    Claim("launches", "A CUDA graph beats single launches", *GRAPH, cause=saved(*GRAPH)),
    Claim("one-launch", "One launch per solve beats a graph", *ONE_LAUNCH, cause=saved(*ONE_LAUNCH)),
    # The model: memory-bound, so that reading twice takes twice as long, and reading half takes half as long.
    Claim("recomputed", "Recomputing $r$ doubles an iteration", AGAIN, LARGE, 2, 2, cause=reading(LARGE)),
    Claim("half", "Reading half of $A$ halves the time", LARGE, SYMMETRIC, 2, 2, cause=reading(SYMMETRIC)),
    Claim("conjugate", r"CG is faster ($\kappa = 100$, $n = 4096$)", *CG, cause=fewer_steps),
]
CLAIMS = {"earlier": EARLIER, "own": OWN}
