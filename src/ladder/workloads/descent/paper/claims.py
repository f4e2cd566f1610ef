"""The claims about descent: those of the earlier study, about rates in elements written per second, and our own."""

import itertools
from dataclasses import replace
from functools import partial

from ladder.report import latex, ratios
from ladder.report.telling import functions
from ladder.report.telling.chapter_study import require_measured
from ladder.report.telling.claims import share_of_floor
from ladder.report.telling.lines import FLOOR, UNSTATED, Claim, equals, select
from ladder.store.study import cases, median_time
from ladder.workloads.descent.paper.earlier import KERNELS, seconds
from ladder.workloads.descent.paper.lines import LARGE_KERNEL_N, select_kernel
from ladder.workloads.descent_kernel.earlier import VERSION1, elements_written, traffic

IN_32, IN_128, IN_512 = (32, 16, 64, 144), (128, 64, 256), (512, 256, 512)  # (`block`, n, n, ...)
MATRICES, VECTORS, OTHERS = KERNELS[:3], KERNELS[3:], KERNELS[1:]  # OTHERS: all but init
# Of some gains the one that decides whether all rates rise, and the one that decides whether none does.
min_gain, max_gain = partial(min, key=lambda gain: gain[0].low), partial(max, key=lambda gain: gain[0].high)
kernels_claim = partial(Claim, needs="all kernels", place="5.5")


def work_ratio(names, small, large):
    """The elements that kernels write at a large n over those at a small one."""
    return sum(elements_written(name, large) for name in names) / sum(elements_written(name, small) for name in names)


def gains(study, names, block, *sizes):
    """The factors by which the rates of kernels rise from each n to the next, [(Ratio, name, small, large)]."""
    return [
        (study.ratio(*(select_kernel(name, block, n) for n in pair)).times(work_ratio([name], *pair)), name, *pair)
        for name in names
        for pair in itertools.pairwise(sizes)
    ]


def decision(pick, names, block, *sizes):
    """Keywords of a claim: the ratio and the cause of the gain that `pick` returns of those of some kernels."""

    def cause(study, ratio):
        _, name, small, large = pick(gains(study, names, block, *sizes))
        gain_of_study = work_ratio([name], small, large) * seconds(name, block, small) / seconds(name, block, large)
        return f"by `{name}`, {small} to {large}; in the study {ratios.short(gain_of_study)}"

    return {"ratio": lambda study: pick(gains(study, names, block, *sizes))[0], "cause": cause}


def summed_times(frames):
    """A row for each process of some cases, [rows of a case], with their median times in it added up."""
    first, *_ = frames
    keys = [name for name in ("campaign", "process") if name in first]
    times = sum(frame.groupby(keys, dropna=False)["seconds"].median() for frame in frames)
    return first.drop_duplicates(keys).set_index(keys).assign(seconds=times).dropna(subset="seconds").reset_index()


def time_ratio(study, slower, faster):
    """The time of some selections together over that of others."""
    sides = [[study.rows(selection) for selection in side] for side in (slower, faster)]
    return replace(require_measured(ratios.of(*map(summed_times, sides))), cases=cases(*itertools.chain(*sides)))


def group_gains(study):
    """The gains in the rates of the kernels on matrices together, and of those on vectors, in 128 blocks."""
    block, *pair = IN_128
    for names in (MATRICES, VECTORS):
        sides = ([select_kernel(name, block, n) for name in names] for n in pair)
        yield time_ratio(study, *sides).times(work_ratio(names, *pair))


def matrix_over_vector_gain(study):
    """The gain of kernels on matrices over that of kernels on vectors, with an interval wide enough for both."""
    return ratios.quotient(*group_gains(study))


def bandwidth_ratio(study):
    """The time of the kernel of version 1 that is nearest to the GPU's bandwidth, over the time of its traffic."""
    return min((study.ratio(select_kernel(name, None, None), FLOOR) for name in VERSION1), key=lambda ratio: ratio.low)


