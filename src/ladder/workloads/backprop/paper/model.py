"""The predicted time of an epoch: the sum of the times of the resources that limit a rung.

The model charges C loops by what a core does per cycle or by the assumed rate of its L2 cache, and all other rungs
by the rates that the machine has reached. Peers have no model.
"""

from ladder.report.assumptions import L2_BANDWIDTH, LOAD_SLOWDOWN
from ladder.report.telling.lines import count_or_one
from ladder.store import rates
from ladder.workloads.backprop import reference

BYTES = {"float32": 4, "float64": 8}
LINE_BYTES = 64  # bytes of a cache line
LINES_PER_MULTIPLY_ADD = 2  # cache lines fetched in the untuned weight change, which has half of the multiply-adds
SCALAR_SLOWDOWN = 16  # relative to a library: one of eight lanes, and per cycle a store, not two multiply-adds
WEIGHT_PASSES = 3  # over the weights and their changes in the L2 cache, per pattern
UNIT_PASSES = 6  # passes over the activations and deltas in GPU memory, between kernels
IMAGE_PASSES = 2  # passes over the images: forward, and for the weight change


def predict(machine, row):
    """Seconds of an epoch of a case; None without a model or without a rate for it."""
    return rates.seconds(machine, row, amounts_of(row), count_or_one(row, "threads_found"))


def floor(machine, row):
    """Seconds of the products at the best rate and of reading the images twice; None without these rates."""
    return rates.seconds(machine, row, products_and_images(row), count_or_one(row, "threads_found"))


def amounts_of(row):
    """The amount of each resource that an epoch takes, {resource: amount}; None without a model."""
    flops, widths = float(row["flops"]), reference.widths(row)
    weights = sum(rows * columns for rows, columns in reference.shapes(row))
    pass_seconds = WEIGHT_PASSES * bytes_of(row, weights) / L2_BANDWIDTH
    l2_bound = {"seconds": pass_seconds / count_or_one(row, "threads_found")}
    scalar_bound, load_bound = {"products": SCALAR_SLOWDOWN * flops}, {"multiply_adds": LOAD_SLOWDOWN * flops}
    by_pattern = scalar_bound if row.get("flags") == "O2" else l2_bound  # loops over one pattern's units
    read_once, read_twice = products_and_images(row, 1), products_and_images(row)
    between_kernels = {"memory": read_twice["memory"] + UNIT_PASSES * bytes_of(row, sum(widths[1:]))}
    return {
        "before": {"memory": LINES_PER_MULTIPLY_ADD * LINE_BYTES * flops / 4, "products": SCALAR_SLOWDOWN * flops / 2},
        "loop_order": scalar_bound,
        "contiguous": scalar_bound,
        "temporaries": by_pattern,
        "fusion": by_pattern,
        "associativity": by_pattern,
        "openmp": l2_bound,
        "blas": read_once,
        "tuned": read_once,
        "cuda_flat": load_bound,
        "cuda_kernels": load_bound,
        "cuda": read_twice | between_kernels,
        "cuda_fused": read_twice,
    }.get(row["variant"])


def products_and_images(row, passes=IMAGE_PASSES):
    """The amounts of the products and of some passes over the images."""
    return {"products": float(row["flops"]), "memory": passes * bytes_of(row, reference.widths(row)[0])}


def bytes_of(row, image_elements):
    """Bytes of so many elements for each image."""
    return float(row["images"]) * image_elements * BYTES[row["dtype"]]
