"""Rooflines: roofs with their names and numbers, and below them rates over arithmetic intensity.

S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009.
"""

import numpy as np

from ladder.report.figures import formats, marks, scales, theme
from ladder.store import rates

MIN_INTENSITY = 0.1  # FLOP per byte at the left end of the axis


def roofs_by_device(machine, dtype):
    """The roofs of a machine's host and of its GPU, {device: [(label, FLOP/s, B/s)]}; empty without ceilings."""
    return {"host": roofs_of_threads(machine, dtype), "cuda": roofs_of_gpu(machine, dtype)}


def roofs_of_threads(machine, dtype):
    """The roofs on the fewest threads with both ceilings and on those with the highest FLOP/s."""
    memory = rates.bandwidths(machine)
    products = {threads: rates.products(machine, dtype, threads) for threads in memory}
    roofs = [(threads, rate, memory[threads]) for threads, rate in products.items() if rate]
    extremes = dict.fromkeys((roofs[0], max(roofs, key=lambda roof: roof[1]))) if roofs else ()
    return [(formats.threads(threads), flops, bandwidth) for threads, flops, bandwidth in extremes]


def roofs_of_gpu(machine, dtype):
    """The roofs of a GPU with tensor cores and without them."""
    bandwidth, products = rates.gpu_bandwidth(machine), rates.products(machine, dtype, device="cuda")
    roofs = [("cuBLAS", products), ("no tensor cores", rates.multiply_adds(machine, dtype, "cuda"))]
    return [(label, rate, bandwidth) for label, rate in roofs if rate and bandwidth]


def fill(axes, title, roofs, cases):
    """Draw roofs, [(label, FLOP/s, B/s)], and cases: their `median` in GFLOP/s over `intensity`, named by `group`."""
    top, max_bandwidth = max(roof[1] for roof in roofs) / 1e9, max(roof[2] for roof in roofs) / 1e9
    has_slope = len({roof[2] for roof in roofs}) > 1
    right = max([10 * top / max_bandwidth, *((9 if has_slope else 100) * cases["intensity"])])
    low = min([MIN_INTENSITY * min(roof[2] for roof in roofs) / 1e9, *(0.6 * cases["median"])])
    scales.log_axis(axes.xaxis, (MIN_INTENSITY, right))
    scales.log_axis(axes.yaxis, (low / 1.3, 2 * top))
    axes.grid()
    for name, flops, bandwidth in roofs:
        draw_roof(axes, name, flops / 1e9, bandwidth / 1e9, right, has_slope, flops / 1e9 < top)
    if not has_slope:
        write_along_slope(axes, f"{formats.three_digits(max_bandwidth)} GB/s", max_bandwidth)
    marks.points(axes, cases, "intensity", "median")
    axes.set(title=title, xlabel="FLOP per byte", ylabel="GFLOP/s")
    extents = cases.groupby("group")["intensity"].agg(["min", "max"]).sort_values("min")
    for number, (group, extent) in enumerate(extents.iterrows()):
        is_left = number == len(extents) - 2  # the last two groups may be close: their names are on opposite sides
        side = {"ha": "right", "xytext": (-5, 3)} if is_left else {"ha": "left", "xytext": (5, 3)}
        x = extent["min"] if is_left else extent["max"]
        along = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "rotation": 90}
        axes.annotate(group, (x, 0), **along, **side, va="bottom", color=theme.DARK, fontsize=theme.SMALL)


def draw_roof(axes, name, flops, bandwidth, right, has_slope, is_lower):
    """Draw a roof in GFLOP/s and GB/s with its numbers, above it or, of a lower roof, below; its name is on the slope.

    If all roofs share one slope, the name is beside the roof's GFLOP/s.
    """
    axes.plot(
        [MIN_INTENSITY, flops / bandwidth, right],
        [MIN_INTENSITY * bandwidth, flops, flops],
        color=theme.DARK,
        linewidth=1.0,
    )
    text = f"{formats.three_digits(flops)} GFLOP/s" + ("" if has_slope else f"\n{name}" if is_lower else f", {name}")
    y, side = (flops / 1.07, "top") if is_lower else (flops * 1.04, "bottom")
    axes.text(right, y, text, ha="right", va=side, color=theme.DARK, fontsize=theme.SMALL)
    if has_slope:
        write_along_slope(axes, f"{name}: {formats.three_digits(bandwidth)} GB/s", bandwidth, is_lower)


def write_along_slope(axes, text, bandwidth, is_lower=False):
    """Write a text along the slope of a bandwidth in GB/s, above it or, of a lower roof, below."""
    rotation = {"rotation": np.degrees(np.arctan(bandwidth)), "transform_rotates_text": True, "rotation_mode": "anchor"}
    y, side = (1.05, "top") if is_lower else (1.21, "bottom")
    axes.text(
        1.15 * MIN_INTENSITY,
        y * MIN_INTENSITY * bandwidth,
        text,
        va=side,
        color=theme.DARK,
        fontsize=theme.SMALL,
        **rotation,
    )
