"""What this chapter's text asks for beside what every chapter's may; None, too, is a value without a measurement."""

from ladder.report import latex, rates, ratios
from ladder.report.latex import num, number, percent, seconds
from ladder.report.phrases import LEVEL
from ladder.report.study import middle, values, where
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import select
from ladder.statistics import crossings, verdicts
from ladder.workloads.descent.paper import algorithms, kernels, model, residuals, theory
from ladder.workloads.descent.paper.lines import N, by_iteration

HARDER = 1000  # the condition of a system whose steps alone are known


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
    return seconds(kernels.iteration(products), 2)


def earlier_over(study, selection):
    """That of an iteration over the time of one of ours."""
    return number(kernels.iteration(2) / middle(study.rows(selection)), 2)


def share_of_launches(study):
    """What share of an iteration a graph saves, if it does."""
    off, on = (middle(study.rows(key)) for key in ("cuda_fused/launched", "cuda_fused"))
    return percent(1 - on / off, 2) if on < off else None


def steps(study, selection):
    """The iterations of a solve."""
    return num(int(study.rows(selection)["steps"].median()))


def matrix(study, selection):
    """The memory that A takes."""
    return latex.memory(model.bytes_of(study.rows(selection).iloc[0]))


def reading(study, rows):
    """The rate at which iterations read A, over the best rate of reading."""
    best = rates.card_bandwidth(study.machine("host"))
    return model.bytes_of(rows.iloc[0]) / middle(rows) / best if best else None


def reading_share(study, selection):
    """The same of a selection's iterations."""
    share = reading(study, study.rows(selection))
    return share and percent(share, 2)


def over_reading(study, selection):
    """The time of a solve over that of as many readings of A."""
    share = reading(study, by_iteration(study.rows(selection)))
    return share and number(1 / share, 2)


def product_rates(study):
    """The rates of the kernel `product` in the earlier study's largest blocks, {N: B/s}."""
    block = kernels.LARGEST[0]
    sizes = values(where(study.frame("kernels"), kernel="product", block=block), "n")
    rows = {n: kernels.now(study, "product", block, n) for n in sizes}
    if not any(map(len, rows.values())):
        raise NotMeasured
    return {n: one["bytes"].iloc[0] / middle(one) for n, one in rows.items() if len(one)}


def rising(study):
    """How far these rise, as the predicate of a sentence: level is what is within a tenth of the best."""
    found = product_rates(study)
    if len(found) < 2:
        return "were not measured at several sizes"
    least = min(n for n, rate in found.items() if rate >= max(found.values()) / LEVEL)
    if least == max(found):
        return f"still rise at $N = {num(least)}$, the largest"
    return f"rise up to $N = {num(least)}$ and are level from there on"


def product_share(study):
    """The share of the best rate of reading that the largest `product` reaches."""
    found, best = product_rates(study), rates.card_bandwidth(study.machine("host"))
    return percent(found[max(found)] / best, 2) if best else None


def one_of_each(study):
    """The sum of one of each kernel but init, at the earlier study's largest N."""
    times = [middle(kernels.now(study, name, *kernels.LARGEST)) for name in kernels.VERSION2 if name != "init"]
    return seconds(sum(times), 2) if all(times) else None


def swapped(study):
    """The time of a reduction with grid and block exchanged over that of one launched right."""
    calls = (kernels.now(study, "reduction", 512, 256, launch) for launch in ("swapped", "right"))
    return ratios.prose(ratios.of(*calls))


def solve(study, algorithm, device="cuda", line=None):
    """A solve by the line of an algorithm, or by another one, at the largest size that all algorithms solved."""
    n = algorithms.largest(study.frame("solves"), device)
    return select(line or algorithms.CHOSEN[device][algorithm], "solves", algorithm=algorithm, n=n)


def largest(study, device="cuda"):
    """That size."""
    return num(algorithms.largest(study.frame("solves"), device))


def overtakes(study, device, algorithm):
    """From which n on an algorithm is cheaper than Cholesky, as the predicate of a sentence about it."""
    points = algorithms.points(study.frame("solves"), device, algorithm, "direct")
    found = crossings.break_even(points)
    if found is None:
        return None
    sizes = f"from $n = {num(points[0][0])}$ to {num(points[-1][0])}"
    words = {
        crossings.EVERYWHERE: f"takes less time at every size {sizes}",
        crossings.NOWHERE: f"takes more time at every size {sizes}",
        verdicts.UNDECIDED: f"can't be told to take less time from some size on, {sizes}",
    }
    return words[found] if isinstance(found, str) else f"takes less time from $n = {ratios.size(*found)}$ on"


def kappa(study):
    """The condition of all solves to a tolerance."""
    return number(algorithms.condition(study.frame("solves"), "kappa"))


def tolerance(study):
    """Their tolerance."""
    return number(algorithms.condition(study.frame("solves"), "tolerance"), 1)


def steps_to_tolerance(study, method, condition):
    """The steps of a curve to that tolerance, or None."""
    wanted = algorithms.condition(study.frame("solves"), "tolerance")
    return theory.steps_to(residuals.curve_of(study, method, condition), wanted)


def steps_of(study, method, condition):
    """The same as text."""
    known = steps_to_tolerance(study, method, condition)
    last = residuals.curve_of(study, method, condition)["step"].max()
    return num(known) if known else f"more than {num(last)}"


def more_steps(study):
    """How many times the steps of the solves' condition CG takes at HARDER."""
    easy = algorithms.condition(study.frame("solves"), "kappa")
    known, more = (steps_to_tolerance(study, "cg", one) for one in (easy, HARDER))
    if not (known and more):
        raise NotMeasured
    return more / known


def harder_steps(study):
    """The same as text."""
    return number(more_steps(study), 2)


def harder(study, algorithm):
    """A solve on the card at the size of which the steps are known."""
    n = int(residuals.curve_of(study, "cg", HARDER)["n"].iloc[0])
    return select(algorithms.CHOSEN["cuda"][algorithm], "solves", algorithm=algorithm, n=n)


def harder_time(study):
    """What such a solve by CG would take at HARDER, by its steps."""
    return seconds(more_steps(study) * middle(study.rows(harder(study, "cg"))), 2)


def rate_in_theory(study, condition):
    """The factor by which the error of steepest descent falls in each step from the worst start."""
    return number(theory.factor(condition), 4)


def rate_measured(study, condition):
    """That of its residual."""
    found = theory.rate(residuals.curve_of(study, "steepest", condition))
    return found and number(found, 4)


def recomputed_every(study):
    """After how many steps the residual was recomputed."""
    return num(next(step for step in values(residuals.curves_of(study.machine("host")), "recompute") if step))


def reported_end(study, method, condition):
    """The residual that is reported at the end, over |b|."""
    return number(residuals.curve_of(study, method, condition)["relative"].iloc[-1], 2)


def true_end(study, method, condition):
    """What the true one is at most."""
    return number(residuals.true_at_end(study, residuals.curve_of(study, method, condition)), 2)


def least_after_jump(study, method, condition):
    """The least that is reported after a jump."""
    found = residuals.least_after_jump(residuals.curve_of(study, method, condition))
    return found and number(found, 2)


def effect(study, method, condition):
    """What recomputing does to the true residual."""
    forms = (residuals.curve_of(study, one, condition) for one in (method, method + residuals.RECOMPUTED))
    return residuals.effect(*(residuals.true_at_end(study, one) for one in forms))
