"""How long a product or a batch of the training should take, by the resource that limits a rung.

Loops are counted in what a core does in a cycle or its second cache in a second, which is assumed; the rest by the
rates that the machine has reached. Peers have no model.
"""

from ladder.report import rates
from ladder.report.assumptions import LOADS, NODE, SECOND_CACHE
from ladder.workloads.mlp import reference
from ladder.workloads.mlp.paper.lines import batches

# Times as slow as a library's: a sum waits four cycles for the one before, where two units have eight lanes each.
CHAINED = 4 * 2 * 8
BYTES = 8  # of an element
LOOPS, KERNELS = ("openmp", "c_openmp"), ("cuda_naive", "cuda_shared")
IN_REGISTERS, LIBRARIES = ("cuda_columns", "cuda_tiled"), ("tiled", "blas", "cuda_mma", "cublas")


def predict(found, row):
    """Seconds of a product, or of a batch, of a case; None where there is no model, or no rate for it."""
    if row["workload"] == "gemm":
        return of_products(found, row, row["variant"])
    if row["variant"] not in ("host", "cuda"):
        return None
    seconds = of_products(found, row, row["product"])
    return seconds and seconds + (kernels(row) * NODE if row["variant"] == "cuda" else 0.0)


def of_products(found, row, name):
    """Seconds of a row's products by a rung; None where there is no model, or no rate."""
    flops = work(row)
    if name == "interchanged":
        return flops / 2 * BYTES / int(row["threads_found"]) / SECOND_CACHE
    if name in LOOPS + LIBRARIES:
        amount, rate = (CHAINED if name in LOOPS else 1) * flops, best_products(found, row)
    elif name in KERNELS + IN_REGISTERS:
        rate = rates.multiply_adds(found, row["dtype"], "cuda")
        amount = (LOADS if name in KERNELS else 1) * flops
    else:
        return None
    return amount / rate if rate else None


def work(row):
    """FLOPs of a product, or of a batch's products."""
    return row["flops"] if row["workload"] == "gemm" else row["flops"] / batches(row)


def best_products(found, row):
    """FLOP/s of the best product on a case's threads, or on its GPU."""
    if row["device"] == "host":
        return rates.products(found, row["dtype"], int(row["threads_found"]))
    return rates.products(found, row["precision"], None, row["device"])


def kernels(row):
    """The kernels of a batch on the GPU: the products of each layer, the loss, and by hidden layer three more."""
    layers = len(reference.layer_sizes(row)) - 1
    return 2 * layers + 1 + 3 * (layers - 1)


def floor(found, row):
    """Seconds of a product, or of a batch's products, at the best rate of the device; None without one."""
    rate = rates.products(found, row["dtype"], None, row["device"])
    return work(row) / rate if rate else None
