"""The predicted time of a product, by the resource that limits it, and of a batch of the training.

All rungs run at the machine's best measured rates, plain loops and kernels with operands in memory at an assumed
fraction of them; `interchanged` is bound by an assumed bandwidth of a core's L2 cache. A batch on a GPU takes its
products and its dependent kernels. Peers have no model.
"""

from ladder.report.assumptions import GRAPH_NODE, L2_BANDWIDTH, LOAD_SLOWDOWN
from ladder.store import rates
from ladder.workloads.mlp import reference
from ladder.workloads.mlp.paper.lines import batches

LOOP_SLOWDOWN = 4 * 2 * 8  # of plain loops: an addition in four cycles, instead of two vectors of eight in each
ELEMENT_BYTES = 8
# Slowdowns relative to the best product, and to multiply-adds in registers.
SLOWDOWNS = {
    "products": {"openmp": LOOP_SLOWDOWN, "c_openmp": LOOP_SLOWDOWN, "tiled": 1, "blas": 1, "cuda_mma": 1, "cublas": 1},
    "multiply_adds": {"cuda_naive": LOAD_SLOWDOWN, "cuda_shared": LOAD_SLOWDOWN, "cuda_columns": 1, "cuda_tiled": 1},
}


def predict(machine, row):
    """Seconds of a product, or of a batch, of a case; None where there is no model, or no rate for it."""
    flops, is_product = flops_of(row), row["workload"] == "gemm"
    if not is_product and row["variant"] not in ("host", "cuda"):
        return None
    name = row["variant" if is_product else "product"]
    amounts = {resource: factors[name] * flops for resource, factors in SLOWDOWNS.items() if name in factors}
    if name == "interchanged":
        amounts = {"seconds": flops / 2 * ELEMENT_BYTES / int(row["threads_found"]) / L2_BANDWIDTH}
    if amounts and not is_product and row["variant"] == "cuda":
        amounts |= {"seconds": kernel_count(row) * GRAPH_NODE}
    return rates.seconds(machine, row, amounts)


def flops_of(row):
    """FLOPs of a product, or of a batch's products."""
    return row["flops"] if row["workload"] == "gemm" else row["flops"] / batches(row)


def kernel_count(row):
    """The number of kernels of a batch on the GPU: two products per layer, the loss, and three per hidden layer."""
    layers = len(reference.layer_sizes(row)) - 1
    return 2 * layers + 1 + 3 * (layers - 1)


def floor(machine, row):
    """Seconds of a product, or of a batch's products, at the best rate of the device; None without one."""
    rate = rates.products(machine, row["dtype"], None, row["device"])
    return flops_of(row) / rate if rate else None
