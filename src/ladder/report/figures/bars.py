"""Horizontal bars in groups, for figures that compare methods in a few sizes or numbers of threads."""

import pandas as pd

from ladder.report.figures import medians, style

INCHES = 0.106  # height of a bar
GAP = 0.4  # between groups, in bars
DASHED = {"color": style.DARK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
DOTTED = DASHED | {"linestyle": (0, (1, 1.5))}


def figure(found, unit, around, entries=()):
    """Panels of bars, {machine: [(title, groups, lines)]}; a line is (value, look), and none without a value.

    `around` are the inches that a panel needs above and below its bars, `entries` those of the legend.
    """
    counts = {name: len(some) for name, some in found.items()}
    every = [one for some in found.values() for one in some]
    tall = {name: max(inches(groups) for _, groups, _ in some) + around for name, some in found.items()}
    height, tall = style.shared_height(counts, tall)
    drawn = style.new(0.3 + 0.15 * (len(entries) // 5) + height)
    bands = style.bands(drawn, counts, inches=tall)
    for name, some in found.items():
        for axes, (title, groups, lines) in zip(bands[name], some, strict=True):
            lines = [(value, look) for value, look in lines if value]
            grouped(axes, groups, reach=1.03 * max((value for value, _ in lines), default=0.0))
            axes.set_title(title)
            axes.set_xlabel(unit)
            for value, look in lines:
                axes.axvline(value, **look)
    style.legend(drawn, entries, all(converged(groups) for _, groups, _ in every))
    return drawn


def grouped(axes, groups, reach=0.0):
    """Bars from zero with intervals, a text at the right of each: `groups` is [(method, [bar])], from the top down.

    A bar is a dict of name, value, low, high, converged, text and shade (0: the method's colour, 1: white) or, for one
    of several parts, [(value, colour)] as `parts`, on which a dot is the value; without a value there is its text
    alone. Hollow bars or dots have not converged. The axis reaches to `reach` at least.
    """
    place, ticks, names = 0.0, [], []
    for method, bars in groups:
        axes.annotate(style.look(method).label, (0, place), (2, 0), **BESIDE, xycoords=("axes fraction", "data"))
        for number, bar in enumerate(bars, start=1):
            one(axes, place + number, bar, style.look(method).colour)
        ticks += [place + number for number in range(1, len(bars) + 1)]
        names += [bar["name"] for bar in bars]
        place += 1 + len(bars) + GAP
    axes.set_yticks(ticks, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(place - GAP - 0.3, -0.6)
    ends = [length(bar) for _, bars in groups for bar in bars if bar["value"] is not None]
    axes.set_xlim(0, max([reach, *(1.08 * end for end in ends)]) or 1.0)
    axes.grid(axis="x")


BESIDE = {"textcoords": "offset points", "va": "center", "fontsize": 7, "color": style.DARK}


def one(axes, place, bar, colour):
    """One bar, its interval and its text; a missing one has its text in its place."""
    if bar["value"] is None:
        axes.annotate(bar["text"], (0, place), (2, 0), **BESIDE, style="italic")
        return
    if "parts" in bar:
        stack(axes, place, bar["parts"])
        style.points(axes, [bar["value"]], [place], pd.DataFrame([bar]), DOT, along="x")
    else:
        fill = style.lighter(colour, bar["shade"]) if bar["converged"] else "white"
        axes.barh(place, bar["value"], 0.78, color=fill, edgecolor=colour, linewidth=0.7)
        axes.plot([bar["low"], min(bar["high"], style.FAR)], [place, place], color=style.DARK, linewidth=0.8)
    axes.annotate(bar["text"], (1, place), (3, 0), **BESIDE, xycoords=("axes fraction", "data"))


DOT = style.Look("whole call", style.DARK, "o")


def stack(axes, place, parts):
    """Values beside each other from zero, each in its colour."""
    start = 0.0
    for value, colour in parts:
        axes.barh(place, value, 0.78, left=start, color=colour, edgecolor="white", linewidth=0.4)
        start += value


def length(bar):
    """How far a bar reaches."""
    return max(bar["value"], sum(value for value, _ in bar.get("parts", ())))


def rates(rows, column, shades, work, ceiling):
    """Groups of bars of rates by method, and within by a column's values in the order of `shades`: the fastest tunings.

    `work` says how much is done, by the column's values.
    """
    found = medians.summaries(rows, ("method", column, "case")).sort_values("median")
    found = found.drop_duplicates(["method", column]).set_index(["method", column])
    return [
        (
            method,
            [
                rate(one, shades[one], found.loc[(method, one)], work[one], ceiling)
                for one in shades
                if (method, one) in found.index
            ],
        )
        for method in style.ordered(rows["method"])
    ]


def rate(name, shade, found, work, ceiling):
    """A case as a bar of its rate, for so much work, with its share of the ceiling where there is one."""
    value = work / found["median"]
    return {
        "name": name,
        "value": value,
        "low": work / found["high"],
        "high": work / max(found["low"], 1 / style.FAR),
        "converged": found["converged"],
        "shade": shade,
        "text": f"{style.three(value)} ({style.percent(value / ceiling)})" if ceiling else style.three(value),
    }


def converged(groups):
    """Whether all cases of some groups have converged."""
    return all(bar.get("converged", True) for _, bars in groups for bar in bars)


def inches(groups):
    """The height of a panel of such groups."""
    return INCHES * sum(1 + len(bars) + GAP for _, bars in groups)
