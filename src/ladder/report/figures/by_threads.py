"""What the figures over the number of threads share: times, and speed-ups over a method's one thread."""

import pandas as pd

from ladder.report.figures import ends, formats, layout, marks, medians, methods, scales
from ladder.report.figures.theme import GREY

HEIGHT = 1.75  # inches of a panel
IDEAL = {"color": GREY, "linewidth": 0.8}
CEILING = IDEAL | {"linewidth": 2.4, "alpha": 0.6}


def times(tables, what, title, ylabel):
    """Time over threads: a panel per machine and problem, a line per method; `title(row)` is a problem's."""
    return panels(tables, what, title, ylabel, fill_times, [])


def panels(tables, what, title, ylabel, fill, more):
    """A figure whose every panel `fill(axes, summaries, row)` draws; `more` are further entries of its legend.

    The row is the problem's first. Cases on a GPU, which count no threads, have no place in it.
    """
    frame = medians.samples(tables)
    found = medians.by_machine(frame[frame["device"] == "host"], medians.machines(tables))
    if not found:
        return layout.empty(what)
    counts = {name: len(problems) for name, problems in found.items()}
    lone = list(counts.values()) == [1]
    figure = layout.new(0.5 + (HEIGHT + 0.35) * layout.rows_of_bands(counts))
    bands, every = layout.bands(figure, counts), []
    for name, problems in found.items():
        for axes, (row, rows) in zip(bands[name], problems, strict=True):
            summaries = medians.summaries(rows)
            fill(axes, apart(summaries), row)
            axes.set_title(title(row))
            scales.thread_axis(axes.xaxis, summaries["threads"])
            axes.grid(axis="y")
            axes.set_xlabel("threads")
            every.append(summaries)
        bands[name][0].set_ylabel(ylabel)
    layout.share(bands)
    every = pd.concat(every)
    entries = [*map(layout.handle, methods.ordered(every["method"])), *more]
    layout.legend(figure, entries, every["converged"].all(), lone)
    return figure


def apart(summaries):
    """The cases with the column `at`: their threads, moved a little so that the methods' intervals lie side by side."""
    order = methods.ordered(summaries["method"])
    shift = {method: 1.025 ** (number - (len(order) - 1) / 2) for number, method in enumerate(order)}
    return summaries.assign(at=summaries["threads"] * summaries["method"].map(shift))


def fill_rates(axes, found, at, looks_of, ceiling, inches):
    """Rates over the column `at`, lines named where they end, and a ceiling, {count: rate}, in axes of `inches`."""
    marks.lines(axes, found, at, "median", looks_of)
    marks.points(axes, found, at, "median", kinds=looks_of, size=9)
    axes.plot(list(ceiling), list(ceiling.values()), **CEILING, zorder=1)
    scales.thread_axis(axes.xaxis, sorted(set(found[at])))
    low, high = scales.extent(found, reach=1.3)
    scales.log_axis(axes.yaxis, (low, max([high, *(1.25 * rate for rate in ceiling.values())])), formats.plain, most=6)
    last = [(row.median, looks_of[row.method]) for row in found.sort_values(at).groupby("method").tail(1).itertuples()]
    ends.label(axes, [(rate, look.label, look.colour) for rate, look in last], inches)
    axes.grid(axis="y")


def fill_times(axes, summaries, row):
    """Medians with intervals, a line per method."""
    scales.time_axis(axes.yaxis, scales.extent(summaries))
    marks.curves(axes, summaries, "at")
