"""What the figures over the number of threads share: times, and speed-ups over a method's one thread."""

import pandas as pd
from matplotlib.lines import Line2D

from ladder.report.figures import formats, layout, looks, marks, medians, methods, scales
from ladder.report.figures.theme import DARK, GREY, SMALL
from ladder.statistics import verdicts

HEIGHT = 1.75  # inches of a panel
SPACING = 8.5  # points from line to line of a note
IDEAL = {"color": GREY, "linewidth": 0.8}
CEILING = IDEAL | {"linewidth": 2.4, "alpha": 0.6}


def times(tables, what, title, ylabel):
    """Time over threads: a panel per machine and problem, a line per method; `title(row)` is a problem's."""
    return panels(tables, what, title, ylabel, fill_times, [])


def speedups(tables, what, title):
    """Speed-up over threads: a panel per machine and problem, a line per method, the ideal and the base's times."""
    return panels(tables, what, title, "speed-up", fill_speedups, [Line2D([], [], **IDEAL, label="ideal")])


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


def fill_times(axes, summaries, row):
    """Medians with intervals, a line per method."""
    scales.time_axis(axes.yaxis, scales.extent(summaries))
    marks.curves(axes, summaries, "at")


def fill_speedups(axes, summaries, row):
    """Ratios to one thread's time with their intervals, the ideal line, and one thread's time in the free corner."""
    threads = sorted(summaries["threads"].unique())
    axes.plot(threads, threads, **IDEAL, zorder=1)
    parts = {method: summaries[summaries["method"] == method] for method in methods.ordered(summaries["method"])}
    drawn = [ratios(found) for found in parts.values() if (found["threads"] == 1).any()]
    low, high = 1.0, 1.0
    if drawn:
        drawn = pd.concat(drawn)
        marks.curves(axes, drawn, "at")
        low, high = scales.extent(drawn, reach=1.5)
    bottom, taken = min(low, threads[0] / 1.2), min(SPACING * (1 + len(parts)) / 72, 0.8)
    # The base's times stay above a speed-up of 1, also where more threads are slower and a panel is an inch high.
    limits = bottom, max(high, threads[-1] * 1.2, bottom ** (-taken / (1 - taken)))
    if bottom < 0.4:
        scales.log_axis(axes.yaxis, limits)
    else:
        scales.thread_axis(axes.yaxis, threads, more=(0.5,))
        axes.set_ylim(limits)
    note(axes, parts)


def ratios(found):
    """A method's cases as speed-ups over its own case of one thread."""
    base = found[found["threads"] == 1].iloc[0]
    rows = [verdicts.speedup(base["processes"], processes) for processes in found["processes"]]
    rows = found.assign(**pd.DataFrame(rows, columns=["median", "low", "high"], index=found.index))
    rows.loc[base.name, ["low", "high"]] = 1.0  # the base against itself is no measurement
    return rows


def note(axes, parts):
    """The time of each method's one thread in its colour, line by line from the top."""
    lines = [("one thread:", DARK)]
    for method, found in parts.items():
        base = found[found["threads"] == 1]["median"]
        lines.append((formats.time(base.iloc[0]) if len(base) else "not measured", looks.look(method).colour))
    for number, (text, colour) in enumerate(lines):
        corner = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top", "fontsize": SMALL}
        axes.annotate(text, (0, 1), (4, -2 - SPACING * number), color=colour, **corner)
