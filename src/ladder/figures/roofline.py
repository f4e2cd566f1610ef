"""Roofline of each machine from its measured ceilings, with the products on it, of matrices and of a vector.

S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009. The intensity counts each operand once, as if caches had no end.
"""

import numpy as np
import pandas as pd

from ladder.figures import medians, peaks, style

TITLE = "Roofline from measured ceilings"
CATEGORY = "Machine"
EXPERIMENTS = ("gemm_square", "gemm_threads", "gemv_threads")
USES_CEILINGS = True
DTYPE = "float64"
GROUPS = {"gemm_square": "square product", "gemm_threads": "training's products", "gemv_threads": "matrix-vector"}
LEFT = 0.1  # FLOP per byte
BESIDE = 2  # machines


def draw(tables, ceilings):
    """A panel per machine with ceilings: roofs of the fewest and of the most FLOP/s, every method's products."""
    found = {}
    for name in medians.machines(*tables.values()):
        roofs = peaks.roofs(ceilings.get(name, peaks.NONE), DTYPE)
        if roofs:
            found[name] = {roof[0]: roof for roof in (roofs[0], max(roofs, key=lambda roof: roof[1]))}.values()
    if not found:
        return style.empty("ceilings")
    counts = dict.fromkeys(found, 1)
    figure = style.new(0.3 + 2.5 * style.rows_of_bands(counts, BESIDE))
    bands, every = style.bands(figure, counts, BESIDE), []
    for name, roofs in found.items():
        every.append(pd.concat([fastest(tables[group], name).assign(group=group) for group in GROUPS]))
        fill(bands[name][0], roofs, every[-1])
        bands[name][0].set(title=DTYPE, ylabel="GFLOP/s")
    style.share(bands)
    every = pd.concat(every)
    handles = [style.handle(method, line=False) for method in style.ordered(every["method"])]
    style.legend(figure, handles, every["converged"].all(), beside=len(found) == 1)
    return figure


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
    """A machine's roofs and the cases under them."""
    top, bandwidth = max(roof[1] for roof in roofs) / 1e9, max(roof[2] for roof in roofs) / 1e9
    right = max([10 * top / bandwidth, *(9 * cases["intensity"])])
    low = min([LEFT * min(roof[2] for roof in roofs) / 1e9, *(0.6 * cases["median"])])
    style.log_axis(axes.xaxis, (LEFT, right))
    style.log_axis(axes.yaxis, (low / 1.3, 2 * top))
    axes.set_xlabel("FLOP per byte")
    axes.grid()
    for threads, flops, bandwidth in roofs:
        roof(axes, threads, flops / 1e9, bandwidth / 1e9, right)
    for method in style.ordered(cases["method"]):
        some = cases[cases["method"] == method]
        style.points(axes, some["intensity"], some["median"], some, style.look(method))
    middles = cases.groupby("group")["intensity"].agg(["min", "max"]).sort_values("min")
    for number, (group, middle) in enumerate(middles.iterrows()):
        is_left = number == len(middles) - 2  # of the last two, which may be neighbours
        side = {"ha": "right", "xytext": (-5, 3)} if is_left else {"ha": "left", "xytext": (5, 3)}
        x = middle["min"] if is_left else middle["max"]
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "rotation": 90}
        axes.annotate(GROUPS[group], (x, 0), **place, **side, va="bottom", color=style.DARK, fontsize=7)


def roof(axes, threads, flops, bandwidth, right):
    """One roof in GFLOP/s and GB/s, with its numbers along it."""
    axes.plot([LEFT, flops / bandwidth, right], [LEFT * bandwidth, flops, flops], color=style.DARK, linewidth=1.0)
    words = {"color": style.DARK, "fontsize": 7}
    axes.text(right, 1.04 * flops, f"{style.three(flops)} GFLOP/s", ha="right", va="bottom", **words)
    slope = {"rotation": np.degrees(np.arctan(bandwidth)), "transform_rotates_text": True, "rotation_mode": "anchor"}
    numbers = f"{style.threads(threads)}: {style.three(bandwidth)} GB/s"
    axes.text(1.15 * LEFT, 1.21 * LEFT * bandwidth, numbers, va="bottom", **slope, **words)
