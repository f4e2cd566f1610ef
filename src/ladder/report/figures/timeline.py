"""Timelines of traces: lanes on the y axis, time on the x axis, and a bar for each event from its start to its end."""

import itertools

from ladder.report.figures import layout, looks, methods
from ladder.report.figures.theme import DARK, MAX_HEIGHT, SMALL, Patch, TextPath, sns

LANE_HEIGHT = 0.17  # inches of a lane
THICKNESS = 0.8  # of a bar, in lanes
TITLE_HEIGHT, AXIS_HEIGHT = 0.25, 0.36  # inches of a panel's title, and of the axis below all panels
LABELS = {"card": "GPU"}  # of lanes that published traces name otherwise
TEXT_MARGIN = 3  # points that a bar must be longer than the name in it
# Colours of names in the order in which they appear; with more names, `colours_of` uses as many hues.
COLOURS = [colour for name, colour in looks.COLOURS.items() if name in methods.PALETTE and name != "grey"]


def figure(cases, subject, colours=None):
    """Panels below each other with a common time axis, {title: rows of lane, name, start, end (seconds)}.

    Lanes are in the order of their rows. A name has one colour in all panels. It is written in its bars that are long
    enough, and in the legend if a panel has no such bar. With `colours`, used in turn, there is no legend: names are
    then numbers. Without any row, the figure says that there is no measurement of `subject`.
    """
    cases = {title: rows for title, rows in cases.items() if len(rows)}
    if not cases:
        return layout.empty(f"the timeline of {subject}")
    names = dict.fromkeys(name for rows in cases.values() for name in rows["name"])
    has_legend = colours is None
    colours = dict(zip(names, itertools.cycle(colours), strict=False)) if colours else colours_of(names)
    lane_counts = [len(rows["lane"].unique()) for rows in cases.values()]
    inches = AXIS_HEIGHT + sum(TITLE_HEIGHT + LANE_HEIGHT * lanes for lanes in lane_counts)
    figure = layout.new_figure(inches)
    panels = figure.subplots(len(cases), 1, sharex=True, squeeze=False, height_ratios=lane_counts)[:, 0]
    for axes, (title, rows) in zip(panels, cases.items(), strict=True):
        axes.set_title(layout.mark_published(title))
        fill(axes, rows, colours)
    panels[-1].set_xlabel("time since the start (ms)")
    panels[-1].set_xlim(0, 1.01e3 * max(rows["end"].max() for rows in cases.values()) or 1.0)
    figure.get_layout_engine().execute(figure)  # so that the lengths of bars on paper are known
    unwritten = [write_names(axes, rows, colours) for axes, rows in zip(panels, cases.values(), strict=True)]
    legend_names = set.union(*unwritten) if has_legend else ()
    layout.legend(figure, [Patch(facecolor=colours[name], label=name) for name in colours if name in legend_names])
    for legend in figure.legends:
        figure.set_figheight(min(inches + legend.get_window_extent().height / figure.dpi, MAX_HEIGHT))
    return figure


def colours_of(names):
    """A colour for each name."""
    palette = COLOURS if len(names) <= len(COLOURS) else sns.husl_palette(len(names)).as_hex()
    return dict(zip(names, palette, strict=False))


def positions_of(rows):
    """{lane: y}, from the top down."""
    return {lane: position for position, lane in enumerate(dict.fromkeys(rows["lane"]))}


def fill(axes, rows, colours):
    """Draw the bars of a case."""
    positions = positions_of(rows)
    start, end = 1e3 * rows["start"], 1e3 * rows["end"]
    # Without edges, which would hide short bars.
    axes.barh(rows["lane"].map(positions), end - start, THICKNESS, start, color=rows["name"].map(colours), linewidth=0)
    axes.set_yticks([*positions.values()], [LABELS.get(lane, lane) for lane in positions])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(positions) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def write_names(axes, rows, colours):
    """Write names into the bars that are long enough; returns the names without such a bar."""
    positions = positions_of(rows)
    points_per_second = 1e3 * axes.get_window_extent().width / axes.get_figure().dpi * 72 / axes.get_xlim()[1]
    widths = {name: TEXT_MARGIN + TextPath((0, 0), name, SMALL).get_extents().width for name in colours}
    unwritten = {*rows["name"]}
    for row in rows.itertuples():
        if (row.end - row.start) * points_per_second >= widths[row.name]:
            middle = 1e3 * (row.start + row.end) / 2  # in ms, as on the axis
            colour = "white" if looks.is_dark(colours[row.name]) else DARK
            options = {"ha": "center", "va": "center_baseline", "fontsize": SMALL, "color": colour}
            axes.text(middle, positions[row.lane], row.name, **options)
            unwritten.discard(row.name)
    return unwritten
