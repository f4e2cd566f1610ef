"""What this chapter's text asks for beside what every chapter's may; None, too, is a value without a measurement."""

from ladder.report import latex, rates, ratios
from ladder.report.latex import num, number, percent, seconds
from ladder.report.phrases import LEVEL
from ladder.report.study import middle, values, where
from ladder.report.telling.lines import select
from ladder.statistics import crossings, verdicts
from ladder.workloads.descent.paper import algorithms, earlier, model, residuals, theory
from ladder.workloads.descent.paper.lines import N, kernel

HARDER = 1000  # the condition of a system whose steps alone are known
FORMULAS = {  # of the work and the traffic of an iteration, and of the error after k
    "flops": "$2n^2$",
    "elements": "$n^2$",
    "half": "$n(n+1)/2$",
    "rate": r"$(\kappa-1)/(\kappa+1)$",
    "bound": r"$2\bigl((\sqrt\kappa-1)/(\sqrt\kappa+1)\bigr)^k$",
}


def formula(study, name):
    """A formula of FORMULAS: texts hold no digits of their own."""
    return FORMULAS[name]


def size(study, source):
    """The n of the systems of a source."""
    return num(study.sources[source].conditions["n"])


def assumed(study, name):
    """A cost that the model assumes, by its name there."""
    return seconds(getattr(model, name), 2)


def launches(study):
    """The launches of an iteration by version 2."""
    return num(model.kernels("cuda_version2", N))


def earlier_iteration(study, products):
    """The sum of the earlier study's kernels at its largest N, with so many products."""
    return seconds(earlier.iteration(products), 2)


def earlier_over(study, selection):
    """That of an iteration over the time of one of ours."""
    return number(earlier.iteration(2) / middle(study.rows(selection)), 2)


def matrix(study, selection):
    """The memory that A takes."""
    return latex.memory(model.bytes_of(study.rows(selection).iloc[0]))


def product_rates(study):
    """The rates of the kernel `product` in the earlier study's largest blocks, {N: B/s}."""
    block = earlier.LARGEST[0]
    sizes = values(where(study.frame("kernels"), kernel="product", block=block), "n")
    rows = {n: study.rows(kernel("product", block, n)) for n in sizes}
    return {n: one["bytes"].iloc[0] / middle(one) for n, one in rows.items()}


def rising(study):
    """How far these rise, as the predicate of a sentence: level is what is within a tenth of the best."""
    found = product_rates(study)
    if len(found) < 2:
        return None
    least = min(n for n, rate in found.items() if rate >= max(found.values()) / LEVEL)
    if least == max(found):
        return f"still rise at $N = {num(least)}$, the largest"
    return f"rise up to $N = {num(least)}$ and level off there"


def product_share(study):
    """The share of the best rate of reading that the largest `product` reaches."""
    found, best = product_rates(study), rates.card_bandwidth(study.machine("host"))
    return percent(found[max(found)] / best, 2) if found and best else None


def one_of_each(study):
    """The sum of one of each kernel but init, at the earlier study's largest N."""
    names = [name for name in earlier.KERNELS if name != "init"]
    return seconds(sum(middle(study.rows(kernel(name, *earlier.LARGEST))) for name in names), 2)


def swapped(study):
    """The time of a reduction with grid and block exchanged over that of one launched right."""
    return ratios.prose(study.ratio(*(kernel("reduction", 512, 256, launch) for launch in ("swapped", "right"))))


def largest(study, device="cuda"):
    """The largest size that all algorithms solved."""
    return num(algorithms.largest(study.frame("solves"), device))


def solve(study, algorithm, line=None, n=None):
    """A solve on the GPU by the line of an algorithm, or by another one, at that size or at another one."""
    n = n or algorithms.largest(study.frame("solves"), "cuda")
    return select(line or algorithms.CHOSEN["cuda"][algorithm], "solves", algorithm=algorithm, n=n)


def overtakes(study, device, algorithm):
    """From which n on an algorithm is cheaper than Cholesky, as the predicate of a sentence about it."""
    points = algorithms.points(study.frame("solves"), device, algorithm, "direct")
    found = crossings.break_even(points)
    if isinstance(found, tuple):
        return f"is faster than Cholesky from $n = {ratios.size(*found)}$ on"
    sizes = f"at every size from $n = {num(points[0][0])}$ to {num(points[-1][0])}" if points else None
    words = {
        crossings.EVERYWHERE: f"is faster than Cholesky {sizes}",
        crossings.NOWHERE: f"is slower than Cholesky {sizes}",
        verdicts.UNDECIDED: "does not become significantly faster than Cholesky at the sizes measured",
    }
    return words.get(found)


def condition(study, column, count=3):
    """The kappa or the tolerance of all solves to a tolerance."""
    return number(algorithms.condition(study.frame("solves"), column), count)


def steps_to_tolerance(study, method, kappa):
    """The steps of a curve to that tolerance, or None."""
    tolerance = algorithms.condition(study.frame("solves"), "tolerance")
    return theory.steps_to(residuals.curve_of(study, method, kappa), tolerance)


def steps_of(study, method, kappa):
    """The same as text."""
    found = steps_to_tolerance(study, method, kappa)
    return num(found) if found else f"more than {num(residuals.curve_of(study, method, kappa)['step'].max())}"


def more_steps(study):
    """How many times the steps of the solves' condition CG takes at HARDER, or None."""
    easy = algorithms.condition(study.frame("solves"), "kappa")
    few, many = (steps_to_tolerance(study, "cg", kappa) for kappa in (easy, HARDER))
    return many / few if few and many else None


def harder_steps(study):
    """The same as text."""
    return (more := more_steps(study)) and number(more, 2)


def harder_time(study, selection):
    """What a solve by CG would take at HARDER, by its steps."""
    return (more := more_steps(study)) and seconds(more * middle(study.rows(selection)), 2)


def rate_in_theory(study, kappa):
    """The factor by which the error of steepest descent falls in each step from the worst start."""
    return number(theory.factor(kappa), 4)


def rate_measured(study, kappa):
    """That of its residual."""
    return (rate := theory.rate(residuals.curve_of(study, "steepest", kappa))) and number(rate, 4)


def recomputed_every(study):
    """After how many steps the residual was recomputed."""
    every = values(residuals.curves_of(study), "recompute")
    return num(max(every)) if any(every) else None


def residual(study, name, method, kappa):
    """What a function of `residuals` says of a curve, over |b|."""
    value = getattr(residuals, name)(study, residuals.curve_of(study, method, kappa))
    return value and number(value, 2)


def effect(study, method, kappa):
    """What recomputing does to the true residual."""
    forms = (residuals.curve_of(study, one, kappa) for one in (method, method + residuals.RECOMPUTED))
    return residuals.effect(*(residuals.true(study, one) for one in forms))
