"""How long an epoch should take, by the resource that limits a rung.

The loops in C are counted in what a core does in a cycle or the second cache in a second, which is assumed; the rest by
the rates that this machine has reached. Peers have no model.
"""

from ladder.report import rates
from ladder.report.assumptions import LOADS, SECOND_CACHE
from ladder.workloads.backprop import reference

BYTES = {"float32": 4, "float64": 8}
LINE = 64  # bytes of a cache line
LINES = 2  # that the untuned program fetches for a multiply-add
SCALAR = 16  # times as slow as the products of a library: a lane of eight, and a store a cycle beside two multiply-adds
PASSES = 3  # of the weights and their changes through the second cache, for every pattern
UNITS = 6  # passes of the card's memory over the activations and deltas between kernels
IMAGES = 2  # over the images: forward, and for the change of the weights


def predict(found, row):
    """Seconds of the epoch of a case; None where there is no model, or no rate for it."""
    return seconds(needed(row), reached(found, row))


def floor(found, row):
    """Seconds in which the products are done at the best rate, and the images read twice; None without the rates."""
    return seconds(products_and_images(row), reached(found, row))


def seconds(amounts, rates_of):
    """The time of amounts, {resource: amount}, at rates, {resource: rate}; None without amounts, or a rate of one."""
    if not amounts or any(rates_of[name] is None for name in amounts):
        return None
    return sum(amount / rates_of[name] for name, amount in amounts.items())


def reached(found, row):
    """What the machine of a case reaches: FLOP/s of products, B/s of reading, FLOP/s of multiply-adds in registers."""
    if row["device"] == "host":
        threads = threads_of(row)
        reading, multiply_adds = rates.bandwidths(found).get(threads), None
        products = rates.products(found, row["dtype"], threads)
    else:
        reading, multiply_adds = rates.card_bandwidth(found), rates.multiply_adds(found, row["dtype"], "cuda")
        products = rates.products(found, row["precision"], device="cuda")
    return {"products": products, "reading": reading, "multiply_adds": multiply_adds, "second_cache": SECOND_CACHE}


def threads_of(row):
    """The threads of a case, of which one without any counts as one."""
    return int(row["threads_found"]) if row["device"] == "host" else 1


def needed(row):
    """What the epoch of a rung takes of each resource, {resource: amount}; None without a model."""
    flops, widths = float(row["flops"]), reference.widths(row)
    cached = {"second_cache": PASSES * bytes_of(row, weights(row)) / threads_of(row)}
    scalar, loads, read_once = (
        {"products": SCALAR * flops},
        {"multiply_adds": LOADS * flops},
        products_and_images(row, 1),
    )
    by_pattern, read_twice = scalar if row.get("flags") == "O2" else cached, products_and_images(row)
    between_kernels = {"reading": read_twice["reading"] + UNITS * bytes_of(row, sum(widths[1:]))}
    return {
        "before": {"reading": LINES * LINE * flops / 2},
        "loop_order": scalar,
        "temporaries": by_pattern,
        "fusion": by_pattern,
        "associativity": by_pattern,
        "openmp": cached,
        "blas": read_once,
        "tuned": read_once,
        "cuda_flat": loads,
        "cuda_kernels": loads,
        "cuda": read_twice | between_kernels,
        "cuda_fused": read_twice,
    }.get(row["variant"])


def products_and_images(row, passes=IMAGES):
    """The products, and so many passes over the images."""
    return {"products": float(row["flops"]), "reading": passes * bytes_of(row, reference.widths(row)[0])}


def bytes_of(row, count):
    """Bytes of so many elements for every image."""
    return float(row["images"]) * count * BYTES[row["dtype"]]


def weights(row):
    """The number of weights."""
    return sum(rows * columns for rows, columns in reference.shapes(row))
