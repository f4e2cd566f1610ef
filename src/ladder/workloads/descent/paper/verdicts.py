"""What is claimed of descent, by the earlier study and by its own design, and what the measurements say to it."""

from ladder.report import ratios, study
from ladder.report.latex import code, digits
from ladder.report.verdict_table import Claim
from ladder.statistics.claims import decide
from ladder.workloads.descent.paper import algorithms, earlier, query, rungs

EVERY = 50  # steps after which a residual is recomputed, of the configuration


@study.once
def verdicts(found):
    """The claims of the earlier study and those of our rungs, with their answers, about one machine."""
    found = query.chosen(found)
    return {"earlier": of_the_earlier_study(found), "rungs": of_the_rungs(found)}


def of_the_earlier_study(found):
    """The claims that the earlier study makes, or its table."""
    return [
        rates_rise(found),
        only_init(found),
        slower_in_large_blocks(found),
        grows_with_the_matrix(found),
    ]


def of_the_rungs(found):
    """The claims behind the rungs."""
    return [
        materialised(found),
        launches(found),
        one_launch(found),
        half_of_the_matrix(found),
        recomputed(found),
        conjugate(found),
    ]


def times(value):
    """A ratio of the earlier study."""
    return ratios.times(digits(value))


def of_kernels(found, name, one, other, launch="right"):
    """A kernel's time at one (block, N) over that at another."""
    return ratios.of(*(query.kernel(found, name, *column, launch) for column in (one, other)))


def then_of(name, one, other):
    """The same in the earlier study."""
    return earlier.seconds(name, *one) / earlier.seconds(name, *other)


def gained(found, name, smaller, larger):
    """How a kernel's rate by elements of the matrix grew from one (block, N) to another: now and then."""
    work = (larger[1] / smaller[1]) ** 2
    now = of_kernels(found, name, smaller, larger)
    return now and now.times(work), work * then_of(name, smaller, larger)


def rates_rise(found):
    now, then = gained(found, "product", (128, 64), (128, 256))
    text = r"Rates rise with $N$ (product, block 128, $N = 64$ to 256)"
    cause = "small kernels wait for launches"
    needs = f"{code('product')} at both sizes"
    return Claim("rates-rise", text, needs, cause, decide(now, then))


def only_init(found):
    now, _ = gained(found, "product", (512, 256), (512, 512))
    text = r"At block 512 they don't (product, $N = 256$ to 512)"
    init, was = gained(found, "init", (512, 256), (512, 512))
    cause = f"{code('init')}: then {times(was)}, now {ratios.latex(init)}" if init else None
    needs = f"{code('product')} at both sizes"
    return Claim("only-init", text, needs, cause, decide(now, 1, 1))


def slower_in_large_blocks(found):
    one, other = (512, 256), (128, 256)
    then = then_of("reduction", one, other)
    now = of_kernels(found, "reduction", one, other)
    swapped = of_kernels(found, "reduction", one, other, "swapped")
    cause = f"grid and block swapped there; here so: {ratios.latex(swapped)}" if swapped else None
    text = r"Block 512 is slower than 128 (reduction, $N = 256$)"
    return Claim("slower", text, f"{code('reduction')} in both blocks", cause, decide(now, then))


def grows_with_the_matrix(found):
    one, other = (512, 512), (512, 256)
    then = then_of("vecsum", one, other)
    text = r"Sums of vectors grow like $N^2$ (vecsum, $N = 256$ to 512)"
    square = of_kernels(found, "vecsum", one, other, "square")
    cause = f"$N$ threads here; with $N^2$: {ratios.latex(square)}" if square else None
    needs = f"{code('vecsum')} at both sizes"
    return Claim("vecsum", text, needs, cause, decide(of_kernels(found, "vecsum", one, other), then))


def lines(found, one, other):
    """The time of an iteration by one line of the ladder over that by another, each (variant, tuning)."""
    frame = query.ladder(found)
    return ratios.of(*(rungs.line(variant, **tuning).rows(frame) for variant, tuning in (one, other)))


def materialised(found):
    now = lines(found, ("cuda_version2", {}), ("cuda_fused", {"graph": "off"}))
    cause = "version 2 over fused"
    text = "Written products cost time"
    return Claim("materialised", text, "both rungs", cause, decide(now, 1))


def launches(found):
    now = lines(found, ("cuda_fused", {"graph": "off"}), ("cuda_fused", {"graph": "on"}))
    cause = "fused without a graph and with one"
    text = "Launches take half of an iteration"
    return Claim("launches", text, "both forms", cause, decide(now, 2))


def one_launch(found):
    now = lines(found, ("cuda_fused", {"graph": "on"}), ("cuda_persistent", {}))
    cause = "a barrier, and $A$ on the chip"
    text = "One launch a solve is faster"
    return Claim("one-launch", text, "both rungs", cause, decide(now, 1))


def half_of_the_matrix(found):
    frame = query.iterations(found, query.LARGE, n=32768, dtype=query.DTYPE)
    lines = rungs.Line("cuda_fused", {"graph": "on"}), rungs.Line("cuda_symmetric", {})
    now = ratios.of(*(one.rows(frame) for one in lines))
    text = r"Half of $A$ takes half the time"
    cause = "memory is the limit"
    return Claim("half", text, "both rungs at that size", cause, decide(now, 2))


def recomputed(found):
    rows = query.iterations(
        found, query.CONVERGENCE, variant="cuda_fused", n=4096, kappa=1000, algorithm="steepest", start="worst"
    )
    now = ratios.of(*(study.where(rows, recompute=every) for every in (EVERY, 0)))
    text = rf"A new $r$ in {EVERY} steps costs no more than a product in as many"
    claimed = 1 + 1 / EVERY
    return Claim("recomputed", text, "both tunings", None, decide(now, 1 / claimed, claimed, 0.05))


def conjugate(found):
    frame = study.where(algorithms.alike(query.solves(found)), kappa=100)
    now = ratios.of(*(algorithms.rows_of(frame, "cuda", name, 4096) for name in ("steepest", "cg")))
    text = r"CG is faster ($\kappa = 100$, $n = 4096$)"
    cause = "fewer iterations"
    return Claim("conjugate", text, "both algorithms", cause, decide(now, 1))
