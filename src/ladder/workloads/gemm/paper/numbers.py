"""The numbers of products of two matrices: the ceilings of a machine's cores and card, and mixed precision."""

from ladder.report import latex, roofs, study
from ladder.report.latex import code, rate
from ladder.report.phrases import Missing, with_prefix
from ladder.workloads.gemm import SIZES
from ladder.workloads.gemm.paper import mixed
from ladder.workloads.gemm.paper.card import DTYPES, on_card, on_host


def numbers(found):
    """Every key's value."""
    host = on_host(found).subject
    values = {"host/machine": code(host) if host else Missing("no machine")}
    values |= with_prefix("ceiling", ceilings(found)) | with_prefix("gpu", of_the_card(found))
    return with_prefix("gemm", values)


def ceilings(found):
    """Arithmetic by precision, on one thread and at best."""
    values = {}
    for dtype in SIZES["dtype"]:
        one, best = (roofs.arithmetic(found, dtype, threads) for threads in (1, None))
        values[f"{dtype}/one"] = rate(one, "flops") if one else None
        values[f"{dtype}/best"] = rate(best, "flops") if best else None
    return values


def of_the_card(whole):
    """The machine with the card, its ceilings, its throttling, and products in mixed precision."""
    found = on_card(whole)
    cards = found.descriptions.get(found.subject, {}).get("gpus") or [{}]
    values = {
        "machine": code(found.subject) if found.subject else Missing("no machine"),
        "card": latex.escape(cards[0]["name"]) if "name" in cards[0] else None,
        "driver": latex.escape(cards[0]["driver"]) if "driver" in cards[0] else None,
    }
    tops = {dtype: roofs.card_arithmetic(found, dtype) for dtype in DTYPES}
    tops["tf32"] = roofs.card_arithmetic(found, "tf32")
    values |= {f"ceiling/{name}": rate(top, "flops") if top else None for name, top in tops.items()}
    return values | with_prefix("throttled", throttled(found)) | mixed.numbers(whole)


def throttled(found):
    """How many cases ran on a card that reports its clock, and how many of them while it was held back."""
    columns = ("machine", *study.CASE, "device", "throttled")
    every = study.where(found.everything("samples", *columns), machine=found.subject, device="cuda")
    known = every[every["throttled"].notna()] if "throttled" in every else every.iloc[:0]
    count, slowed = study.count(known), study.count(study.where(known, throttled=True))
    return {"of": f"\\num{{{count}}}" if count else None, "cases": f"\\num{{{slowed}}}" if count else None}
