"""How long a picture takes at the rates that a machine has reached, and the least that it can take.

A rung without products in registers has no model. What goes home takes the link besides, of which no ceiling is
measured.
"""

from ladder.report import roofs
from ladder.workloads.gemm.paper.ceilings import products

# The rungs that compute by products or tiles of registers.
MODELLED = ("tuned", "cuda_implicit", "cuda_implicit_mma", "cuda_implicit_wgmma", "cuda_implicit_tma")


def seconds(row, rate):
    """Seconds of a picture of a case at so many FLOP/s; None without a model or a rate."""
    first = row["first"] if isinstance(row.get("first"), str) else "cuda_implicit"  # unless it states another
    if not rate or first not in MODELLED or row.get("last") == "cuda_parity" or row["variant"].startswith("pytorch"):
        return None
    return floor(row, rate)


def floor(row, rate):
    """Seconds of the products of a picture at so many FLOP/s; None without a rate."""
    return float(row["flops"]) / float(row["images"]) / rate if rate else None


def rate_of_study(found, row):
    """The best FLOP/s of the precision of a case on its device, from the tables of its machine."""
    if row["device"] == "host":
        return roofs.arithmetic(found, row["dtype"], int(row["threads_found"]))
    return roofs.card_arithmetic(found, row["precision"])


def rate_of_ceilings(ceilings, row):
    """The same from a machine's ceilings, as figures are given them."""
    if row["device"] == "host":
        return products(ceilings, row["dtype"], int(row["threads_found"]))
    return products(ceilings, row["precision"], None, "cuda")
