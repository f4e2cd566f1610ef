"""Loss and accuracy by epoch of every backend, and how far its loss is from the reference's."""

import numpy as np
from matplotlib.lines import Line2D

from ladder.report.figures import medians, style

TITLE = "Loss and accuracy by epoch"
CATEGORY = "MLP"
EXPERIMENTS = ("mlp_accuracy",)
LEAST = 2e-17  # where a deviation of nothing stands on the logarithmic axis
BOUND = {"color": style.DARK, "linestyle": "--", "linewidth": 0.9}
REFERENCE = {"color": style.LIGHT, "linewidth": 4}


def draw(tables):
    """A row of panels per machine and training: loss, accuracy, deviation from the reference."""
    frame = tables["mlp_accuracy"]["curves"]
    frame = medians.named(frame) if len(frame) else frame
    found = [
        (name, row, rows)
        for name in medians.machines(tables["mlp_accuracy"])
        for row, rows in medians.problems(frame[frame["machine"] == name] if len(frame) else frame, but=("dtype",))
    ]
    if not found:
        return style.empty("learning curves")
    figure = style.new(0.4 + 2.2 * len(found))
    parts = figure.subfigures(len(found), 1, squeeze=False)[:, 0]
    for part, (name, row, rows) in zip(parts, found, strict=True):
        words = medians.training(row.replace({row["dtype"]: "float64"}))
        style.headline(part, name)
        loss, accuracy, deviation = part.subplots(1, 3)
        loss.set_title(words.replace("\n", ", "))
        fill_loss(loss, rows)
        fill_accuracy(accuracy, rows)
        fill_deviation(deviation, rows)
        for axes in (loss, accuracy, deviation):
            axes.set_xlabel("epoch")
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.grid(axis="y")
    methods = style.ordered(method for *_, rows in found for method in rows["method"])
    lines = [Line2D([], [], **REFERENCE, label="reference, float64"), Line2D([], [], **BOUND, label="bound")]
    style.legend(figure, [*(style.handle(method, line=False) for method in methods), *lines])
    return figure


def fill_loss(axes, rows):
    """Every backend's mean loss of an epoch over the reference's."""
    due = rows.groupby("epoch")["reference_loss"].first()
    axes.plot(due.index, due, **REFERENCE)
    nested(axes, rows, "loss", 1)
    style.log_axis(axes.yaxis, (0.7 * min(due.min(), rows["loss"].min()), 1.3 * max(due.max(), rows["loss"].max())))
    axes.set_ylabel("mean loss")


def fill_accuracy(axes, rows):
    """Every backend's accuracy on the test images."""
    nested(axes, rows, "accuracy", 100)
    axes.set_ylabel("test accuracy (%)")


def nested(axes, rows, column, scale):
    """Markers that lie inside each other where backends coincide."""
    methods = style.ordered(rows["method"])
    for number, method in enumerate(methods):
        some = rows[rows["method"] == method]
        look, size = style.look(method), 7.5 - 5.5 * number / max(len(methods) - 1, 1)
        axes.plot(some["epoch"], scale * some[column], look.marker, color=look.colour, mec="white", mew=0.3, ms=size)


def fill_deviation(axes, rows):
    """Distance of every backend's loss from the reference's, the largest of its processes, with each dtype's bound."""
    rows = rows.assign(deviation=(rows["loss"] - rows["reference_loss"]).abs().clip(lower=LEAST))
    methods = style.ordered(rows["method"])
    for dtype, some in rows.groupby("dtype"):
        bound = some.groupby("epoch")["loss_bound"].first()
        axes.plot(bound.index, bound, **BOUND)
        axes.annotate(dtype, (bound.index[0], bound.iloc[0]), (0, 3), textcoords="offset points", fontsize=7)
        for number, method in enumerate(methods):
            worst = some[some["method"] == method].groupby("epoch")["deviation"].max()
            shift = 0.09 * (number - (len(methods) - 1) / 2)
            look = style.look(method)
            axes.plot(worst.index + shift, worst, look.marker, color=look.colour, ms=3, mec="white", mew=0.2)
    top = np.log10(rows[["loss_bound", "deviation"]].max().max())
    style.log_axis(axes.yaxis, (LEAST / 2, 10 ** (top + 1.5)))
    ticks = range(-15, int(top) + 1, 3)
    axes.set_yticks([LEAST, *(10.0**exponent for exponent in ticks)], ["0", *(f"$10^{{{one}}}$" for one in ticks)])
    axes.set_ylabel("|loss − reference|")
