"""Loss and accuracy by epoch of every method, and how far its loss is from the reference's."""

import numpy as np

from ladder.report.figures import layout, looks, marks, medians, methods, scales, theme
from ladder.report.figures.theme import Line2D

TITLE = "Loss and accuracy by epoch"
CAPTION = """\
Learning with every variant. Left: the mean loss of each epoch, over the curve of the reference. Middle: the accuracy on
the first test images, at most as many as training images. Right: the largest distance of a process's loss from the
float64 reference, with the bound of each dtype. Markers lie inside each other where variants coincide.
"""
EXPERIMENTS = ("mlp_accuracy",)
ZERO = 2e-17  # where the logarithmic axis shows a deviation of zero
BOUND_LINE = {"color": theme.DARK, "linestyle": "--", "linewidth": 0.9}
REFERENCE_LINE = {"color": theme.LIGHT, "linewidth": 4}


def draw(study):
    """A row of panels per machine and training: loss, accuracy, deviation from the reference."""
    tables = study.study.tables["mlp_accuracy"]
    curves = methods.with_methods(tables["curves"]) if len(tables["curves"]) else tables["curves"]
    by_machine = medians.by_machine(curves, medians.machines(tables), ignored_sizes=("dtype",))
    trainings = [(name, *problem) for name, problems in by_machine.items() for problem in problems]
    if not trainings:
        return layout.empty("learning curves")
    figure = layout.new_figure(0.4 + 2.2 * len(trainings))
    subfigures = figure.subfigures(len(trainings), 1, squeeze=False)[:, 0]
    for subfigure, (name, row, rows) in zip(subfigures, trainings, strict=True):
        layout.headline(subfigure, name)
        loss, accuracy, deviation = subfigure.subplots(1, 3)
        loss.set_title(title(row.replace({row["dtype"]: "float64"})))  # which titles do not name
        fill_loss(loss, rows)
        nested_markers(accuracy, rows, "accuracy", 100)
        fill_deviation(deviation, rows)
        for axes, label in ((loss, "mean loss"), (accuracy, "test accuracy (%)"), (deviation, "|loss − reference|")):
            axes.set(xlabel="epoch", ylabel=label)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.grid(axis="y")
    order = methods.sort_methods(method for *_, rows in trainings for method in rows["method"])
    lines = [Line2D([], [], **REFERENCE_LINE, label="reference, float64"), Line2D([], [], **BOUND_LINE, label="bound")]
    layout.legend(figure, [*(layout.method_handle(method, with_line=False) for method in order), *lines])
    return figure


def title(row):
    """A training by its layers, images and batches."""
    data = f"{row['images']:,} images of {row['source']}", f"batches of {row['batch']:,}"
    return ", ".join([str(row["layers"]), row["activation"], *medians.condition_words(row), *data])


def fill_loss(axes, rows):
    """Every method's mean loss of an epoch over the reference's."""
    reference = rows.groupby("epoch")["reference_loss"].first()
    axes.plot(reference.index, reference, **REFERENCE_LINE)
    nested_markers(axes, rows, "loss", 1)
    losses = [*reference, *rows["loss"]]
    scales.log_axis(axes.yaxis, (0.7 * min(losses), 1.3 * max(losses)))


def nested_markers(axes, rows, column, scale):
    """Markers that lie inside each other where methods coincide."""
    order = methods.sort_methods(rows["method"])
    sizes = {method: (6 - 3.5 * number / max(len(order) - 1, 1)) ** 2 for number, method in enumerate(order)}
    mark(axes, rows.assign(value=scale * rows[column]), "epoch", "value", sizes)


def fill_deviation(axes, rows):
    """Distance of every method's loss from the reference's, the largest of its processes, with each dtype's bound."""
    rows = rows.assign(deviation=(rows["loss"] - rows["reference_loss"]).abs().clip(lower=ZERO))
    for dtype, curves in rows.groupby("dtype"):
        bound = curves.groupby("epoch")["loss_bound"].first()
        axes.plot(bound.index, bound, **BOUND_LINE)
        axes.annotate(dtype, (bound.index[0], bound.iloc[0]), (0, 3), textcoords="offset points", fontsize=theme.SMALL)
    order = methods.sort_methods(rows["method"])
    worst = rows.groupby(["dtype", "method", "variant", "case", "epoch"], as_index=False)["deviation"].max()
    shift = worst["method"].map(order.index) - (len(order) - 1) / 2
    mark(axes, worst.assign(shifted=worst["epoch"] + 0.09 * shift), "shifted", "deviation", 6)
    top = np.log10(rows[["loss_bound", "deviation"]].max().max())
    scales.log_axis(axes.yaxis, (ZERO / 2, 10 ** (top + 1.5)))
    powers = range(-15, int(top) + 1, 3)
    axes.set_yticks([ZERO, *(10.0**power for power in powers)], ["0", *(f"$10^{{{power}}}$" for power in powers)])


def mark(axes, rows, x, y, size):
    """Markers of the methods, filled whether or not a case has converged."""
    order = methods.sort_methods(rows["method"])
    rows = rows.assign(converged=True).sort_values("method", key=lambda names: names.map(order.index), kind="stable")
    marks.mark(axes, rows, x, y, {method: looks.look(method) for method in order}, size)
