"""Logarithmic axes with round numbers."""

import numpy as np

from ladder.report.figures import formats
from ladder.report.figures.theme import FixedLocator, FuncFormatter, Locator, NullFormatter, NullLocator


def extent(cases, max_factor=4.0, pad=1.25):
    """Limits of a logarithmic axis that contain all medians, and intervals within `max_factor` of the medians."""
    low = np.maximum(cases["low"], cases["median"] / max_factor).min()
    high = np.minimum(cases["high"], cases["median"] * max_factor).max()
    return low / pad, high * pad


class RoundNumbers(Locator):
    """Ticks at round numbers of a logarithmic axis, at most `max_ticks`."""

    # Ticks in a decade, from the finest to the coarsest.
    STEPS = (np.arange(10, 100) / 10, np.arange(5, 50) / 5, np.arange(2, 20) / 2, range(1, 10), (1, 2, 5), (1, 3), (1,))

    def __init__(self, max_ticks):
        self.max_ticks = max_ticks

    def __call__(self):
        low, high = sorted(self.axis.get_view_interval())
        return self.tick_values(low, high)

    def tick_values(self, vmin, vmax):
        decades = 10.0 ** np.arange(np.floor(np.log10(vmin)), np.ceil(np.log10(vmax)) + 1)
        for steps in self.STEPS:
            ticks = np.outer(decades, steps).ravel()
            ticks = ticks[(ticks >= vmin) & (ticks <= vmax)]
            if len(ticks) <= self.max_ticks:
                return ticks
        return ticks[:: -(-len(ticks) // self.max_ticks)]


def log_axis(axis, limits, format_tick=formats.plain, max_ticks=7):
    """Make an axis logarithmic, with at most `max_ticks` round numbers, formatted by `format_tick`."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": limits})
    axis.set_major_locator(RoundNumbers(max_ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(format_tick))


def time_axis(axis, limits, max_ticks=7):
    """Make an axis of times in seconds logarithmic, its ticks labelled with units."""
    log_axis(axis, limits, lambda seconds, _: formats.time(seconds, formats.plain), max_ticks)


def thread_axis(axis, threads):
    """Make an axis of numbers of threads logarithmic, with a tick at each, and labels at `spaced_ticks`."""
    ticks = sorted({int(count) for count in threads})
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": (ticks[0] / 1.2, ticks[-1] * 1.2)})
    axis.set_major_locator(FixedLocator(spaced_ticks(ticks)))
    axis.set_minor_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(formats.plain))
    axis.set_minor_formatter(NullFormatter())


def spaced_ticks(ticks, intervals=8):
    """The largest of sorted numbers, and smaller ones that are far enough apart for labels on a logarithmic axis.

    The distance of neighbours is at least 1 / `intervals` of that from the smallest number to the largest.
    """
    factor = (ticks[-1] / ticks[0]) ** (1 / intervals)
    spaced = [ticks[-1]]
    for tick in reversed(ticks[:-1]):
        if tick * factor <= spaced[-1] * 1.0001:  # a tolerance for rounding
            spaced.append(tick)
    return spaced[::-1]
