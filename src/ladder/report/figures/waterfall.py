"""The waterfall of a ladder: its rungs downwards, their times along, and what each gains over the one above.

Every process is a dot, its median, since processes come in states that one interval would hide. A tick is the time that
a model predicts, a line the ceiling. Where the parts of a rung's time are known, their shares stand beside it.
"""

from dataclasses import dataclass, field

import pandas as pd

from ladder.report import ratios
from ladder.report.figures import bars, formats, layout, looks, marks, scales, theme
from ladder.report.figures.theme import Line2D, Patch
from ladder.statistics import claims

MIN, MAX = 0.108, 0.148  # inches of a rung
TALL = 4.2  # inches of all panels together, if rungs can be so low
WIDTHS = (1.9, 1)  # of a panel, and of the shares beside it
AROUND = 0.58  # inches of a panel above and below its rungs
GAP = 0.5  # before the peers, in rungs
SPREAD = 0.6  # of a rung's height, over which its processes are spread
BESIDE = 44  # points from a panel to what a rung gains
TICK = {"color": theme.DARK, "linewidth": 1.3}
CEILING = {"color": theme.GREY, "linewidth": 2.4, "alpha": 0.6}


@dataclass(frozen=True)
class Rung:
    """A line: its label, the method whose look it has, seconds of every process, the model's seconds or None.

    `parts` are the seconds of the parts of its time, {part: seconds}, where they are known. One that `begins` another
    ladder, such as that on several GPUs, has no speed-up over the one above.
    """

    label: str
    method: str
    processes: list
    predicted: float | None
    converged: bool
    is_peer: bool = False
    parts: dict = field(default_factory=dict)
    begins: bool = False


def figure(ladders, what, ceiling, colours=None, max_ticks=7):
    """Panels below each other, {machine: (problem, [Rung], seconds of the ceiling or None)}; peers are last.

    `what` says whose time it is, in front of the problem, `ceiling` what the line is. With `colours`, {part: colour},
    the shares of the parts of a rung's time are beside it. An axis has at most `max_ticks` ticks, 4 beside shares.
    """
    tall, legend = heights(ladders), 0.3 + (0.15 if colours else 0)
    drawn = layout.new(legend + sum(tall.values()))
    counts = dict.fromkeys(ladders, 2 if colours else 1)
    bands = layout.bands(drawn, counts, beside=1, inches=tall, widths=WIDTHS if colours else None)
    for name, (problem, rungs, floor) in ladders.items():
        axes, *beside = bands[name]
        fill(axes, rungs, floor, max_ticks=4 if beside else max_ticks)
        axes.set_xlabel(f"{what}, {problem}")
        for other in beside:
            fill_shares(other, axes, rungs, colours)
    share([axes for axes, *_ in bands.values()])
    every = [rung for _, rungs, _ in ladders.values() for rung in rungs]
    lines = [(None, any(floor for *_, floor in ladders.values()), CEILING, ceiling)]
    lines.append(("|", any(rung.predicted for rung in every), TICK, "model"))
    parts = {part for rung in every for part in rung.parts}
    patches = [Patch(facecolor=colour, label=part) for part, colour in (colours or {}).items() if part in parts]
    layout.legend(drawn, [dot(), *entries(lines), *patches], all(rung.converged for rung in every))
    return drawn


def heights(ladders):
    """Inches of every machine's panel: rungs are lower where there are many."""
    lines = {name: len(rungs) + GAP for name, (_, rungs, _) in ladders.items()}
    inches = min(max(MIN, (TALL - AROUND * len(ladders)) / sum(lines.values())), MAX)
    return {name: inches * count + AROUND for name, count in lines.items()}


def share(panels):
    """One range of times for all panels."""
    limits = [axes.get_xlim() for axes in panels]
    for axes in panels:
        axes.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def fill(axes, rungs, floor, max_ticks):
    """The rungs of a machine, with the median's time beside each and its gain between it and the one above.

    The axis has at most `max_ticks` ticks.
    """
    places = places_of(rungs)
    dots = pd.DataFrame(
        {"method": rung.method, "seconds": seconds, "at": place, "converged": rung.converged}
        for at, rung in zip(places, rungs, strict=True)
        for seconds, place in spread(rung.processes, at)
    )
    kinds = {rung.method: looks.Look(rung.label, looks.look(rung.method).colour, "o") for rung in rungs}
    marks.mark(axes, dots, "seconds", "at", kinds, size=5)
    known = [(rung.predicted, at) for at, rung in zip(places, rungs, strict=True) if rung.predicted]
    for predicted, at in known:
        axes.plot([predicted] * 2, [at - 0.4, at + 0.4], **TICK, zorder=2)
    if floor:
        axes.axvline(floor, **CEILING, zorder=1)
    axes.set_yticks(places, [rung.label for rung in rungs])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    ends = [*dots["seconds"], *(predicted for predicted, _ in known), *filter(None, [floor])]
    scales.time_axis(axes.xaxis, (min(ends) / 1.5, max(ends) * 1.5), max_ticks)
    axes.grid(axis="x")
    write(axes, places, rungs)


def places_of(rungs):
    """The height of every rung, from the top down."""
    return [at + GAP * rung.is_peer for at, rung in enumerate(rungs)]


def fill_shares(axes, beside, rungs, colours):
    """The shares of the parts of every rung's time as stacked bars, at the heights of the panel beside."""
    known = [(at, rung.parts, sum(rung.parts.values())) for at, rung in zip(places_of(rungs), rungs, strict=True)]
    shares = [
        {"at": at, "value": 100 * seconds / whole, "colour": colours[part]}
        for at, parts, whole in known
        for part, seconds in parts.items()
    ]
    if shares:
        bars.stacked(axes, pd.DataFrame(shares))
    axes.set_ylim(beside.get_ylim())
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the time (%)")
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)


def spread(processes, at):
    """Each process's median and its place on a rung's line, one below the other."""
    step = SPREAD / max(len(processes) - 1, 1)
    start = at - step * (len(processes) - 1) / 2
    return [(claims.middle([times]), start + step * number) for number, times in enumerate(processes)]


def write(axes, places, rungs):
    """Beside each rung its time; beside that, between two rungs, how many times the upper one's time is the lower's."""
    right = bars.BESIDE | {"xycoords": ("axes fraction", "data")}
    for at, rung in zip(places, rungs, strict=True):
        axes.annotate(formats.time(claims.middle(rung.processes)), (1, at), (3, 0), **right)
    for at, upper, lower in zip(places, rungs, rungs[1:], strict=False):
        if not (lower.is_peer or lower.begins):
            gain = claims.quotient(upper.processes, lower.processes)
            axes.annotate(ratios.plain(gain), (1, at + 0.5), (BESIDE, 0), **right)


def dot():
    """The legend's entry of a process."""
    return Line2D([], [], color=theme.DARK, marker="o", ms=3, linestyle="", label="a process")


def entries(lines):
    """The legend's entries of lines and ticks that are shown: (marker, whether it is, style, label)."""
    return [
        Line2D([], [], **(style | {"linestyle": ""} if marker else style), marker=marker, ms=8, mew=1.3, label=label)
        for marker, is_shown, style, label in lines
        if is_shown
    ]
