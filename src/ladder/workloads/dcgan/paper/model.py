"""The minimum time of a picture: its products, without zeros, at the best rate of its machine in that precision.

Rungs that compute without products or tiles in registers have no model. Device-to-host copies are not modelled, because
no ceiling of the link is measured.
"""

from ladder.store import rates

# The variants of the first layers that compute by products or tiles in registers.
MODELLED = ("tuned", "cuda_implicit", "cuda_implicit_mma", "cuda_implicit_wgmma", "cuda_implicit_tma")


def predict(machine, row):
    """Seconds of a picture of a case; None without a model or a rate."""
    first = row["first"] if isinstance(row.get("first"), str) else "cuda_implicit"  # the default
    if first not in MODELLED or row.get("last") == "cuda_parity" or row["variant"].startswith("pytorch"):
        return None
    return floor(machine, row)


def floor(machine, row):
    """Seconds of the products of a picture; None without a rate."""
    return rates.seconds(machine, row, {"products": float(row["flops"]) / float(row["images"])})
