"""Rates over the number of threads, ranks or GPUs, with a ceiling."""

from ladder.report.figures import ends, formats, marks, scales
from ladder.report.figures.theme import GREY

CEILING = {"color": GREY, "linewidth": 2.4, "alpha": 0.6}


def fill_rates(axes, summaries, at, looks_of, ceiling, inches):
    """Draw rates over the column `at`, with the lines' names at their ends, and a ceiling, {count: rate}.

    `looks_of` is {name in the column method: Look}, `inches` the height of the axes.
    """
    marks.curves(axes, summaries, at, looks_of, size=9)
    axes.plot(list(ceiling), list(ceiling.values()), **CEILING, zorder=1)
    scales.thread_axis(axes.xaxis, sorted(set(summaries[at])))
    low, high = scales.extent(summaries, reach=1.3)
    scales.log_axis(
        axes.yaxis, (low, max([high, *(1.25 * rate for rate in ceiling.values())])), formats.plain, max_ticks=6
    )
    ends.label_lines(axes, summaries, at, looks_of, inches)
    axes.grid(axis="y")
