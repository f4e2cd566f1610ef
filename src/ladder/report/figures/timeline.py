"""Timelines: lanes downwards, time along, a bar for whatever ran in a lane from when to when."""

import itertools

from ladder.report.figures import layout, looks
from ladder.report.figures.theme import DARK, SMALL, TALLEST, Patch, TextPath, sns

LANE = 0.17  # inches of a lane
TALL = 0.8  # of a lane is its bars
ABOVE, BELOW = 0.25, 0.36  # inches of a panel's title, and of the axis below all
ROOM = 3  # points of a bar beside its name
# Colours of names in the order in which they appear; of more names, as many hues.
COLOURS = [colour for name, colour in looks.COLOURS.items() if name not in ("grey", "indigo")]


def figure(cases, what, colours=None):
    """Panels below each other on one axis of time, {title: rows with the columns lane, name, start, end (seconds)}.

    Lanes stand in the order of their rows. A name has one colour in all panels; it stands in its bars where they are
    long enough, and in the legend if that is none of them in a panel. With `colours`, which names take in turn, names
    are numbers and there is no legend. `what` is said not to be there if no row is.
    """
    cases = {title: rows for title, rows in cases.items() if len(rows)}
    if not cases:
        return layout.empty(f"the timeline of {what}")
    names = dict.fromkeys(name for rows in cases.values() for name in rows["name"])
    has_legend = colours is None
    colours = dict(zip(names, itertools.cycle(colours), strict=False)) if colours else colours_of(names)
    heights = [len(rows["lane"].unique()) for rows in cases.values()]
    inches = BELOW + sum(ABOVE + LANE * lanes for lanes in heights)
    drawn = layout.new(inches)
    panels = drawn.subplots(len(cases), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (title, rows) in zip(panels, cases.items(), strict=True):
        axes.set_title(layout.marked(title))
        fill(axes, rows, colours)
    panels[-1].set_xlabel("time since the start (ms)")
    panels[-1].set_xlim(0, 1010 * max(rows["end"].max() for rows in cases.values()) or 1.0)
    drawn.get_layout_engine().execute(drawn)  # how long a bar is on paper
    unwritten = [write(axes, rows, colours) for axes, rows in zip(panels, cases.values(), strict=True)]
    told = set.union(*unwritten) if has_legend else ()
    layout.legend(drawn, [Patch(facecolor=colours[name], label=name) for name in colours if name in told])
    for legend in drawn.legends:
        drawn.set_figheight(min(inches + legend.get_window_extent().height / drawn.dpi, TALLEST))
    return drawn


def colours_of(names):
    """A colour for each name."""
    palette = COLOURS if len(names) <= len(COLOURS) else sns.husl_palette(len(names)).as_hex()
    return dict(zip(names, palette, strict=False))


def places_of(rows):
    """The height of every lane, from the top down."""
    return {lane: place for place, lane in enumerate(dict.fromkeys(rows["lane"]))}


def fill(axes, rows, colours):
    """The bars of a case."""
    places = places_of(rows)
    start, end = 1e3 * rows["start"], 1e3 * rows["end"]
    # Without edges, which would hide short bars.
    axes.barh(rows["lane"].map(places), end - start, TALL, start, color=rows["name"].map(colours), linewidth=0)
    axes.set_yticks([*places.values()], [*places])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(places) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def write(axes, rows, colours):
    """Write names into the bars that are long enough for them; the names for which none is."""
    places = places_of(rows)
    per_second = 1e3 * axes.get_window_extent().width / axes.get_figure().dpi * 72 / axes.get_xlim()[1]  # points
    widths = {name: ROOM + TextPath((0, 0), name, SMALL).get_extents().width for name in colours}
    left = {*rows["name"]}
    for row in rows.itertuples():
        if (row.end - row.start) * per_second >= widths[row.name]:
            middle, colour = 500 * (row.start + row.end), "white" if looks.is_dark(colours[row.name]) else DARK
            place = {"ha": "center", "va": "center_baseline", "fontsize": SMALL, "color": colour}
            axes.text(middle, places[row.lane], row.name, **place)
            left.discard(row.name)
    return left
