"""Roofline of each machine from its measured ceilings, with the products on it, of matrices and of a vector.

S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009. The intensity counts each operand once, as if caches had no end.
"""

import numpy as np
import pandas as pd

from ladder.report.figures import medians, peaks, style

TITLE = "Roofline from measured ceilings"
CATEGORY = "Machine"
EXPERIMENTS = (
    "gemm_square",
    "gemm_threads",
    "gemv_threads",
    "gemm_gpu_float64",
    "gemm_gpu_training_float64",
    "gemv_gpu",
)
USES_CEILINGS = True
DTYPE = "float64"
# The experiments of the points, by device, and what stands beside them.
GROUPS = {
    "host": {
        "gemm_square": "square product",
        "gemm_threads": "training's products",
        "gemv_threads": "matrix-vector",
    },
    "cuda": {
        "gemm_gpu_float64": "square product",
        "gemm_gpu_training_float64": "training's products",
        "gemv_gpu": "matrix-vector",
    },
}
LEFT = 0.1  # FLOP per byte
BESIDE = 2  # machines


def draw(tables, ceilings):
    """A panel per machine with ceilings, and one for its GPU: the roofs, and every method's products under them."""
    found = {}
    for machine in medians.machines(*tables.values()):
        own = ceilings.get(machine, peaks.NONE)
        for device, roofs in (("host", of_threads(own)), ("cuda", of_a_card(own))):
            groups = GROUPS[device].items()
            points = pd.concat([fastest(tables[group], machine).assign(group=words) for group, words in groups])
            if roofs and len(points):
                found[machine if device == "host" else f"{machine}, GPU"] = roofs, points
    if not found:
        return style.empty("ceilings")
    counts = dict.fromkeys(found, 1)
    figure = style.new(0.3 + 2.5 * style.rows_of_bands(counts, BESIDE))
    bands = style.bands(figure, counts, BESIDE)
    for name, (roofs, points) in found.items():
        (axes,) = bands[name]
        fill(axes, roofs, points)
        axes.set(title=DTYPE, ylabel="GFLOP/s")
    every = pd.concat([points for _, points in found.values()])
    handles = [style.handle(method, line=False) for method in style.ordered(every["method"])]
    style.legend(figure, handles, every["converged"].all(), beside=len(found) == 1)
    return figure


def of_threads(ceilings):
    """The roofs of the fewest threads and of those with the most FLOP/s: [(words, FLOP/s, B/s)]."""
    roofs = peaks.roofs(ceilings, DTYPE)
    chosen = {roof[0]: roof for roof in (roofs[0], max(roofs, key=lambda roof: roof[1]))} if roofs else {}
    return [(style.threads(threads), flops, bandwidth) for threads, flops, bandwidth in chosen.values()]


def of_a_card(ceilings):
    """The roofs of a GPU with its tensor cores and without them, as those of threads."""
    flops = {
        "cuBLAS": peaks.flops(ceilings, DTYPE, 1, "cuda"),
        "no tensor cores": peaks.multiply_adds(ceilings, DTYPE, "cuda"),
    }
    bandwidth = max(peaks.bandwidths(ceilings, device="cuda").values(), default=None)
    return [(words, rate, bandwidth) for words, rate in flops.items() if rate and bandwidth]


def fastest(tables, machine):
    """A row per method and problem, with its fastest number of threads, in GFLOP/s over FLOP per byte."""
    frame = medians.samples(tables)
    frame = frame[frame["machine"] == machine]
    rows = []
    for first, problem in medians.problems(frame):
        if first["dtype"] == DTYPE:
            found = medians.summaries(problem).sort_values("median").drop_duplicates("method")
            rates = medians.rates(found, first["flops"] / 1e9)
            rows.append(rates.assign(intensity=first["flops"] / first["bytes"]))
    return pd.concat(rows) if rows else pd.DataFrame(columns=[*medians.SUMMARY, "method", "intensity"])


def fill(axes, roofs, cases):
    """Roofs and the cases under them."""
    top, bandwidth = max(roof[1] for roof in roofs) / 1e9, max(roof[2] for roof in roofs) / 1e9
    has_slope = len({roof[2] for roof in roofs}) > 1
    right = max([10 * top / bandwidth, *((9 if has_slope else 100) * cases["intensity"])])
    low = min([LEFT * min(roof[2] for roof in roofs) / 1e9, *(0.6 * cases["median"])])
    style.log_axis(axes.xaxis, (LEFT, right))
    style.log_axis(axes.yaxis, (low / 1.3, 2 * top))
    axes.set_xlabel("FLOP per byte")
    axes.grid()
    for name, flops, bandwidth in roofs:
        roof(axes, name, flops / 1e9, bandwidth / 1e9, right, has_slope, flops / 1e9 < top)
    if not has_slope:
        slope(axes, f"{style.three(bandwidth / 1e9)} GB/s", bandwidth / 1e9)
    for method in style.ordered(cases["method"]):
        some = cases[cases["method"] == method]
        style.points(axes, some["intensity"], some["median"], some, style.look(method))
    middles = cases.groupby("group")["intensity"].agg(["min", "max"]).sort_values("min")
    for number, (group, middle) in enumerate(middles.iterrows()):
        is_left = number == len(middles) - 2  # of the last two, which may be neighbours
        side = {"ha": "right", "xytext": (-5, 3)} if is_left else {"ha": "left", "xytext": (5, 3)}
        x = middle["min"] if is_left else middle["max"]
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "rotation": 90}
        axes.annotate(group, (x, 0), **place, **side, va="bottom", color=style.DARK, fontsize=7)


def roof(axes, name, flops, bandwidth, right, has_slope, is_lower):
    """One roof in GFLOP/s and GB/s with its numbers along it, below a lower one; its name where the slope is shared."""
    axes.plot([LEFT, flops / bandwidth, right], [LEFT * bandwidth, flops, flops], color=style.DARK, linewidth=1.0)
    words = f"{style.three(flops)} GFLOP/s" + ("" if has_slope else f"\n{name}" if is_lower else f", {name}")
    y, side = (flops / 1.07, "top") if is_lower else (flops * 1.04, "bottom")
    axes.text(right, y, words, ha="right", va=side, color=style.DARK, fontsize=7)
    if has_slope:
        slope(axes, f"{name}: {style.three(bandwidth)} GB/s", bandwidth, is_lower)


def slope(axes, words, bandwidth, is_lower=False):
    """Words along the slope of a bandwidth in GB/s, below it or above."""
    turned = {"rotation": np.degrees(np.arctan(bandwidth)), "transform_rotates_text": True, "rotation_mode": "anchor"}
    y, side = (1.05, "top") if is_lower else (1.21, "bottom")
    axes.text(1.15 * LEFT, y * LEFT * bandwidth, words, va=side, color=style.DARK, fontsize=7, **turned)
