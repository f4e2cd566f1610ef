"""How long an epoch should take, by the resource that limits a rung.

The loops in C are counted in what a core does in a cycle or the second cache in a second, which is assumed; the rest by
the rates that this machine has reached. Peers have no model.
"""

from dataclasses import dataclass

from ladder.workloads.backprop import reference

LINE = 64  # bytes of a cache line
LINES = 2  # that the untuned program fetches for a multiply-add
SCALAR = 16  # times as slow as the products of a library: a lane of eight, and a store a cycle beside two multiply-adds
SECOND_CACHE = 100e9  # B/s of a core
PASSES = 3  # of the weights and their changes through the second cache, for every pattern
LOADS = 8  # times as slow as multiply-adds in registers: a warp's needs two loads, and a quarter of a multiprocessor's
UNITS = 6  # passes of the card's memory over the activations and deltas between kernels
IMAGES = 2  # over the images: forward, and for the change of the weights


@dataclass(frozen=True)
class Rates:
    """What a machine reaches: FLOP/s of products, B/s of reading, FLOP/s of multiply-adds in registers; or None."""

    products: float | None = None
    reading: float | None = None
    multiply_adds: float | None = None
    second_cache: float = SECOND_CACHE


@dataclass(frozen=True)
class Work:
    """An epoch: FLOPs, bytes of the images, of the weights times the patterns, and of the activations."""

    flops: float
    images: float
    weights: float
    units: float


def work(row):
    """That of a case's row."""
    widths, size = reference.widths(row), {"float32": 4, "float64": 8}[row["dtype"]]
    images, weights = float(row["images"]), sum(rows * columns for rows, columns in reference.shapes(row))
    return Work(
        float(row["flops"]), images * widths[0] * size, images * weights * size, images * sum(widths[1:]) * size
    )


def seconds(row, rates, threads=1):
    """Seconds of the epoch of a case; None where there is no model, or no rate for it."""
    found = needed(row["variant"], row.get("flags"), work(row), threads)
    if found is None or any(getattr(rates, name) is None for name in found):
        return None
    return sum(amount / getattr(rates, name) for name, amount in found.items())


def needed(variant, flags, epoch, threads):
    """What a rung takes of each rate, {name of the rate: amount}; None without a model."""
    cached = {"second_cache": PASSES * epoch.weights / threads}
    scalar = {"products": SCALAR * epoch.flops}
    loads = {"multiply_adds": LOADS * epoch.flops}
    read_once = {"products": epoch.flops, "reading": epoch.images}
    read_twice = {"products": epoch.flops, "reading": IMAGES * epoch.images}
    by_pattern = scalar if flags == "O2" else cached
    return {
        "before": {"reading": LINES * LINE * epoch.flops / 2},
        "loop_order": scalar,
        "temporaries": by_pattern,
        "fusion": by_pattern,
        "associativity": by_pattern,
        "openmp": cached,
        "blas": read_once,
        "tuned": read_once,
        "cuda_flat": loads,
        "cuda_kernels": loads,
        "cuda": read_twice | {"reading": IMAGES * epoch.images + UNITS * epoch.units},
        "cuda_fused": read_twice,
    }.get(variant)


def floor(row, rates):
    """Seconds in which the products are done at the best rate, and the images read twice; None without the rates."""
    epoch = work(row)
    if rates.products is None or rates.reading is None:
        return None
    return epoch.flops / rates.products + IMAGES * epoch.images / rates.reading
