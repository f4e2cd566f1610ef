"""What the figures over the number of threads share: times, bandwidths, and speed-ups over a method's one thread."""

import pandas as pd
from matplotlib.lines import Line2D

from ladder.report.figures import medians, peaks, style
from ladder.statistics import verdicts

HEIGHT = 1.75  # inches of a panel
SPACING = 8.5  # points from line to line of a note
IDEAL = {"color": style.GREY, "linewidth": 0.8}
CEILING = IDEAL | {"linewidth": 2.4, "alpha": 0.6}


def times(tables, what, words, ylabel):
    """Time over threads: a panel per machine and problem, a line per method; `words(row)` names a problem."""
    return panels(tables, what, words, ylabel, fill_times, [])


def speedups(tables, what, words):
    """Speed-up over threads: a panel per machine and problem, a line per method, the ideal and the base's times."""
    return panels(tables, what, words, "speed-up", fill_speedups, [Line2D([], [], **IDEAL, label="ideal")])


def bandwidths(tables, ceilings, what, words):
    """Bytes over time by threads: a panel per machine and problem, a line per method and the rate of reading alone."""
    reading = {name: peaks.bandwidths(found, ("read",)) for name, found in ceilings.items()}

    def fill(axes, summaries, row):
        fill_bandwidths(axes, summaries, row, reading.get(row["machine"], {}))

    line = Line2D([], [], **CEILING, label="reading alone")
    return panels(tables, what, words, "GB/s", fill, [line] if any(reading.values()) else [])


def panels(tables, what, words, ylabel, fill, more):
    """A figure whose every panel `fill(axes, summaries, row)` draws; `more` are further entries of its legend.

    The row is the problem's first. Cases on a GPU, which count no threads, have no place in it.
    """
    frame = medians.samples(tables)
    found = medians.by_machine(frame[frame["device"] == "host"], medians.machines(tables))
    if not found:
        return style.empty(what)
    counts = {name: len(problems) for name, problems in found.items()}
    lone = list(counts.values()) == [1]
    figure = style.new(0.5 + (HEIGHT + 0.35) * style.rows_of_bands(counts))
    bands, every = style.bands(figure, counts), []
    for name, problems in found.items():
        for axes, (row, rows) in zip(bands[name], problems, strict=True):
            summaries = medians.summaries(rows)
            fill(axes, summaries, row)
            axes.set_title(words(row))
            style.thread_axis(axes.xaxis, summaries["threads"])
            axes.grid(axis="y")
            axes.set_xlabel("threads")
            every.append(summaries)
        bands[name][0].set_ylabel(ylabel)
    style.share(bands)
    every = pd.concat(every)
    style.legend(figure, [*map(style.handle, style.ordered(every["method"])), *more], every["converged"].all(), lone)
    return figure


def fill_times(axes, summaries, row):
    """Medians with intervals, a line per method."""
    style.time_axis(axes.yaxis, style.extent(summaries))
    for method, dodge, found in lines(summaries):
        style.curve(axes, found["threads"] * dodge, found, method)


def fill_bandwidths(axes, summaries, row, ceiling):
    """GB/s from zero with intervals, a line per method; `ceiling` is {threads: B/s}."""
    rates = medians.rates(summaries, row["bytes"] / 1e9)
    ceiling = {threads: best / 1e9 for threads, best in ceiling.items() if threads in set(rates["threads"])}
    axes.plot(list(ceiling), list(ceiling.values()), **CEILING)
    for method, dodge, found in lines(rates):
        style.curve(axes, found["threads"] * dodge, found, method)
    axes.set_ylim(0, 1.05 * max([*ceiling.values(), style.extent(rates, reach=1.3, pad=1)[1]]))


def fill_speedups(axes, summaries, row):
    """Ratios to one thread's time with their intervals, the ideal line, and one thread's time in the free corner."""
    threads = sorted(summaries["threads"].unique())
    axes.plot(threads, threads, **IDEAL, zorder=1)
    notes, drawn = [("one thread:", style.DARK)], []
    for method, dodge, found in lines(summaries):
        base = found[found["threads"] == 1]
        if base.empty:
            notes.append(("not measured", style.look(method).colour))
            continue
        notes.append((style.time(base["median"].iloc[0]), style.look(method).colour))
        ratios = [verdicts.speedup(base["processes"].iloc[0], processes) for processes in found["processes"]]
        ratios = pd.DataFrame(ratios, columns=["median", "low", "high"], index=found.index)
        ratios.loc[base.index, ["low", "high"]] = 1.0  # the base against itself is no measurement
        drawn.append(ratios.assign(converged=found["converged"]))
        style.curve(axes, found["threads"] * dodge, drawn[-1], method)
    low, high = style.extent(pd.concat(drawn), reach=1.5) if drawn else (1, 1)
    bottom, taken = min(low, threads[0] / 1.2), min(SPACING * len(notes) / 72, 0.8)
    # The base's times stay above a speed-up of 1, also where more threads are slower and a panel is an inch high.
    limits = bottom, max(high, threads[-1] * 1.2, bottom ** (-taken / (1 - taken)))
    if bottom < 0.4:
        style.log_axis(axes.yaxis, limits)
    else:
        style.thread_axis(axes.yaxis, threads, more=(0.5,))
        axes.set_ylim(limits)
    for line, (text, colour) in enumerate(notes):
        place = {
            "xy": (0, 1),
            "xycoords": "axes fraction",
            "xytext": (4, -2 - SPACING * line),
            "textcoords": "offset points",
        }
        axes.annotate(text, **place, va="top", color=colour, fontsize=7)


def lines(summaries):
    """The methods' cases in order: (method, factor that keeps their intervals apart, rows)."""
    methods = style.ordered(summaries["method"])
    for number, method in enumerate(methods):
        dodge = 1.025 ** (number - (len(methods) - 1) / 2)
        yield method, dodge, summaries[summaries["method"] == method]
