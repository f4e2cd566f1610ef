"""What one tuning costs or gains: the loops on threads and the kernels of the earlier study, changed in one place."""

import pandas as pd

from ladder.report import ratios, study
from ladder.report.figures import bars, formats, layout, looks, marks, medians, scales, theme
from ladder.workloads.backprop.paper import varied

TITLE = "One tuning changed at a time"
CATEGORY = "Backprop"
CAPTION = """\
How many times as long an epoch takes with one tuning changed. The base of `openmp` has a static schedule, a reduction
of the error, sums of each thread and vectors asked for; of `cuda_kernels` operands in shared memory, scalars in
constants, tables in textures, a block's sum of the error and 256 threads a block; of `cuda_flat` offsets. Ratios with
99 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("backprop_openmp", "backprop_kernels")
INCHES = 0.13  # height of a change
AROUND = 0.72  # inches of a panel above and below its changes
PLACES = {"host": "", "cuda": ", card"}
METHODS = [form.variant for forms in varied.FORMS.values() for form in forms]
LINE = {"color": theme.DARK, "linewidth": 0.9}
REACH = 3.0  # how far an interval is followed, as a factor
LEAST = 2.0  # and an axis reaches at least to either side of 1


def draw(tables):
    """A panel for the host and one for the card of every machine."""
    frame = medians.samples(medians.joined(tables))
    found = {}
    for name in medians.machines(*tables.values()):
        rows = study.where(frame, machine=name)
        panels = {device: changes(forms, rows) for device, forms in varied.FORMS.items()}
        found |= {f"{name}{PLACES[device]}": one for device, one in panels.items() if len(one)}
    if not found:
        return layout.empty("changes of one tuning")
    counts = dict.fromkeys(found, 1)
    tall = INCHES * max(map(len, found.values())) + AROUND
    figure = layout.new(0.2 + tall * layout.rows_of_bands(counts))
    for (axes,), one in zip(layout.bands(figure, counts).values(), found.values(), strict=True):
        fill(axes, one)
    layout.legend(figure, [], all(one["converged"].all() for one in found.values()))
    return figure


def changes(forms, rows):
    """What is drawn of some forms, a row per change; the panel has the name of the first, others theirs in a row."""
    found = [changed(form, *pair) for form in forms for pair in form.pairs(rows)]
    first = found[0]["form"] if found else None
    return pd.DataFrame([one if one["form"] == first else one | {"tuning": one["form"]} for one in found])


def fill(axes, found):
    """The changes of a panel's forms, downwards."""
    found = found.assign(at=range(len(found)))
    axes.axvline(1, **LINE, zorder=1)
    marks.points(axes, found, "median", "at", along="x", kinds={name: looks.look(name) for name in METHODS}, size=12)
    axes.set_yticks(found["at"], found["tuning"] + ": " + found["value"])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(found) - 0.4, -0.6)
    low, high = scales.extent(found, reach=REACH)
    scales.log_axis(axes.xaxis, (min(low, 1 / LEAST), max(high, LEAST)), most=3)
    for row in found.itertuples():
        text = f"{formats.three(row.median)} ×"
        axes.annotate(text, (1, row.at), (3, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
    axes.set_title(found["form"].iloc[0])
    axes.set_xlabel("times as long")
    axes.grid(axis="x")


def changed(form, name, value, rows, base):
    """A change as what is drawn."""
    ratio, first = ratios.of(rows, base), rows.iloc[0]
    threads = f", {formats.threads(int(first['threads']))}" if first["device"] == "host" else ""
    return {
        "form": form.variant + threads,
        "method": form.variant,
        "tuning": name,
        "value": str(value),
        "median": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "converged": bool(rows["converged"].all() and base["converged"].all()),
    }
