"""The numbers of products on a card: its ceilings, the rungs on a large product, and what throttled it."""

from ladder.report import latex, roofs, study
from ladder.report.findings import answers
from ladder.report.latex import code, percent, rate, seconds
from ladder.report.phrases import Missing, comparison, with_prefix
from ladder.statistics import verdicts
from ladder.workloads.fma.paper.numbers import multiply_adds
from ladder.workloads.gemm.paper import mixed
from ladder.workloads.gemm.paper.card import DTYPES, SQUARE, on_card

RUNGS = ("cuda_naive", "cuda_shared", "cuda_columns", "cuda_tiled", "cuda_mma", "cublas")
HALF = 0.5  # "shared memory more than halves the naive kernel's time"
TRANSFERS = ("to device", "to host")
AGAINST = {
    "cuda_shared": ("cuda_naive",),
    "cuda_columns": ("cuda_shared",),
    "cuda_tiled": ("cuda_shared", "cublas"),
    "cuda_mma": ("cuda_tiled", "cublas"),
}


def numbers(whole):
    """Every key's value, without the workload's name."""
    found = on_card(whole)
    cards = found.descriptions.get(found.subject, {}).get("gpus") or [{}]
    values = {
        "machine": code(found.subject) if found.subject else Missing("no machine"),
        "card": latex.escape(cards[0]["name"]) if "name" in cards[0] else None,
        "driver": latex.escape(cards[0]["driver"]) if "driver" in cards[0] else None,
    }
    tf32 = study.best_rate(found.samples("ceiling_gpu_tf32"), "flops")
    values["ceiling/tf32"] = rate(tf32, "flops") if tf32 else None
    for dtype in DTYPES:
        top = roofs.card_arithmetic(found, dtype)
        values[f"ceiling/{dtype}"] = rate(top, "flops") if top else None
        values |= with_prefix(dtype, square(found, dtype, top, multiply_adds(found, dtype)))
    values |= with_prefix("throttled", throttled(found))
    values |= mixed.numbers(whole)
    return with_prefix("gpu", values) | with_prefix("findings", findings(found))


def throttled(found):
    """How many cases ran on a card that reports its clock, and how many of them while it was held back."""
    every = study.where(found.everything("samples"), machine=found.subject, device="cuda")
    known = every[every["throttled"].notna()] if "throttled" in every else every.iloc[:0]
    count, slowed = study.count(known), study.count(study.where(known, throttled=True))
    return {"of": f"\\num{{{count}}}" if count else None, "cases": f"\\num{{{slowed}}}" if count else None}


def findings(found):
    """Whether a finding of the earlier study holds on the card: a verdict and the evidence for it."""
    frame = study.one_size(found.samples(SQUARE["float64"], form="nn"))
    naive, shared = (study.fastest(study.where(frame, variant=name)) for name in ("cuda_naive", "cuda_shared"))
    evidence = f"{code('cuda_shared')} {comparison(shared, naive, code('cuda_naive'))}"
    return answers({"shared": (halved(shared, naive), evidence)})


def halved(shared, naive):
    """Whether shared memory more than halves the naive kernel's time."""
    if shared.empty or naive.empty:
        return Missing("not tested")
    found = verdicts.compare(study.processes(shared), study.processes(naive))
    if found.high < HALF:
        return "holds"
    return {"faster": "holds in part", "slower": "does not hold"}.get(found.outcome, "can't be told")


def exact(frame, variant):
    """cuBLAS's rows in the type's own precision; of the others, which have one precision each, all."""
    return study.where(frame, math="default") if variant == "cublas" and len(frame) else frame


def square(found, dtype, top, ordinary):
    """The rungs on the large product in the form nn, each with its fastest tuning.

    `top` and `ordinary` are FLOP/s of cuBLAS and of multiply-adds at best, or None.
    """
    frame = study.one_size(found.samples(SQUARE[dtype], form="nn"))
    cases = {name: study.fastest(exact(study.where(frame, variant=name), name)) for name in RUNGS}
    values = {"shape": f"${frame['m'].iloc[0]}^3$" if len(frame) else None}
    for name, rows in cases.items():
        flops = rows["flops"].iloc[0] / rows["seconds"].median() if len(rows) else None
        values[f"{name}/rate"] = rate(flops, "flops") if flops else None
        values[f"{name}/share"] = percent(flops / top) if flops and top else None
        if name == "cuda_tiled":
            values[f"{name}/share-of-fma"] = percent(flops / ordinary) if flops and ordinary else None
        for other in AGAINST.get(name, ()):
            values[f"{name}/against/{other}"] = comparison(rows, cases[other], code(other))
    copies = transfers(found, cases["cublas"])
    values["transfers"] = seconds(copies) if copies else None
    values["product"] = seconds(cases["cublas"]["seconds"].median()) if len(cases["cublas"]) else None
    return values


def transfers(found, rows):
    """Median seconds of the copies to and from the card of a case, or None."""
    if rows.empty:
        return None
    parts = [
        found.samples(
            rows["experiment"].iloc[0], phase=phase, variant=rows["variant"].iloc[0], case=rows["case"].iloc[0]
        )
        for phase in TRANSFERS
    ]
    return sum(part["seconds"].median() for part in parts) if all(len(part) for part in parts) else None
