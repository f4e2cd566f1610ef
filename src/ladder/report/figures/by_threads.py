"""Rates over the number of threads, ranks or GPUs, with a ceiling."""

from ladder.report.figures import formats, line_names, marks, scales
from ladder.report.figures.theme import GREY

CEILING = {"color": GREY, "linewidth": 2.4, "alpha": 0.6}


def fill_rates(axes, summaries, x, looks_by_name, ceiling, inches):
    """Draw rates over the column `x`, with the lines' names at their ends, and a ceiling, {count: rate}.

    `looks_by_name` is {name in the column method: Look}, `inches` the height of the axes.
    """
    marks.curves(axes, summaries, x, looks_by_name, size=9)
    axes.plot(list(ceiling), list(ceiling.values()), **CEILING, zorder=1)
    scales.thread_axis(axes.xaxis, sorted(set(summaries[x])))
    low, high = scales.extent(summaries, max_factor=1.3)
    scales.log_axis(
        axes.yaxis, (low, max([high, *(1.25 * rate for rate in ceiling.values())])), formats.plain, max_ticks=6
    )
    line_names.label_lines(axes, summaries, x, looks_by_name, inches)
    axes.grid(axis="y")
