"""Horizontal bars in groups, for figures that compare methods in a few sizes or numbers of threads."""

from ladder.figures import style

INCHES = 0.106  # height of a bar
GAP = 0.4  # between groups, in bars


def grouped(axes, groups, reach=0.0):
    """Bars from zero with intervals, a text at the right of each: `groups` is [(method, [bar])], from the top down.

    A bar is a dict of name, value, low, high, converged, text and shade (0: the method's colour, 1: white); without a
    value there is its text alone. Hollow bars have not converged. The axis reaches to `reach` at least.
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
    most = max((bar["value"] for _, bars in groups for bar in bars if bar["value"] is not None), default=1.0)
    axes.set_xlim(0, max(1.08 * most, reach))
    axes.grid(axis="x")


BESIDE = {"textcoords": "offset points", "va": "center", "fontsize": 7, "color": style.DARK}


def one(axes, place, bar, colour):
    """One bar, its interval and its text; a missing one has its text in its place."""
    if bar["value"] is None:
        axes.annotate(bar["text"], (0, place), (2, 0), **BESIDE, style="italic")
        return
    fill = style.lighter(colour, bar["shade"]) if bar["converged"] else "white"
    axes.barh(place, bar["value"], 0.78, color=fill, edgecolor=colour, linewidth=0.7)
    axes.plot([bar["low"], min(bar["high"], style.FAR)], [place, place], color=style.DARK, linewidth=0.8)
    axes.annotate(bar["text"], (1, place), (3, 0), **BESIDE, xycoords=("axes fraction", "data"))


def converged(groups):
    """Whether all cases of some groups have converged."""
    return all(bar.get("converged", True) for _, bars in groups for bar in bars)


def inches(groups):
    """The height of a panel of such groups."""
    return INCHES * sum(1 + len(bars) + GAP for _, bars in groups)
