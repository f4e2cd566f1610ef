"""What is claimed of descent, by the earlier study and behind our rungs."""

from functools import partial

from ladder.report import ratios
from ladder.report.latex import digits
from ladder.report.telling.lines import Claim, select
from ladder.workloads.descent.paper import kernels

EVERY = 50  # steps after which a residual is recomputed, of the configuration
ONE_MORE = 1 + 1 / EVERY  # the work of a product more in as many steps
SOLVES = {"n": 4096, "kappa": 100}
RISING = "product", (128, 64), (128, 256)
LEVEL = "product", (512, 256), (512, 512)
BLOCKS = "reduction", (512, 256), (128, 256)
VECTORS = "vecsum", (512, 512), (512, 256)


def gain(kernel, smaller, larger, study):
    """How a kernel's rate by elements of the matrix grew from one (block, N) to another."""
    ratio = kernels.over(study, kernel, smaller, larger)
    return ratio and ratio.times(work(smaller, larger))


def gain_then(kernel, smaller, larger):
    """The same in the earlier study."""
    return work(smaller, larger) * kernels.over_then(kernel, smaller, larger)


def work(smaller, larger):
    """The elements of a matrix over those of a smaller one, each of a (block, N)."""
    return (larger[1] / smaller[1]) ** 2


def time(kernel, column, other, study, launch="right"):
    """A kernel's time at one (block, N) over that at another."""
    return kernels.over(study, kernel, column, other, launch)


def of_init(study, _):
    """How the rate of `init` grew then and now, as a cause."""
    sizes = LEVEL[1:]
    ratio = gain("init", *sizes, study)
    then = ratios.times(digits(gain_then("init", *sizes)))
    return f"`init`: then {then}, now {ratios.latex(ratio)}" if ratio else None


def launched(words, sides, launch):
    """A kernel that is launched in another way as a cause, a function of the study."""

    def cause(study, _):
        ratio = time(*sides, study, launch)
        return f"{words}: {ratios.latex(ratio)}" if ratio else None

    return cause


EARLIER = [
    Claim(
        "rates-rise",
        "Rates rise with $N$ (product, block 128, $N = 64$ to 256)",
        min=gain_then(*RISING),
        needs="`product` at both sizes",
        cause="small kernels wait for launches",
        ratio=partial(gain, *RISING),
    ),
    Claim(
        "only-init",
        "At block 512 they don't (product, $N = 256$ to 512)",
        max=1,
        needs="`product` at both sizes",
        cause=of_init,
        ratio=partial(gain, *LEVEL),
    ),
    Claim(
        "slower",
        "Block 512 is slower than 128 (reduction, $N = 256$)",
        min=kernels.over_then(*BLOCKS),
        needs="`reduction` in both blocks",
        cause=launched("grid and block swapped there; here so", BLOCKS, "swapped"),
        ratio=partial(time, *BLOCKS),
    ),
    Claim(
        "vecsum",
        "Sums of vectors grow like $N^2$ (vecsum, $N = 256$ to 512)",
        min=kernels.over_then(*VECTORS),
        needs="`vecsum` at both sizes",
        cause=launched("$N$ threads here; with $N^2$", VECTORS, "square"),
        ratio=partial(time, *VECTORS),
    ),
]
RUNGS = [
    Claim(
        "materialised",
        "Written products cost time",
        "cuda_version2",
        "cuda_fused/launched",
        cause="version 2 over fused",
    ),
    Claim(
        "launches",
        "Launches take half of an iteration",
        "cuda_fused/launched",
        "cuda_fused",
        2,
        needs="both forms",
        cause="fused without a graph and with one",
    ),
    Claim(
        "one-launch",
        "One launch a solve is faster",
        "cuda_fused",
        "cuda_persistent",
        cause="a barrier, and $A$ on the chip",
    ),
    Claim(
        "half",
        "Half of $A$ takes half the time",
        select("cuda_fused", "large"),
        select("cuda_symmetric", "large"),
        2,
        needs="both rungs at that size",
        cause="memory is the limit",
    ),
    Claim(
        "recomputed",
        f"A new $r$ in {EVERY} steps costs no more than a product in as many",
        select("cuda_fused", "worst", recompute=EVERY),
        select("cuda_fused", "worst", recompute=0),
        1 / ONE_MORE,
        ONE_MORE,
        0.05,
        "both tunings",
    ),
    Claim(
        "conjugate",
        r"CG is faster ($\kappa = 100$, $n = 4096$)",
        select("cuda_persistent", "solves", algorithm="steepest", **SOLVES),
        select("cuda_persistent", "solves", algorithm="cg", **SOLVES),
        needs="both algorithms",
        cause="fewer iterations",
    ),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
