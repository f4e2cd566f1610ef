"""How long a product or a batch of the training should take, by the resource that limits a rung.

Loops are counted in what a core does in a cycle or its second cache in a second, which is assumed; the rest by the
rates that the machine has reached. Peers have no model.
"""

from ladder.workloads.backprop.paper.model import LOADS
from ladder.workloads.descent.paper.model import NODE
from ladder.workloads.mlp import reference

# Times as slow as a library's: a sum waits four cycles for the one before, where two units have eight lanes each.
CHAINED = 4 * 2 * 8
BYTES = 8  # of an element


def seconds(row, rates, threads=1):
    """Seconds of a product, or of a batch, of a case; None where there is no model, or no rate for it."""
    if row["workload"] == "gemm":
        return of_products(row["variant"], row["flops"], rates, threads)
    if row["variant"] not in ("host", "cuda"):
        return None
    found = of_products(row["product"], of_a_batch(row), rates, threads)
    return found and found + (kernels(row) * NODE if row["variant"] == "cuda" else 0.0)


def of_a_batch(row):
    """FLOPs of a batch's products."""
    return row["flops"] * row["batch"] / row["images"]


def of_products(name, flops, rates, threads):
    """Seconds of that many FLOPs in products by a rung; None where there is no model, or no rate."""
    amount, rate = {
        "openmp": (CHAINED * flops, rates.products),
        "c_openmp": (CHAINED * flops, rates.products),
        "interchanged": (flops / 2 * BYTES / threads, rates.second_cache),
        "tiled": (flops, rates.products),
        "blas": (flops, rates.products),
        "cuda_naive": (LOADS * flops, rates.multiply_adds),
        "cuda_shared": (LOADS * flops, rates.multiply_adds),
        "cuda_columns": (flops, rates.multiply_adds),
        "cuda_tiled": (flops, rates.multiply_adds),
        "cuda_mma": (flops, rates.products),
        "cublas": (flops, rates.products),
    }.get(name, (None, None))
    return amount / rate if amount and rate else None


def kernels(row):
    """The kernels of a batch on the card: the products of each layer, the loss, and by hidden layer three more."""
    layers = len(reference.layer_sizes(row)) - 1
    return 2 * layers + 1 + 3 * (layers - 1)


def floor(row, best):
    """Seconds of a product, or of a batch's products, at the best rate of the device; None without one."""
    flops = row["flops"] if row["workload"] == "gemm" else of_a_batch(row)
    return flops / best if best else None
