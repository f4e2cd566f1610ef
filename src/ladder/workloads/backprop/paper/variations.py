"""What one tuning costs or gains: the loops on threads and the kernels of the earlier study, changed in one place."""

import pandas as pd

from ladder.report import ratios, study
from ladder.report.figures import bars, formats, layout, looks, marks, medians, scales, theme
from ladder.workloads.backprop.paper import varied

TITLE = "One tuning changed at a time"
CATEGORY = "Backprop"
CAPTION = """\
How many times as long an epoch takes with one tuning changed: of `openmp`, whose base has a static schedule, a
reduction of the error, sums of each thread and vectors asked for; of `cuda_kernels`, whose base has the memories of the
earlier study, shared for operands, constant for scalars, textures for tables, a block's sum of the error, and blocks of
256 threads; of `cuda_flat`, whose base looks offsets up. Left of the line a change gains. Ratios with 99 % intervals.
"""
EXPERIMENTS = ("backprop_openmp", "backprop_kernels")
INCHES = 0.14  # height of a change
AROUND = 0.62  # inches of a panel above and below its changes
METHODS = [form.variant for forms in varied.FORMS.values() for form in forms]
LINE = {"color": theme.DARK, "linewidth": 0.9}
REACH = 3.0  # how far an interval is followed, as a factor
LEAST = 2.0  # and an axis reaches at least to either side of 1


def draw(tables):
    """Two panels per machine, of threads and of the card."""
    frame = medians.samples(medians.joined(tables))
    found = {}
    for name in medians.machines(*tables.values()):
        rows = study.where(frame, machine=name)
        panels = [changes(forms, rows) for forms in varied.FORMS.values()]
        if any(map(len, panels)):
            found[name] = panels
    if not found:
        return layout.empty("changes of one tuning")
    tall = {name: INCHES * max(map(len, panels)) + AROUND for name, panels in found.items()}
    figure = layout.new(0.2 + sum(tall.values()))
    bands = layout.bands(figure, dict.fromkeys(found, 2), inches=tall)
    for name, panels in found.items():
        for axes, one in zip(bands[name], panels, strict=True):
            fill(axes, one)
    layout.legend(figure, [], all(one["converged"].all() for panels in found.values() for one in panels if len(one)))
    return figure


def changes(forms, rows):
    """What is drawn of some forms, a row per change."""
    return pd.DataFrame([changed(form, *pair) for form in forms for pair in form.pairs(rows)])


def fill(axes, found):
    """The changes of a panel's forms, downwards."""
    if found.empty:
        return layout.blank(axes, "No measurement of a change is there.")
    found = found.assign(at=range(len(found)))
    axes.axvline(1, **LINE, zorder=1)
    marks.points(axes, found, "median", "at", along="x", kinds={name: looks.look(name) for name in METHODS}, size=12)
    axes.set_yticks(found["at"], found["name"])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(found) - 0.4, -0.6)
    low, high = scales.extent(found, reach=REACH)
    scales.log_axis(axes.xaxis, (min(low, 1 / LEAST), max(high, LEAST)), most=4)
    for row in found.itertuples():
        text = f"{formats.three(row.median)} ×"
        axes.annotate(text, (1, row.at), (3, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
    axes.set_title(", ".join(found["form"].unique()))
    axes.set_xlabel("times as long")
    return axes.grid(axis="x")


def changed(form, name, value, rows, base):
    """A change as what is drawn."""
    ratio, first = ratios.of(rows, base), rows.iloc[0]
    threads = f", {formats.threads(int(first['threads']))}" if first["device"] == "host" else ""
    return {
        "form": form.variant + threads,
        "method": form.variant,
        "name": f"{name}: {value}",
        "median": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "converged": bool(rows["converged"].all() and base["converged"].all()),
    }
