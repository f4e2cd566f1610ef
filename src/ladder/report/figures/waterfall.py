"""The waterfall of a ladder: its rungs on the y axis, their times on the x axis, and the speed-up from rung to rung.

A dot is the median of a process: processes may fall into groups of different speed, which one interval would hide. A
tick is the time that a model predicts, a line the ceiling. If a rung's phases are known, their shares are beside it.
"""

from dataclasses import dataclass, field

import pandas as pd

from ladder.report import ratios
from ladder.report.figures import bars, formats, layout, looks, marks, scales, theme
from ladder.report.figures.theme import Line2D, Patch
from ladder.statistics import quotients
from ladder.statistics.quotients import Ratio

MIN_RUNG_HEIGHT, MAX_RUNG_HEIGHT = 0.108, 0.148  # the limits of a rung's height in inches
PANELS_HEIGHT = 4.2  # inches of all panels together, if the limits of a rung's height allow it
WIDTH_RATIOS = (1.9, 1)  # the ratio of the widths of a panel and of the shares beside it
MARGIN = 0.58  # inches of a panel above and below its rungs
PEER_GAP = 0.5  # before the peers, in rungs
DOT_SPREAD = 0.6  # the share of a rung's height over which the dots of its processes are spread
SPEEDUP_OFFSET = 44  # points from a panel to its speed-ups
TICK = {"color": theme.DARK, "linewidth": 1.3}
CEILING = {"color": theme.GREY, "linewidth": 2.4, "alpha": 0.6}


@dataclass(frozen=True)
class Rung:
    """A rung: its label, the method whose look it has, seconds of every process, the model's seconds or None.

    `parts` are the seconds of the parts of its time, {part: seconds}, where they are known. `gain` is its speed-up over
    the rung above, a Ratio; peers and rungs that begin another ladder, such as that on several GPUs, have none.
    """

    label: str
    method: str
    processes: list
    predicted: float | None
    converged: bool
    is_peer: bool = False
    parts: dict = field(default_factory=dict)
    gain: Ratio | None = None


def figure(ladders, time_label, ceiling, colours=None, max_ticks=5):
    """Panels below each other, {machine: (problem, [Rung], seconds of the ceiling or None)}; peers are last.

    The axis is labelled by `time_label` and the problem; `ceiling` is the label of the line. With `colours`,
    {part: colour}, the shares of a rung's parts are beside it. An axis has at most `max_ticks` ticks, 4 beside shares.
    """
    inches, legend_height = heights(ladders), 0.3 + (0.15 if colours else 0)
    figure = layout.new_figure(legend_height + sum(inches.values()))
    counts = dict.fromkeys(ladders, 2 if colours else 1)
    bands = layout.bands(figure, counts, max_columns=1, inches=inches, widths=WIDTH_RATIOS if colours else None)
    for name, (problem, rungs, floor) in ladders.items():
        axes, *share_axes = bands[name]
        fill(axes, rungs, floor, max_ticks=4 if share_axes else max_ticks)
        axes.set_xlabel(f"{time_label}, {problem}")
        for shares in share_axes:
            fill_shares(shares, axes, rungs, colours)
    set_common_range([axes for axes, *_ in bands.values()])
    all_rungs = [rung for _, rungs, _ in ladders.values() for rung in rungs]
    lines = [(None, any(floor for *_, floor in ladders.values()), CEILING, ceiling)]
    lines.append(("|", any(rung.predicted for rung in all_rungs), TICK, "model"))
    parts = {part for rung in all_rungs for part in rung.parts}
    patches = [Patch(facecolor=colour, label=part) for part, colour in (colours or {}).items() if part in parts]
    layout.legend(figure, [dot_handle(), *line_handles(lines), *patches], all(rung.converged for rung in all_rungs))
    return figure


