"""The numbers of the chapter, about the one machine that it speaks of."""

from ladder.report import ratios, roofs, study, verdict_table
from ladder.report.latex import code, escape, joules, memory, number, percent, rate, seconds
from ladder.report.phrases import LEVEL, Missing
from ladder.workloads.descent.paper import earlier, model, query, rungs, verdicts
from ladder.workloads.descent.paper.numbers_convergence import convergence, rates
from ladder.workloads.descent.paper.numbers_solution import solution

LARGE = ("cublas", "cuda_fused", "cuda_persistent", "cuda_symmetric", "cupy_loop")
# An iteration has no init.
SUMMED = ("product", "reduction", "vecdif", "scale", "vecsum", "transpose")


def numbers(found):
    """Every key's value."""
    found = query.chosen(found)
    parts = {
        "machine": machine(found),
        "problem": problem(),
        "earlier": of_the_earlier_study(),
        "model": of_the_model(),
        "ladder": ladder(found),
        "small": small(found),
        "large": large(found),
        "largest": largest(found),
        "kernels": kernels(found),
        "convergence": convergence(found),
        "theory": rates(),
        "solution": solution(found),
        "energy": energy(found),
        "verdicts": verdict_table.numbers_of_groups(**verdicts.verdicts(found)),
    }
    return {f"descent/{part}/{key}": value for part, values in parts.items() for key, value in values.items()}


def machine(found):
    """Where the chapter's numbers were measured."""
    cards = found.descriptions.get(found.subject, {}).get("gpus") or [{}]
    name = cards[0].get("name")
    return {"name": code(found.subject) if found.subject else None, "card": escape(name) if name else None}


def problem():
    """Work and traffic of an iteration, and what the theory says of its error."""
    return {
        "flops": "$2n^2$",
        "elements": "$n^2$",
        "half": "$n(n+1)/2$",
        "bound": r"$2\bigl((\sqrt\kappa-1)/(\sqrt\kappa+1)\bigr)^k$",
        "rate": r"$(\kappa-1)/(\kappa+1)$",
        "direct": "$n^3/3$",
        "n": f"\\num{{{query.N}}}",
    }


def of_the_earlier_study():
    """Sums of its kernels at its largest N."""
    return {f"products-{count}": seconds(earlier.iteration(count), 2) for count in (1, 2)}


def of_the_model():
    """The costs that the model assumes."""
    costs = {
        "launch": model.LAUNCH,
        "node": model.NODE,
        "barrier": model.BARRIER,
        "exchange": model.EXCHANGE,
        "trip": model.ROUND_TRIP,
    }
    return {name: seconds(value, 2) for name, value in costs.items()} | {
        "kernels": f"\\num{{{model.kernels('cuda_version2', query.N)}}}"
    }


def ladder(found):
    """The time of an iteration by each line of the ladder, and what it is of others'."""
    frame = query.ladder(found)
    cases = {key: one.rows(frame) for key, one in keyed().items()}
    values = {f"{key}/time": query.timed(rows) for key, rows in cases.items()}
    values["steps"] = query.steps(cases["cuda_persistent"])
    values["threads"] = f"\\num{{{int(cases['openmp']['threads'].iloc[0])}}}" if len(cases["openmp"]) else None
    for one, other in AGAINST:
        values[f"{one}/against/{other}"] = against(cases, one, other)
    then, now = earlier.iteration(2), study.middle(cases["cuda_persistent"])
    values["earlier/against/cuda_persistent"] = number(then / now, 2) if now else None
    off, on = (study.middle(cases[key]) for key in ("cuda_fused/one-by-one", "cuda_fused"))
    values["launching"] = percent(1 - on / off, 2) if on and off and on < off else None
    return values


def against(cases, one, other):
    """How a case does against another, by their keys."""
    return ratios.compared(ratios.of(cases[other], cases[one]), NAMES.get(other, code(other)))


NAMES = {
    "openmp/one-thread": "one thread",
    "cublas/one-by-one": "one call at a time",
    "cuda_fused/one-by-one": "one launch at a time",
    "symv": "cuBLAS's own product of half a matrix",
}
AGAINST = (
    ("openmp", "openmp/one-thread"),
    ("cuda_version2", "openmp"),
    ("cuda_fused/one-by-one", "cuda_version2"),
    ("cublas", "cublas/one-by-one"),
    ("cuda_fused", "cublas"),
    ("cuda_fused", "cuda_fused/one-by-one"),
    ("cuda_persistent", "cuda_fused"),
    ("cuda_persistent", "cublas"),
    ("cuda_persistent", "cupy_loop"),
    ("cuda_cluster", "cuda_persistent"),
)


def keyed():
    """The lines of the ladder by the keys of their numbers."""
    forms = {
        "openmp/one-thread": rungs.line("openmp", threads=1, recompute=0),
        "cublas/one-by-one": rungs.line("cublas", graph="off"),
        "cuda_fused/one-by-one": rungs.line("cuda_fused", graph="off"),
    }
    return {one.variant: rungs.line(one.variant) for one in rungs.LINES} | forms


