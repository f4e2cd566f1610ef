"""The minimum time of a picture: its products, without zeros, at the best rate of its machine in that precision.

Only rungs whose layers all keep tiles in registers and multiply no zeros have a model; peers have none. Device-to-host
copies are not modelled, because no ceiling of the link to the host is measured.
"""

from ladder.store import rates

# The variants of the first layers that keep tiles in registers and multiply no zeros.
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
