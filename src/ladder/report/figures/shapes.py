"""The time of a library over that of the project's fastest variant on many shapes: a point for each, by work."""

import numpy as np
import pandas as pd

from ladder.catalogue import workloads
from ladder.report import ratios
from ladder.report.figures import formats, layout, looks, marks, medians, methods, scales, theme
from ladder.store import study

# The precisions of variants that a library's product in a precision is compared with.
COMPARED_PRECISIONS = {"tf32": ("tf32", "float32")}
COLUMNS = ["precision", "method", "flops", "ratio", "converged"]


def figure(results, library):
    """A band per machine with a panel per precision, from `results`, a Study; `library` is the method compared with."""
    frame = medians.samples(medians.join_tables(results.tables))
    panels = {}
    for name in results.machines():
        points = points_of(frame[frame["machine"] == name], library)
        parts = points.groupby("precision", sort=False)
        if len(points):
            panels[name] = [(precision, part, axis_limits(points)) for precision, part in parts]
    if not panels:
        return layout.empty("products of random shapes")
    drawing, _ = layout.panels(panels, fill, 1.9, 0.4)
    used_methods = {method for parts in panels.values() for _, part, _ in parts for method in part["method"]}
    layout.legend(drawing, [layout.method_handle(name, with_line=False) for name in methods.sort_methods(used_methods)])
    return drawing


def points_of(frame, library):
    """A row for each shape and precision of the library: the ratio of its time to that of the fastest rung."""
    rows = []
    for _, problem in medians.problems(frame):
        cases = {(first["precision"], first["method"]): part for first, part in cases_of(problem)}
        for (precision, method), part in cases.items():
            others = {
                name: other
                for (other_precision, name), other in cases.items()
                if name != library
                and not is_peer(other)
                and other_precision in COMPARED_PRECISIONS.get(precision, (precision,))
            }
            if method == library and others:
                best, test_rows = study.best_and_test_rows(others)
                rows.append((precision, best, part["flops"].iloc[0], ratios.of(part, test_rows).value, True))
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(
        "precision", key=lambda column: column.map(sort_key), kind="stable"
    )


def is_peer(rows):
    """Whether the rows of a case are a peer's, such as those of a second library."""
    workload, variant = rows[["workload", "variant"]].iloc[0]
    return bool(workloads.constants(workload, variant).get("PEER"))


def cases_of(problem):
    """[(first row, rows)] of the cases of a problem."""
    return [(rows.iloc[0], rows) for _, rows in problem.groupby(["variant", "case"], sort=False)]


def sort_key(precision):
    """The sort key of a precision by the bits in its name, the most first."""
    return -int(precision.strip("abcdefghijklmnopqrstuvwxyz") or 0)


def axis_limits(points):
    """The limits of both axes, the same in all panels of a machine: (FLOPs, ratios)."""
    work_limits = points["flops"].min() / 1.5, points["flops"].max() * 1.5
    return work_limits, (min(points["ratio"].min(), 0.5) / 1.1, max(points["ratio"].max(), 2) * 1.1)


def fill(axes, precision, points, limits):
    """Draw the points of a panel, the line of equal times, and in the title the geometric mean."""
    scales.log_axis(axes.xaxis, limits[0], formats.scientific, max_ticks=6)
    scales.log_axis(axes.yaxis, limits[1])
    axes.axhline(1, color=theme.DARK, linewidth=0.8)
    names = dict.fromkeys(points["method"])
    marks.mark(axes, points, "flops", "ratio", {name: looks.look(name) for name in names})
    mean = np.exp(np.log(points["ratio"]).mean())
    title = f"{precision}: {formats.three_digits(mean)} over {len(points)} shapes"
    axes.set(title=title, xlabel="FLOP", ylabel="speed-up")
