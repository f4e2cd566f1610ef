"""The predicted time of a product, by the resource that limits it, and of a batch of the training.

All rungs run at the machine's best measured rates, plain loops and kernels with operands in memory at an assumed
fraction of them; `interchanged` is bound by an assumed bandwidth of a core's L2 cache. A batch on a GPU takes its
products and its dependent kernels. Peers and `cuda_persistent` have no model.
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
    "multiply_adds": dict.fromkeys(("cuda_naive", "cuda_shared"), LOAD_SLOWDOWN)
    | dict.fromkeys(("cuda_columns", "cuda_tiled", "cuda_fused"), 1),
}


def predict(machine, row):
    """Seconds of a product, or of a batch, of a case; None where there is no model, or no rate for it."""
    flops, variant = flops_of(row), row["variant"]
    name = row["product"] if variant in ("host", "cuda") else variant
    amounts = {resource: factors[name] * flops for resource, factors in SLOWDOWNS.items() if name in factors}
    if name == "interchanged":
        amounts = {"seconds": flops / 2 * ELEMENT_BYTES / int(row["threads_found"]) / L2_BANDWIDTH}
    if amounts and variant in ("cuda", "cuda_fused"):
        amounts |= {"seconds": kernel_count(row, is_fused=variant == "cuda_fused") * GRAPH_NODE}
    return rates.seconds(machine, row, amounts)


def flops_of(row):
    """FLOPs of a product, or of a batch's products."""
    return row["flops"] if row["workload"] == "gemm" else row["flops"] / batches(row)


def kernel_count(row, is_fused=False):
    """Kernels of a batch: two products per layer, the loss, three per hidden layer; fused, one per layer and pass."""
    layers = len(reference.layer_sizes(row)) - 1
    return 2 * layers - 1 if is_fused else 2 * layers + 1 + 3 * (layers - 1)


def floor(machine, row):
    """Seconds of a product, or of a batch's products, at the best rate of the device; None without one."""
    rate = rates.products(machine, row["dtype"], None, row["device"])
    return flops_of(row) / rate if rate else None
