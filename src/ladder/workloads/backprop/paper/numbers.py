"""The numbers of the chapter, about the machine or the two that it speaks of."""

from dataclasses import replace

from ladder.report import machines_table, ratios, study, verdict_table
from ladder.report.latex import code, listed, number, percent, seconds
from ladder.report.phrases import Missing
from ladder.report.rungs import MOST
from ladder.workloads.backprop import cost
from ladder.workloads.backprop.paper import earlier, learning, model, query, rungs, scaling, varied, verdicts

SIZES = {"rate": 1.0, "momentum": 0.8, **query.SIZE}


def numbers(found):
    """Every key's value."""
    host, card = query.chosen(found)
    parts = {
        "machine": machines_table.named(host.found, card.found),
        "problem": problem(),
        "earlier": of_the_earlier_study(),
        "model": of_the_model(),
        "ladder": ladder(host) | ladder_of_the_card(card),
        "steps": {"tiles": ratios.prose(verdicts.tiles(host))},
        "blocks": blocks(host),
        "flags": flags(host),
        "threads": scaling.threads(host),
        "cores": scaling.many_cores(found, host),
        "reading": reading(host),
        "varied": variations(host, card),
        "learning": time_to_error(host, card),
        "verdicts": verdict_table.numbers_of_groups(**verdicts.verdicts(found)),
    }
    return {f"backprop/{part}/{key}": value for part, values in parts.items() for key, value in values.items()}


def problem():
    """Work and size of an epoch."""
    epoch = cost(SIZES)
    weights = model.work({**query.SIZE, "flops": epoch.flops}).weights / 4 / query.SIZE["images"]
    return {
        "flops": f"\\qty{{{epoch.flops / 1e9:.1f}}}{{GFLOP}}",
        "layers": query.SIZE["layers"].replace("-", "--"),
        "images": f"\\num{{{query.SIZE['images']}}}",
        "weights": f"\\num{{{weights:.0f}}}",
        "error": f"\\num{{{learning.ERROR}}}",
    }


def of_the_earlier_study():
    """Its times."""
    times = {
        "before": earlier.BEFORE,
        "after": earlier.AFTER,
        "weight-change": earlier.WEIGHT_CHANGE,
        "saved": earlier.LOOP_ORDER_SAVED,
    }
    return {name: seconds(value, 2) for name, value in times.items()} | {
        "whole": ratios.times(round(earlier.BEFORE / earlier.AFTER))
    }


def of_the_model():
    """What the model assumes."""
    return {
        "lines": f"\\num{{{model.LINES}}}",
        "scalar": f"\\num{{{model.SCALAR}}}",
        "second-cache": f"\\qty{{{model.SECOND_CACHE / 1e9:.0f}}}{{\\giga\\bytes}}",
        "loads": f"\\num{{{model.LOADS}}}",
    }


def timed(rows):
    """The seconds of a case, or None."""
    found = study.middle(rows)
    return None if found is None else seconds(found, 2)


AGAINST = (
    ("loop_order", "before"),
    ("temporaries", "loop_order"),
    ("fusion", "temporaries"),
    ("associativity", "fusion"),
    ("associativity/all", "associativity"),
    ("associativity/all", "before"),
    ("tuned/one", "before"),
    ("tuned/one", "associativity/all"),
    ("tuned/one", "blas/one"),
    ("tuned/one", "numpy_loop/one"),
    ("tuned/one", "pytorch/one"),
    ("tuned/one", "pytorch/by_hand/one"),
    ("openmp", "associativity/all"),
    ("tuned", "numpy_loop"),
    ("tuned", "pytorch"),
    ("tuned", "pytorch/by_hand"),
    ("tuned", "openmp"),
)
ON_CARD = (
    ("cuda_kernels", "cuda_flat"),
    ("cuda", "cuda_kernels"),
    ("cuda_fused", "cuda"),
    ("cuda_fused", "pytorch_cuda"),
    ("cuda_fused/tf32", "cuda_fused"),
    ("cuda_fused/tf32", "pytorch_cuda/tf32"),
)
NAMES = {
    "associativity/all": f"{code('associativity')} with all flags",
    "pytorch": f"{code('pytorch')} by autograd",
    "pytorch/by_hand": f"{code('pytorch')} by hand, its strongest form",
    "pytorch_cuda": "PyTorch, compiled and in a graph",
    "pytorch_cuda/tf32": "PyTorch in TF32, compiled and in a graph",
    "cuda_fused": f"{code('cuda_fused')} in float32",
    "associativity": f"{code('associativity')} without them",
}


def keyed():
    """The lines of the ladder by the keys of their numbers: host and card."""
    host = {one.variant: rungs.line(one.variant) for one in rungs.LINES}
    card = {name: host.pop(name) for name in list(host) if "cu" in name}
    host |= {
        "associativity/all": rungs.line("associativity", flags="all"),
        "pytorch/by_hand": rungs.line("pytorch", **rungs.PYTORCH_BY_HAND),
    }
    host |= {f"{name}/one": replace(host[name], tuning=host[name].tuning | {"threads": 1}) for name in ON_ONE}
    card |= {
        "cuda_fused/tf32": rungs.line("cuda_fused", math="tf32"),
        "pytorch_cuda/tf32": rungs.line("pytorch_cuda", math="tf32"),
    }
    return host, card


