"""Functions of this chapter's text in addition to those of every chapter; None if a measurement is missing."""

from functools import partial

from ladder.report import latex
from ladder.report.latex import num
from ladder.report.telling import amortisation
from ladder.report.telling.chapter_study import require_measured
from ladder.report.telling.lines import EarlierTime, select
from ladder.store.study import median_time, values
from ladder.workloads.descent.paper import earlier, model, residuals
from ladder.workloads.descent.paper.lines import ALGORITHMS, LINE_KEYS, select_kernel, solve_ratios, solve_rows
from ladder.workloads.descent_kernel.earlier import VERSION1_N

# FLOPs of an iteration, the elements of A that it reads, and in theory a step's rate and the error after k steps.
FLOPS, ELEMENTS, HALF = "$2n^2$", "$n^2$", "$n(n+1)/2$"
RATE, BOUND = r"$(\kappa-1)/(\kappa+1)$", r"$2\bigl((\sqrt\kappa-1)/(\sqrt\kappa+1)\bigr)^k$"
SMALL = rf"${VERSION1_N} \times {VERSION1_N}$"  # the elements of version 1
LARGE_KAPPA = 1000  # the condition number of a system whose steps are counted but not timed


def matrix_memory(study, selection):
    """The memory that A takes."""
    return latex.memory(model.matrix_bytes(study.rows(selection).iloc[0]))


def kernels_now(study, counts):
    """Seconds of kernels, {kernel: calls}, at the earlier study's largest n, launched as there."""
    return sum(count * median_time(study.rows(select_kernel(name, *earlier.LARGEST))) for name, count in counts.items())


# The study timed first launches, ours are warm. Our iteration also has dot products and waits between kernels.
EARLIER_TIMES = [
    EarlierTime(words, earlier.total_seconds(counts), partial(kernels_now, counts=counts), "cuda_cluster")
    for words, counts in (("an iteration, two products", earlier.calls(2)), ("the same, one product", earlier.calls(1)))
]


def largest_solved(study, device="cuda"):
    """The largest size that all algorithms solved."""
    solves = study.frame("solves")
    sizes = [n for n in values(solves, "n") if all(len(solve_rows(solves, device, name, n)) for name in ALGORITHMS)]
    return require_measured(max(sizes, default=None))


def solve(study, algorithm, line=None, n=None):
    """A solve on the GPU: by the line of its algorithm unless `line` differs, at the largest size unless `n` does."""
    n = n or largest_solved(study)
    return select(line or LINE_KEYS["cuda"][algorithm], "solves", algorithm=algorithm, n=n)


def overtakes(study, device, algorithm):
    """A predicate: from which n on an algorithm is faster than Cholesky."""
    return amortisation.crossing_text(
        solve_ratios(study.frame("solves"), device, algorithm),
        "is faster than Cholesky from $n = {}$ on",
        "is faster than Cholesky at every measured size, from $n = {first}$ to {last}",
        "is slower than Cholesky at every measured size, from $n = {first}$ to {last}",
        "is not significantly faster than Cholesky at any measured size",
    )


def common_condition(study, column):
    """The kappa or the tolerance that all iterative solves have in common; NotMeasured if they differ."""
    solves = study.frame("solves")
    conditions = values(solves[solves["algorithm"] != "direct"], column) if len(solves) else []
    return require_measured(conditions[0] if len(conditions) == 1 else None)


def steps_to_tolerance(study, method, kappa):
    """The steps of a curve to the solves' tolerance; None if it doesn't reach it."""
    curve = residuals.curve_of(study, method, kappa)
    steps_below = curve[curve["relative"] <= common_condition(study, "tolerance")]["step"]
    return int(min(steps_below)) if len(steps_below) else None


def steps_of(study, method, kappa):
    """The steps to the tolerance as text: "more than" those of the curve if it doesn't reach the tolerance."""
    steps = steps_to_tolerance(study, method, kappa)
    return num(steps) if steps else f"more than {num(residuals.curve_of(study, method, kappa)['step'].max())}"


def step_ratio(study):
    """The ratio of the steps of CG at LARGE_KAPPA to those at the solves' condition number."""
    kappas = common_condition(study, "kappa"), LARGE_KAPPA
    steps, large_kappa_steps = (require_measured(steps_to_tolerance(study, "cg", kappa)) for kappa in kappas)
    return large_kappa_steps / steps


def recompute_period(study):
    """The number of steps after which the residual was recomputed."""
    periods = values(residuals.curves_of(study), "recompute")
    return num(max(periods)) if any(periods) else None