def small(found):
    """The time of an iteration on the largest system that version 1 solved."""
    rows = study.where(query.iterations(found, query.VERSION1), variant=rungs.SMALL)
    rows = study.where(rows, n=max(study.values(rows, "n"), default=None))
    return {
        f"{rungs.SMALL}/time": query.timed(rows),
        "n": f"\\num{{{int(rows['n'].iloc[0])}}}" if len(rows) else None,
    }


def large(found):
    """Iterations on the large matrix: time, bytes of A a second, and the share of reading."""
    frame = query.iterations(found, query.LARGE)
    frame = study.where(frame, n=max(study.values(frame, "n"), default=None))
    reading = roofs.card_bandwidth(found)
    cases = {name: study.where(frame, variant=name) for name in LARGE}
    cases["cuda_fused"] = study.where(cases["cuda_fused"], graph="on")
    cases["cublas"], cases["symv"] = (study.where(cases["cublas"], product=name) for name in ("gemv", "symv"))
    values = {"n": f"\\num{{{int(frame['n'].iloc[0])}}}" if len(frame) else None}
    values["reading"] = rate(reading, "bandwidth", 2) if reading else None
    for name, rows in cases.items():
        values[f"{name}/time"] = query.timed(rows)
    for name in ("cublas", "cuda_fused"):
        reached = query.rate(cases[name])
        values[f"{name}/share"] = percent(reached / reading, 2) if reached and reading else None
    for one, other in (("cuda_fused", "cublas"), ("cuda_symmetric", "cuda_fused"), ("cuda_symmetric", "symv")):
        values[f"{one}/against/{other}"] = against(cases, one, other)
    one_launch = ratios.of(cases["cuda_fused"], cases["cuda_persistent"])
    return values | {"one-launch": ratios.compared(one_launch, "the graph")}


def largest(found):
    """The largest system: its size, its solve, and what that is of reading A once an iteration."""
    rows = found.samples(query.LARGEST)
    reading = roofs.card_bandwidth(found)
    values = {}
    for name in ("cuda_fused", "cuda_symmetric"):
        own = study.where(rows, variant=name)
        own = study.where(own, n=max(study.values(own, "n"), default=None))
        values[f"{name}/time"] = query.timed(own)
        values[f"{name}/steps"] = query.steps(own)
        once = query.rate(query.of_iterations(own))
        values[f"{name}/over-reading"] = number(reading / once, 2) if once and reading else None
    first = rows.iloc[0] if len(rows) else None
    values["n"] = None if first is None else f"\\num{{{int(first['n'])}}}"
    values["memory"] = None if first is None else memory(query.size_of(first))
    return values


def kernels(found):
    """The elementary kernels: how far their rates rise, and one of each but init at the earlier study's largest N."""
    block, n = earlier.LARGEST
    every = query.of_kernel(found, "product", block)
    rows = {size: query.kernel(found, "product", block, size) for size in study.values(every, "n")}
    rates = {size: one["bytes"].iloc[0] / study.middle(one) for size, one in rows.items() if len(one)}
    reading = roofs.card_bandwidth(found)
    top = max(rates, default=None)
    times = {name: study.middle(query.kernel(found, name, block, n)) for name in SUMMED}
    swapped = [query.kernel(found, "reduction", 512, 256, launch) for launch in ("swapped", "right")]
    return {
        "smallest": f"\\num{{{min(rates)}}}" if rates else None,
        "largest": f"\\num{{{top}}}" if rates else None,
        "rates": levelling(rates),
        "rate": rate(rates[top], "bandwidth", 2) if rates else None,
        "share": percent(rates[top] / reading, 2) if rates and reading else None,
        "sum": seconds(sum(times.values()), 2) if all(times.values()) else None,
        "swapped": ratios.prose(ratios.of(*swapped)),
    }


def levelling(rates):
    """How far rates by N rise, as the predicate of a sentence: level is what is within a tenth of the best."""
    if len(rates) < 2:
        return Missing("were not measured at several sizes")
    least = min(size for size, value in rates.items() if value >= max(rates.values()) / LEVEL)
    if least == max(rates):
        return f"still rise at $N = \\num{{{least}}}$, the largest"
    return f"rise up to $N = \\num{{{least}}}$ and are level from there on"


def energy(found):
    """Joules of a solve, where the card tells: of the ladder's, and to a tolerance on the largest matrix."""
    ladder = found.samples(query.LADDER, n=query.N, dtype=query.DTYPE)
    values = {f"ladder/{key}": spent(keyed()[key].rows(ladder)) for key in ("cuda_persistent", "cublas")}
    solves = query.solves(found)
    largest = study.where(solves, n=max(study.values(solves, "n"), default=None))
    for name in ("cuda_persistent", "cusolver"):
        rows = study.where(largest, variant=name)
        values[f"solution/{name}"] = spent(rows[rows["algorithm"] != "steepest"] if len(rows) else rows)
    return values


def spent(rows):
    """The joules of a run as text."""
    found = study.energy(rows)
    return None if found is None else joules(found, 2)
