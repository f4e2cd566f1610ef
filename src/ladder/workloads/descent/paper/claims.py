"""The claims about descent, of the earlier study and our own."""

from functools import partial

from ladder.report import ratios
from ladder.report.latex import digits
from ladder.report.telling.lines import Cause, Claim, select
from ladder.workloads.descent.paper import earlier
from ladder.workloads.descent.paper.lines import kernel

EVERY = 50  # steps after which a residual is recomputed, of the configuration
ONE_MORE = 1 + 1 / EVERY  # the work of a product more in as many steps
# A kernel, two (block, N), and the work of the second over that of the first, where rates are compared.
RISING = "product", (128, 64), (128, 256), 16
LEVEL = "product", (512, 256), (512, 512), 4
BLOCKS = "reduction", (512, 256), (128, 256)
VECTORS = "vecsum", (512, 512), (512, 256)
solve = partial(select, "cuda_persistent", "solves", n=4096, kappa=100)
worst = partial(select, "cuda_fused", "worst")


def now(study, name, slower, faster, work=1, launch="right"):
    """The ratio of a kernel's times in two cases, or of its rates with the ratio of the work."""
    return study.ratio(kernel(name, *slower, launch), kernel(name, *faster, launch)).times(work)


def then(name, slower, faster, work=1):
    """The ratio in the earlier study."""
    return work * earlier.seconds(name, *slower) / earlier.seconds(name, *faster)


def cause(words, about, **launch):
    """Such a ratio with its interval, as a cause."""
    return Cause(words, ratio=lambda study: now(study, *about, **launch), has_interval=True)


def of_kernel(key, words, about, cause, **claimed):
    """A claim about a kernel, of the ratio that the earlier study reported unless another one is claimed."""
    claimed = {"min": then(*about)} | claimed
    return Claim(
        key, words, **claimed, needs=f"`{about[0]}` in both cases", cause=cause, ratio=lambda study: now(study, *about)
    )


INIT = "init", *LEVEL[1:]
OF_INIT = cause(f"`init`: then {ratios.times(digits(then(*INIT)))}, now", INIT)
SWAPPED = cause("grid and block swapped, as there:", BLOCKS, launch="swapped")
SQUARE = cause("we launch $N$ threads; with $N^2$:", VECTORS, launch="square")
WAITING = "launch latency dominates"
EARLIER = [
    of_kernel("rates-rise", "Rates rise with $N$ (product, blocks of 128, $N = 64$ to 256)", RISING, WAITING),
    of_kernel("only-init", "In blocks of 512 they level off (product, $N = 256$ to 512)", LEVEL, OF_INIT, min=1, max=1),
    of_kernel("slower", "Blocks of 512 are slower than of 128 (reduction, $N = 256$)", BLOCKS, SWAPPED),
    of_kernel("vecsum", "Vector sums scale with $N^2$ (vecsum, $N = 256$ to 512)", VECTORS, SQUARE),
]
TWO_PRODUCTS, GRAPH = ("cuda_version2", "cuda_fused/launched"), ("cuda_fused/launched", "cuda_fused")
ONE_LAUNCH = "cuda_fused", "cuda_persistent"
AS_MUCH = f"Recomputing $r$ every {EVERY} steps costs at most one product in as many"
HALF = select("cuda_fused", "large"), select("cuda_symmetric", "large")
CARRIED = worst(recompute=EVERY), worst(recompute=0)
CG = solve(algorithm="steepest"), solve(algorithm="cg")
RUNGS = [
    Claim("materialised", "Writing products costs time", *TWO_PRODUCTS, cause="`cuda_version2` over `cuda_fused`"),
    Claim("launches", "Launches take half an iteration", *GRAPH, 2, cause="without a graph and with one"),
    Claim("one-launch", "One launch per solve beats a graph", *ONE_LAUNCH, cause="a barrier per step, $A$ on chip"),
    Claim("half", "Reading half of $A$ halves the time", *HALF, 2, cause="memory-bound"),
    Claim("recomputed", AS_MUCH, *CARRIED, 1 / ONE_MORE, ONE_MORE, 0.05),
    Claim("conjugate", r"CG is faster ($\kappa = 100$, $n = 4096$)", *CG, cause="fewer iterations"),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