def heights(ladders):
    """{machine: inches of its panel}; the more rungs, the lower each of them."""
    rung_counts = {name: len(rungs) + PEER_GAP for name, (_, rungs, _) in ladders.items()}
    inches = min(
        max(MIN_RUNG_HEIGHT, (PANELS_HEIGHT - MARGIN * len(ladders)) / sum(rung_counts.values())), MAX_RUNG_HEIGHT
    )
    return {name: inches * count + MARGIN for name, count in rung_counts.items()}


def set_common_range(panels):
    """Set the same range of times in all panels."""
    limits = [axes.get_xlim() for axes in panels]
    for axes in panels:
        axes.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def fill(axes, rungs, floor, max_ticks):
    """Draw the rungs of a machine, the median time beside each, and the speed-up between neighbours.

    The axis has at most `max_ticks` ticks; `floor` is the time at the ceiling, or None.
    """
    positions = positions_of(rungs)
    dots = pd.DataFrame(
        {"method": rung.method, "seconds": seconds, "y": dot_y, "converged": rung.converged}
        for y, rung in zip(positions, rungs, strict=True)
        for seconds, dot_y in dots_of(rung.processes, y)
    )
    looks_by_name = {rung.method: looks.Look(rung.label, looks.look(rung.method).colour, "o") for rung in rungs}
    marks.mark(axes, dots, "seconds", "y", looks_by_name, size=5)
    predictions = [(rung.predicted, y) for y, rung in zip(positions, rungs, strict=True) if rung.predicted]
    for predicted, y in predictions:
        axes.plot([predicted] * 2, [y - 0.4, y + 0.4], **TICK, zorder=2)
    if floor:
        axes.axvline(floor, **CEILING, zorder=1)
    axes.set_yticks(positions, [rung.label for rung in rungs])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(positions[-1] + 0.6, -0.6)
    times = [*dots["seconds"], *(predicted for predicted, _ in predictions), *filter(None, [floor])]
    scales.time_axis(axes.xaxis, (min(times) / 1.5, max(times) * 1.5), max_ticks)
    axes.grid(axis="x")
    write_times(axes, positions, rungs)


def positions_of(rungs):
    """The y of every rung, from the top down."""
    return [y + PEER_GAP * rung.is_peer for y, rung in enumerate(rungs)]


def fill_shares(axes, panel, rungs, colours):
    """Draw the shares of every rung's parts as stacked bars, at the heights of the rungs in the panel."""
    pairs = [(y, rung.parts) for y, rung in zip(positions_of(rungs), rungs, strict=True)]
    shares = [
        {"y": y, "value": 100 * seconds / sum(parts.values()), "colour": colours[part]}
        for y, parts in pairs
        for part, seconds in parts.items()
    ]
    if shares:
        bars.draw_parts(axes, pd.DataFrame(shares))
    axes.set_ylim(panel.get_ylim())
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the time (%)")
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)


def dots_of(processes, y):
    """[(median, y)] of each process: the dots of a rung are below each other around `y`."""
    step = DOT_SPREAD / max(len(processes) - 1, 1)
    start = y - step * (len(processes) - 1) / 2
    return [(quotients.median_time([times]), start + step * number) for number, times in enumerate(processes)]


def write_times(axes, positions, rungs):
    """Write each rung's time beside the panel, and its speed-up over the rung above."""
    options = bars.TEXT | {"xycoords": ("axes fraction", "data")}
    for y, rung in zip(positions, rungs, strict=True):
        axes.annotate(formats.time(quotients.median_time(rung.processes)), (1, y), (3, 0), **options)
        if rung.gain:
            axes.annotate(ratios.plain(rung.gain), (1, y), (SPEEDUP_OFFSET, 0), **options)


def dot_handle():
    """The legend's handle of a process."""
    return Line2D([], [], color=theme.DARK, marker="o", ms=3, linestyle="", label="a process")


def line_handles(lines):
    """The legend's handles of the lines and ticks, [(marker, is_shown, style, label)], that are shown."""
    return [
        Line2D([], [], **(style | {"linestyle": ""} if marker else style), marker=marker, ms=8, mew=1.3, label=label)
        for marker, is_shown, style, label in lines
        if is_shown
    ]