def latency_claim(key, words, slower, faster):
    """The claim that an iteration has less latency, with the time that it is shorter as the cause."""

    def cause(study, ratio):
        saving = median_time(study.rows(slower)) - median_time(study.rows(faster))
        return f"by \\qty{{{latex.digits(1e6 * saving, 2)}}}{{\\micro\\second}} per iteration"

    return Claim(key, words, slower, faster, cause=cause)


def shares_cause(*selections):
    """The cause of a claim about traffic: the shares of the bandwidth that their minimal traffic takes."""

    def cause(study, ratio):
        shares = {side.tuning.get("kernel", side.line): functions.share(study, side) for side in selections}
        return "share of bandwidth: " + ", ".join(f"`{name}` {share}" for name, share in shares.items())

    return cause


# Keywords of claims: GROUPS, BANDWIDTH and, below, TRAFFIC.
GROUP_WORDS = "matrices {}, vectors {}"
GROUPS = {
    "ratio": matrix_over_vector_gain,
    "cause": lambda study, _: GROUP_WORDS.format(*(ratios.short(gain.value) for gain in group_gains(study))),
}
BANDWIDTH = {"ratio": bandwidth_ratio, "needs": "version 1 and a ceiling"}
BANDWIDTH |= {"cause": share_of_floor("{} of the bandwidth at best")}
EARLIER_CLAIMS = [
    kernels_claim("rises-32", "Rates rise with $n$ in 32 blocks", **decision(min_gain, KERNELS, *IN_32)),
    kernels_claim("rises-128", "Rates rise with $n$ in 128 blocks", **decision(min_gain, KERNELS, *IN_128)),
    kernels_claim("matrices", "In 128 blocks kernels on matrices gain most", **GROUPS),
    kernels_claim("init", "In 512 blocks the rate of `init` rises", **decision(min_gain, ("init",), *IN_512)),
    kernels_claim("others", "In 512 blocks no other rate rises", min=1, max=1, **decision(max_gain, OTHERS, *IN_512)),
    Claim("bandwidth", r"$32 \times 32$ elements do not saturate the bandwidth", **BANDWIDTH, place="4.1, 4.2"),
]
UPDATED, RECOMPUTED = (select("cuda_fused", "large", recompute=period) for period in (UNSTATED, 1))
SYMMETRIC, solve = select("cuda_symmetric", "large"), partial(select, "cuda_persistent", "solution", n=4096, kappa=100)
STEEPEST_AND_CG = solve(algorithm="steepest"), solve(algorithm="cg")
# A product A x in two kernels, and in one; and the bytes that the two move over those of the one.
*WRITING, GEMV = (select("kernel/large", kernel=name) for name in ("product", "reduction", "gemv"))
TRAFFIC_RATIO = sum(traffic(key, LARGE_KERNEL_N) for key in ("product", "reduction")) / traffic("gemv", LARGE_KERNEL_N)
TRAFFIC = {"ratio": partial(time_ratio, slower=WRITING, faster=[GEMV]), "cause": shares_cause(*WRITING, GEMV)}
OUR_CLAIMS = [
    latency_claim("exchanged", "Launching as the study did costs time", "cuda_version2", "cuda_version2/right"),
    Claim("materialised", "Writing products costs their traffic", **equals(TRAFFIC_RATIO), **TRAFFIC),
    latency_claim("launches", "A CUDA graph beats single launches", "cuda_fused/launched", "cuda_fused"),
    latency_claim("one-launch", "One launch per solve beats a graph", "cuda_fused", "cuda_persistent"),
    # The model: memory-bound, so that reading twice takes twice as long, and reading half takes half as long.
    Claim("recomputed", "Recomputing $r$ doubles an iteration", RECOMPUTED, UPDATED, 2, 2, cause=shares_cause(UPDATED)),
    Claim("half", "Reading half of $A$ halves the time", UPDATED, SYMMETRIC, 2, 2, cause=shares_cause(SYMMETRIC)),
    Claim("conjugate", r"CG over steepest descent ($\kappa = 100$, $n = 4096$)", *STEEPEST_AND_CG),
]
CLAIMS = {"earlier": EARLIER_CLAIMS, "own": OUR_CLAIMS}
