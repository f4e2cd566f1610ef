"""The claims about descent, of the earlier study and our own."""

from functools import partial

from ladder.report import ratios
from ladder.report.latex import digits
from ladder.report.telling.lines import Cause, Claim, select
from ladder.workloads.descent.paper import earlier
from ladder.workloads.descent.paper.lines import kernel

PERIOD = 50  # steps after which a residual is recomputed, as in the configuration
WORK_WITH_RECOMPUTATION = 1 + 1 / PERIOD  # relative to the work without: one more product per period
# A kernel, two (block, N) and, if rates are compared, the work of the second over that of the first.
RISING = "product", (128, 64), (128, 256), 16
LEVEL = "product", (512, 256), (512, 512), 4
BLOCKS = "reduction", (512, 256), (128, 256)
VECTORS = "vecsum", (512, 512), (512, 256)
solve = partial(select, "cuda_persistent", "solves", n=4096, kappa=100)
worst = partial(select, "cuda_fused", "worst")


def speedup(study, name, slower, faster, work=1, launch="right"):
    """The ratio of a kernel's times in two cases, or of its rates if `work` is the ratio of the work."""
    return study.ratio(kernel(name, *slower, launch), kernel(name, *faster, launch)).times(work)


def earlier_speedup(name, slower, faster, work=1):
    """The same ratio in the earlier study."""
    return work * earlier.seconds(name, *slower) / earlier.seconds(name, *faster)


def cause(words, pair, **launch):
    """Our ratio for a pair of cases with its interval, as a cause."""
    return Cause(words, ratio=lambda study: speedup(study, *pair, **launch), has_interval=True)


def make_claim(key, words, pair, cause, **bounds):
    """A claim about a kernel: at least the ratio that the earlier study reported, unless `bounds` differ."""
    bounds = {"min": earlier_speedup(*pair)} | bounds
    return Claim(
        key, words, **bounds, needs=f"`{pair[0]}` in both cases", cause=cause, ratio=lambda study: speedup(study, *pair)
    )


INIT = "init", *LEVEL[1:]
INIT_CAUSE = cause(f"`init`: then {ratios.times(digits(earlier_speedup(*INIT)))}, now", INIT)
SWAPPED = cause("grid and block swapped, as there:", BLOCKS, launch="swapped")
SQUARE = cause("we launch $N$ threads; with $N^2$:", VECTORS, launch="square")
LATENCY = "launch latency dominates"
EARLIER = [
    make_claim("rates-rise", "Rates rise with $N$ (product, blocks of 128, $N = 64$ to 256)", RISING, LATENCY),
    make_claim("only-init", "Blocks of 512 level off (product, $N = 256$ to 512)", LEVEL, INIT_CAUSE, min=1, max=1),
    make_claim("slower", "Blocks of 512 are slower than of 128 (reduction, $N = 256$)", BLOCKS, SWAPPED),
    make_claim("vecsum", "Vector sums scale with $N^2$ (vecsum, $N = 256$ to 512)", VECTORS, SQUARE),
]
TWO_PRODUCTS, GRAPH = ("cuda_version2", "cuda_fused/launched"), ("cuda_fused/launched", "cuda_fused")
ONE_LAUNCH = "cuda_fused", "cuda_persistent"
RECOMPUTATION = f"Recomputing $r$ every {PERIOD} steps costs at most one product in as many"
TRIANGLE = select("cuda_fused", "large"), select("cuda_symmetric", "large")
RECOMPUTED = worst(recompute=PERIOD), worst(recompute=0)
CG = solve(algorithm="steepest"), solve(algorithm="cg")
RUNGS = [
    Claim("materialised", "Writing products costs time", *TWO_PRODUCTS, cause="`cuda_version2` over `cuda_fused`"),
    Claim("launches", "Launches take half an iteration", *GRAPH, 2, cause="without a graph and with one"),
    Claim("one-launch", "One launch per solve beats a graph", *ONE_LAUNCH, cause="a barrier per step, $A$ on chip"),
    Claim("half", "Reading half of $A$ halves the time", *TRIANGLE, 2, cause="memory-bound"),
    Claim("recomputed", RECOMPUTATION, *RECOMPUTED, 1 / WORK_WITH_RECOMPUTATION, WORK_WITH_RECOMPUTATION, 0.05),
    Claim("conjugate", r"CG is faster ($\kappa = 100$, $n = 4096$)", *CG, cause="fewer iterations"),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
