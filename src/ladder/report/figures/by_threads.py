"""What the figures over the number of threads share: times, and speed-ups over a method's one thread."""

import itertools

import pandas as pd

from ladder.report.figures import ends, formats, layout, lines, marks, medians, scales
from ladder.report.figures.theme import GREY

HEIGHT = 1.75  # inches of a panel
IDEAL = {"color": GREY, "linewidth": 0.8}
CEILING = IDEAL | {"linewidth": 2.4, "alpha": 0.6}


def times(tables, what, title, ylabel):
    """Time over threads: a panel per machine and problem, a line per method; `title(row)` is a problem's.

    Where a method has several cases on as many threads, each of its other tunings is a line.
    """
    return panels(tables, what, title, ylabel, fill_times, [])


def panels(tables, what, title, ylabel, fill, more):
    """A figure whose every panel `fill(axes, summaries, row, kinds)` draws; `more` are further entries of its legend.

    The row is the problem's first, `kinds`, {name: Look}, says how the lines look. Cases on a GPU, which count no
    threads, have no place in it.
    """
    frame = medians.samples(tables)
    by_machine = medians.by_machine(frame[frame["device"] == "host"], medians.machines(tables))
    if not by_machine:
        return layout.empty(what)
    counts = {name: len(problems) for name, problems in by_machine.items()}
    lone = list(counts.values()) == [1]
    figure = layout.new(0.5 + (HEIGHT + 0.35) * layout.rows_of_bands(counts))
    bands = layout.bands(figure, counts)
    summaries_of = {
        name: [lines.told_apart(medians.summaries(rows)) for _, rows in by_machine[name]] for name in by_machine
    }
    every = pd.concat(itertools.chain(*summaries_of.values()))
    kinds = lines.looks_of(every)
    for name, problems in by_machine.items():
        for axes, (row, _), summaries in zip(bands[name], problems, summaries_of[name], strict=True):
            fill(axes, apart(summaries, list(kinds)), row, kinds)
            axes.set_title(title(row))
            scales.thread_axis(axes.xaxis, summaries["threads"])
            axes.grid(axis="y")
            axes.set_xlabel("threads")
        bands[name][0].set_ylabel(ylabel)
    layout.share(bands)
    entries = [*map(layout.entry, kinds.values()), *more]
    layout.legend(figure, entries, every["converged"].all(), lone)
    return figure


def apart(summaries, order):
    """The cases with the column `at`: their threads, moved a little so that the methods' intervals lie side by side."""
    order = [name for name in order if name in set(summaries["method"])]
    shift = {method: 1.025 ** (number - (len(order) - 1) / 2) for number, method in enumerate(order)}
    return summaries.assign(at=summaries["threads"] * summaries["method"].map(shift))


def fill_rates(axes, summaries, at, looks_of, ceiling, inches):
    """Rates over the column `at`, lines named where they end, and a ceiling, {count: rate}, in axes of `inches`."""
    marks.lines(axes, summaries, at, "median", looks_of)
    marks.points(axes, summaries, at, "median", kinds=looks_of, size=9)
    axes.plot(list(ceiling), list(ceiling.values()), **CEILING, zorder=1)
    scales.thread_axis(axes.xaxis, sorted(set(summaries[at])))
    low, high = scales.extent(summaries, reach=1.3)
    scales.log_axis(
        axes.yaxis, (low, max([high, *(1.25 * rate for rate in ceiling.values())])), formats.plain, max_ticks=6
    )
    ends.names(axes, summaries, at, looks_of, inches)
    axes.grid(axis="y")


def fill_times(axes, summaries, row, kinds):
    """Medians with intervals, a line per method."""
    scales.time_axis(axes.yaxis, scales.extent(summaries))
    marks.curves(axes, summaries, "at", kinds)