ON_ONE = ("tuned", "blas", "numpy_loop", "pytorch", "pytorch/by_hand")


def of_cases(found, lines, against):
    """The time of an epoch by each line, and what it is of others'; the rows by key besides."""
    frame = found.ladder
    cases = {key: one.rows(frame) for key, one in lines.items()}
    values = {f"{key}/time": timed(rows) for key, rows in cases.items()}
    for one, other in against:
        key = other.removesuffix("/one")
        name = NAMES.get(key, code(key))
        values[f"{one}/against/{other}"] = ratios.compared(ratios.of(*varied.paired(cases[other], cases[one])), name)
    return values, cases


def ladder(found):
    """The lines of the host."""
    values, cases = of_cases(found, keyed()[0], AGAINST)
    rows = cases["openmp"]
    return values | {"threads": f"\\num{{{int(rows['threads'].iloc[0])}}}" if len(rows) else None}


def ladder_of_the_card(found):
    """The lines of the card, the floor of each precision, and what the best are of it."""
    values, cases = of_cases(found, keyed()[1], ON_CARD)
    for key in ("cuda", "cuda_fused", "cuda_fused/tf32"):
        over = verdicts.over_floor(found, cases[key])
        values[f"{key}/share"] = percent(1 / over.value, 2) if over else None
    for key, name in (("floor", "cuda_fused"), ("floor/tf32", "cuda_fused/tf32")):
        least = verdicts.least(found, cases[name])
        values[key] = seconds(least, 2) if least else None
    return values


def blocks(found):
    """The shares of the untuned program's macro blocks."""
    rows = rungs.line("before").rows(found.ladder)
    times = query.blocks(rows, found.phases)
    whole = sum(times.values())
    return {
        name.replace(" ", "-"): percent(times[name] / whole, 2) if name in times else None
        for name in ("weight change", "products")
    }


def flags(found):
    """What flags alone are worth to each rung, and what the techniques at `O2`."""
    frame = found.flags
    values = {"images": f"\\num{{{int(frame['images'].iloc[0])}}}" if len(frame) else None}
    for name in ("before", *verdicts.STEPS):
        values[f"{name}/all"] = ratios.prose(verdicts.by_flags(found, (name, "O2"), (name, "all")))
    for name in verdicts.STEPS:
        values[f"{name}/techniques"] = ratios.prose(verdicts.by_flags(found, ("before", "O2"), (name, "O2")))
    together = verdicts.by_flags(found, ("before", "all"), ("associativity", "O2"))
    values["before/all/against/techniques"] = against_techniques(together)
    checked = {name: verdicts.by_flags(found, (name, "bounds"), (name, "O2")) for name in verdicts.STEPS}
    told = [f"{ratios.prose(ratio)} for {code(name)}" for name, ratio in checked.items() if ratio]
    return values | {"bounds": listed(told) or None}


def against_techniques(ratio):
    """Whether the untuned program with all flags gets where techniques get without them, as a predicate."""
    if ratio is None:
        return Missing("was not measured")
    return ratios.compared(ratio.inverse(), f"{code('associativity')} at {code('O2')}")


def reading(found):
    """The time to read all images, and what tasks gain."""
    return {
        "time": timed(study.where(found.reading, variant="serial")),
        "tasks": ratios.compared(verdicts.reading(found, MOST), "reading in sequence"),
    }


def variations(host, card):
    """What each value of a tuning costs: the time with it over that of the form that stands for the rung."""
    values = {}
    for found, forms in ((host, varied.FORMS["host"]), (card, varied.FORMS["cuda"])):
        frame = found.varied
        for form in forms:
            pairs = {(name, value): (rows, base) for name, value, rows, base in form.pairs(frame)}
            for name, others in form.others.items():
                for value in others:
                    rows, base = pairs.get((name, value), (study.NO_ROWS, study.NO_ROWS))
                    values[f"{form.variant}/{name}/{value}"] = ratios.compared(ratios.of(base, rows), "the base")
    return values


def time_to_error(host, card):
    """The epochs until the error is small, and the time that they take by the methods that were trained."""
    cases, values = learning.cases(host, card), {}
    counts = {name: epochs_of(*both) for name, both in cases.items()}
    known = [count for count in counts.values() if count]
    values["epochs"] = f"\\num{{{known[0]}}}" if known else None
    for name in ("tuned", "numpy_loop", "cuda_fused"):
        count = counts.get(name)
        values[f"{name}/time"] = seconds(count * study.middle(cases[name][0]), 2) if count else None
    rows = next((rows for rows, _ in cases.values()), study.NO_ROWS)
    return values | {"images": number(int(rows["images"].iloc[0])) if len(rows) else None}


def epochs_of(rows, curve):
    """The epochs to the error in a case's curve, or None."""
    return learning.epochs_to(curve, int(rows["images"].iloc[0]))
