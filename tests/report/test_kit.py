"""The kit of figures, by what it has drawn on the axes: lengths, positions, colours and texts."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color, to_rgb
from matplotlib.figure import Figure

from ladder.report.figures import (
    bars,
    by_threads,
    formats,
    heat,
    layout,
    line_names,
    looks,
    marks,
    medians,
    scales,
    theme,
    waterfall,
)
from ladder.statistics.quotients import Ratio

FAR = medians.FAR  # drawn in place of an infinite end of an interval
COLUMNS = ["method", "threads", "median", "low", "high", "converged"]
SUMMARIES = pd.DataFrame(
    [
        ("openmp", 1, 4.0, 2.0, 5.0, True),
        ("openmp", 2, 2.0, 1.5, 3.0, False),
        ("blas", 1, 0.5, 0.25, 1.0, True),
        ("blas", 2, 0.25, 0.0, np.inf, True),
    ],
    columns=COLUMNS,
)


@pytest.fixture(autouse=True)
def apply_theme():
    """Apply the theme of all figures."""
    with theme.context():
        yield


@pytest.fixture
def axes():
    return Figure().subplots()


def segments(collection):
    """The ends of the intervals in a collection, [[[x, y], [x, y]]]."""
    return [segment.tolist() for segment in collection.get_segments()]


def annotations(axes):
    """{text: its position}."""
    return {text.get_text(): text.xy for text in axes.texts}


def test_an_interval_reaches_from_low_to_high_in_the_colour_of_its_method(axes):
    marks.curves(axes, SUMMARIES, "threads")
    intervals, points = axes.collections
    rows = SUMMARIES.to_dict("records")
    assert segments(intervals) == [
        [[row["threads"], max(row["low"], 1 / FAR)], [row["threads"], min(row["high"], FAR)]] for row in rows
    ]
    assert points.get_offsets().tolist() == [[row["threads"], row["median"]] for row in rows]
    artists = zip(rows, intervals.get_colors(), points.get_edgecolors(), points.get_facecolors(), strict=True)
    for row, interval, edge, face in artists:
        colour = looks.look(row["method"]).colour
        assert same_color(interval, colour)
        assert same_color(edge, colour)
        assert same_color(face[:3], colour if row["converged"] else "white")
    lines = {tuple(line.get_ydata()): line.get_color() for line in axes.lines if len(line.get_ydata())}
    assert lines.keys() == {(4.0, 2.0), (0.5, 0.25)}
    assert same_color(lines[4.0, 2.0], looks.look("openmp").colour)


def test_an_interval_along_x_lies_at_the_height_of_its_mark(axes):
    marks.points(axes, SUMMARIES.iloc[:2], "median", "threads", along="x")
    assert segments(axes.collections[0]) == [[[2.0, 1], [5.0, 1]], [[1.5, 2], [3.0, 2]]]


def bar(name, value, converged=True, shade=0.5, **options):
    """A bar with an interval from half its value to twice its value."""
    values = {"name": name, "value": value, "low": value and value / 2, "high": value and 2 * value}
    return values | {"converged": converged, "shade": shade, "text": f"{value} a second"} | options


def test_bars_are_as_long_as_their_values_and_hollow_where_not_converged(axes):
    group_bars = [bar("one", 3.0), bar("two", 5.0, converged=False), bar("none", None)]
    bars.draw_groups(axes, [("openmp", group_bars), ("blas", [bar("three", 7.0, shade=0.0)])], min_extent=20.0)
    # At 0 and 4 + GROUP_GAP are the names of the groups, and at 3 is the bar without a value.
    places = [1, 2, 5 + bars.GROUP_GAP]
    rectangles = [(patch.get_width(), patch.get_x(), patch.get_y() + patch.get_height() / 2) for patch in axes.patches]
    assert rectangles == [
        (width, 0, pytest.approx(position)) for width, position in zip((3.0, 5.0, 7.0), places, strict=True)
    ]
    red, blue = (looks.look(name).colour for name in ("openmp", "blas"))
    faces = [looks.lighten(red, 0.5), "white", blue]
    assert all(same_color(patch.get_facecolor(), face) for patch, face in zip(axes.patches, faces, strict=True))
    assert [to_rgb(patch.get_edgecolor()) for patch in axes.patches] == [to_rgb(colour) for colour in (red, red, blue)]
    assert segments(axes.collections[0]) == [
        [[low, pytest.approx(position)], [high, pytest.approx(position)]]
        for low, high, position in zip((1.5, 2.5, 3.5), (6.0, 10.0, 14.0), places, strict=True)
    ]
    texts = annotations(axes)
    assert texts["3.0 a second"] == (1, 1)
    assert texts["5.0 a second"] == (1, 2)
    assert texts["None a second"] == (0, 3), "a text in the place of a bar"
    assert texts[looks.look("openmp").label] == (0, 0)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["one", "two", "none", "three"]
    assert axes.get_xlim() == (0, 20.0)
    low, high = axes.get_ylim()
    assert low > high, "from the top down"


def test_parts_of_a_bar_lie_beside_each_other_under_the_dot_of_the_whole(axes):
    group_bars = [
        bar("a", 4.0, parts=[(1.0, "red"), (2.0, "blue")]),
        bar("b", 6.0, parts=[(3.0, "red")], converged=False),
    ]
    bars.draw_groups(axes, [("openmp", group_bars)])
    rectangles = {
        (patch.get_x(), patch.get_width(), round(patch.get_y() + patch.get_height() / 2)) for patch in axes.patches
    }
    assert rectangles == {(0.0, 1.0, 1), (1.0, 2.0, 1), (0.0, 3.0, 2)}
    intervals, dots = axes.collections
    assert segments(intervals) == [[[2.0, 1], [8.0, 1]], [[3.0, 2], [12.0, 2]]]
    assert dots.get_offsets().tolist() == [[4.0, 1], [6.0, 2]]
    assert same_color(dots.get_facecolors()[1][:3], "white")


def test_a_panel_of_bars_has_its_ceiling_its_unit_and_its_machine():
    groups = [("openmp", [bar("one", 3.0)])]
    lines = [(8.0, bars.DASHED), (None, bars.DASHED)]
    figure = bars.figure({"here": [("a problem", groups, lines)], "there": [("another", groups, ())]}, "GB/s", 0.5)
    assert [part.get_suptitle() for part in figure.subfigs] == ["here", "there"]
    first, other = figure.axes
    assert [first.get_title(loc="left"), other.get_title(loc="left")] == ["a problem", "another"]
    assert first.get_xlabel() == "GB/s"
    assert [line.get_xdata() for line in first.lines] == [[8.0, 8.0]]
    assert not other.lines
    assert first.get_xlim()[1] > 8.0


def test_a_cell_is_as_dark_as_it_is_near_to_the_best_of_its_column(axes):
    table = pd.DataFrame({"nn": [1.0, 4.0], "tn": [8.0, np.nan]}, index=["8", "16"])
    heat.fill(axes, [("cuda_naive", table)])
    shares = np.ma.filled(axes.collections[0].get_array().astype(float), np.nan).reshape(3, 2)
    assert np.array_equal(shares[1:], [[0.25, 1.0], [1.0, np.nan]], equal_nan=True)
    assert {"1.00", "4.00", "8.00", looks.look("cuda_naive").label} <= {text.get_text() for text in axes.texts}
    assert [text.get_text() for text in axes.get_yticklabels()] == ["8", "16"]


def test_a_case_that_does_not_count_threads_has_one():
    calls = {"workload": "gemm", "variant": ["cuda_naive", "blas"], "device": ["cuda", "host"], "phase": "total"}
    frame = pd.DataFrame(calls)
    for threads, expected in ((frame.assign(threads=[np.nan, 4]), [1, 4]), (frame, [1, 1])):
        assert medians.samples({"samples": threads})["threads"].tolist() == expected


def test_problems_stand_in_the_order_of_the_plan_each_with_the_row_of_its_first_case():
    rows = [("nn", 8, "cold", "b"), ("tn", 4, "cold", "a"), ("nn", 8, "cold", "a"), ("nn", 8, "warm", "a")]
    frame = pd.DataFrame(rows, columns=["form", "m", "cache", "variant"]).assign(workload="gemm")
    problems = [
        (row["form"], row["cache"], row["variant"], [*rows["variant"]]) for row, rows in medians.problems(frame)
    ]
    assert problems == [("nn", "cold", "b", ["b", "a"]), ("tn", "cold", "a", ["a"]), ("nn", "warm", "a", ["a"])]
    assert [len(rows) for _, rows in medians.problems(frame, ignored_sizes=["form", "m"])] == [3, 1]
    assert medians.problems(frame.iloc[:0]) == []


def rung(label, seconds, **options):
    """A rung of three processes; the last one has a slow sample, which changes no median."""
    processes = [[0.99 * seconds] * 3, [seconds] * 3, [1.01 * seconds] * 2 + [9 * seconds]]
    return waterfall.Rung(
        label, "blas", processes, options.pop("predicted", None), options.pop("converged", True), **options
    )


def test_a_waterfall_tells_times_gains_predictions_and_the_ceiling(axes):
    rungs = [
        rung("first", 8e-3, predicted=4e-3),
        rung("second", 2e-3, converged=False, gain=Ratio(4.0, 3.9, 4.1)),
        rung("other", 1e-3),
        rung("peer", 5e-4, is_peer=True, predicted=1e-4),
    ]
    waterfall.fill(axes, rungs, 5e-5, max_ticks=7)
    (dots,) = axes.collections
    places = [0, 1, 2, 3 + waterfall.PEER_GAP]  # of the rungs; their dots spread by half of DOT_SPREAD to either side
    expected = [
        (pytest.approx(factor * seconds), pytest.approx(position, abs=waterfall.DOT_SPREAD / 1.99))
        for position, seconds in zip(places, (8e-3, 2e-3, 1e-3, 5e-4), strict=True)
        for factor in (0.99, 1.0, 1.01)
    ]
    assert [tuple(point) for point in dots.get_offsets().tolist()] == expected
    hollow = [same_color(face[:3], "white") for face in dots.get_facecolors()]
    assert hollow == [False] * 3 + [True] * 3 + [False] * 6
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    assert lines == [([4e-3] * 2, [-0.4, 0.4]), ([1e-4] * 2, [3.1, 3.9]), ([5e-5] * 2, [0, 1])]
    texts = annotations(axes)
    assert [texts[text] for text in ("8.00 ms", "2.00 ms", "1.00 ms", "500 µs")] == [
        (1, position) for position in places
    ]
    gains = {text: position for text, position in texts.items() if "×" in text}
    assert [(text.partition(" ")[0], position) for text, position in gains.items()] == [("4.0", (1, 1))]
    assert axes.get_xscale() == "log"
    low, high = axes.get_ylim()
    assert low > high, "from the top down"


def test_shares_of_a_rung_are_per_cent_of_its_parts(axes):
    parts = {"a": 1e-3, "b": 3e-3}
    waterfall.fill_shares(axes, Figure().subplots(), [rung("one", 8e-3, parts=parts)], {"a": "red", "b": "blue"})
    rectangles = {to_rgb(patch.get_facecolor()): (patch.get_x(), patch.get_width()) for patch in axes.patches}
    assert rectangles == {to_rgb("red"): (0.0, 25.0), to_rgb("blue"): (25.0, 75.0)}


def ticks(axis):
    """The labels of an axis' ticks."""
    locations = axis.get_majorticklocs()
    return dict(zip(axis.get_major_formatter().format_ticks(locations), locations, strict=True))


def test_times_have_a_logarithmic_axis_in_their_units(axes):
    scales.time_axis(axes.yaxis, (0.5e-3, 20.0), max_ticks=6)
    assert axes.get_yscale() == "log"
    assert ticks(axes.yaxis) == pytest.approx({"1 ms": 1e-3, "10 ms": 1e-2, "100 ms": 0.1, "1 s": 1.0, "10 s": 10.0})


def test_threads_have_a_logarithmic_axis_with_a_tick_at_each(axes):
    scales.thread_axis(axes.xaxis, [24, 1, 2, 6, 2])
    assert axes.get_xscale() == "log"
    assert ticks(axes.xaxis) == {"1": 1, "2": 2, "6": 6, "24": 24}
    assert axes.get_xlim() == pytest.approx((1 / 1.2, 24 * 1.2))  # a margin of 20 %


def test_an_axis_holds_all_medians_and_intervals_that_are_not_far_off():
    low, high = scales.extent(SUMMARIES)
    # An interval counts up to a factor of 4 from its median; the axis extends by a factor of 1.25 beyond.
    assert (low, high) == pytest.approx((0.25 / 4 / 1.25, 5.0 * 1.25))


def test_a_machine_stands_above_its_own_panels_and_is_marked_where_it_is_published():
    figure = layout.new_figure(3)
    bands = layout.bands(figure, {"here": 2, "there (published)": 1})
    names = {id(axes): part.get_suptitle() for part in figure.subfigs for axes in part.axes}
    assert [names[id(axes)] for axes in bands["here"]] == ["here", "here"]
    assert [names[id(axes)] for axes in bands["there (published)"]] == ["there†"]


def test_the_legend_explains_hollow_marks_where_there_are_any():
    for converged, words in ((True, ["blas"]), (False, ["blas", "hollow: not converged"])):
        figure = layout.new_figure(2)
        layout.legend(figure, [layout.method_handle("blas")], converged)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == words
    entry = layout.method_handle("blas")
    assert (entry.get_color(), entry.get_marker()) == (looks.look("blas").colour, looks.look("blas").marker)


def test_lines_are_named_at_their_heights_in_their_colours(axes):
    scales.log_axis(axes.yaxis, (1.0, 100.0))
    line_names.label_at_right(axes, [(100.0, "a", "red"), (10.0, "b", "blue")], inches=10.0)
    labels = {text.get_text(): (pytest.approx(text.xy[1], abs=1e-6), text.get_color()) for text in axes.texts}
    assert labels == {"a": (1.0, "red"), "b": (0.5, "blue")}


def test_rates_over_threads_have_their_ceiling_and_are_named_at_their_last_point(axes):
    method_looks = {
        "openmp": looks.Look("plain loops", "#ff0000", "o"),
        "blas": looks.Look("the library", "#0000ff", "s"),
    }
    summaries = SUMMARIES.assign(low=SUMMARIES["median"] / 2, high=SUMMARIES["median"] * 1.2)
    by_threads.fill_rates(axes, summaries, "threads", method_looks, {1: 8.0, 2: 12.0}, inches=10.0)
    curves = {line.get_color(): list(line.get_ydata()) for line in axes.lines if len(line.get_ydata())}
    assert curves == {"#ff0000": [4.0, 2.0], "#0000ff": [0.5, 0.25], by_threads.CEILING["color"]: [8.0, 12.0]}
    assert axes.get_ylim()[1] > 12.0
    heights = {text.get_text(): text.xy[1] for text in axes.texts}
    low, high = np.log(axes.get_ylim())
    expected = {
        name: (np.log(rate) - low) / (high - low) for name, rate in (("plain loops", 2.0), ("the library", 0.25))
    }
    assert heights == pytest.approx(expected)


def test_colours_become_white_by_their_share():
    assert looks.lighten("#000000", 0.25) == (0.25, 0.25, 0.25)
    assert looks.lighten("#ff0000", 0.5) == (1.0, 0.5, 0.5)
    assert looks.lighten("#ff0000", 0.0) == (1.0, 0.0, 0.0)
    assert looks.lighten("#0000ff", 1.0) == (1.0, 1.0, 1.0)


def test_letters_are_white_on_dark_colours_alone():
    """A colour is dark if its luma, 0.299 red + 0.587 green + 0.114 blue, is below 0.45."""
    dark, light = ("#0000ff", "#ff0000", "#0055ff", "0.44"), ("#00ff00", "#ff5500", "#ffffff", "0.46")
    assert [bool(looks.is_dark(colour)) for colour in dark] == [True] * 4
    assert [bool(looks.is_dark(colour)) for colour in light] == [False] * 4


@pytest.mark.parametrize("places", [[1], [1, 2], [1, 2, 5.4]])
def test_the_height_of_a_bar_does_not_depend_on_others(axes, places):
    bars.barplot(axes, pd.DataFrame({"y": places, "value": 1.0}), x="value", color="red")
    assert [patch.get_height() for patch in axes.patches] == pytest.approx([bars.THICKNESS] * len(places))


def test_an_axis_of_bars_holds_the_longest_with_all_of_its_parts(axes):
    parts = [(5.0, "red"), (6.0, "blue")]
    bars.draw_groups(axes, [("openmp", [bar("a", 10.0, parts=parts), bar("b", 2.0, parts=[(1.0, "red")])])])
    assert axes.get_xlim() == (0, pytest.approx(1.08 * 11.0))  # the parts of 5 and 6, and a margin of 8 %


def test_cells_of_all_methods_are_compared_with_the_best_of_their_column(axes):
    tables = [pd.DataFrame({"nn": [nn], "tn": [tn]}, index=["8"]) for nn, tn in ((2.0, 9.0), (8.0, 3.0))]
    heat.fill(axes, list(zip(("cuda_naive", "cuda_shared"), tables, strict=True)))
    shares = np.ma.filled(axes.collections[0].get_array().astype(float), np.nan).reshape(4, 2)
    np.testing.assert_allclose(shares[[1, 3]], [[0.25, 1.0], [1.0, 1 / 3]])
    assert np.isnan(shares[[0, 2]]).all(), "the methods' names"
    heads = {text.get_text(): text.xy for text in axes.texts if text.get_text()[0].isalpha()}
    assert heads == {looks.look("cuda_naive").label: (0, 0.5), looks.look("cuda_shared").label: (0, 2.5)}
    assert [float(place) for place in axes.get_yticks()] == [1.5, 3.5]


def test_panels_of_cells_have_rows_of_the_same_height():
    table = pd.DataFrame({"nn": [1.0, 2.0]}, index=["8", "16"])
    panels = [("a problem", [("cuda_naive", table)]), ("another", [("cuda_naive", table.iloc[:1])])]
    first, other = heat.figure({"here": panels}, 0.5).axes
    assert [first.get_title(loc="left"), other.get_title(loc="left")] == ["a problem", "another"]
    assert first.get_ylim() == other.get_ylim() == (3, 0)


@pytest.mark.parametrize(
    ("processes", "positions"),
    [
        ([[3.0]], [2.0]),
        ([[1.0, 2.0, 9.0], [4.0]], [1.7, 2.3]),
        ([[1.0], [2.0], [3.0], [4.0]], [1.7, 1.9, 2.1, 2.3]),
    ],
)
def test_the_processes_of_a_rung_lie_around_its_line_in_their_order(processes, positions):
    dots = waterfall.dots_of(processes, 2)
    assert [seconds for seconds, _ in dots] == [np.median(times) for times in processes]
    assert [position for _, position in dots] == pytest.approx(positions)


def test_the_legend_of_a_waterfall_shows_ticks_lines_and_parts_as_they_are_drawn():
    rungs = [rung("one", 8e-3, predicted=4e-3, parts={"b": 1.0}), rung("two", 4e-3, parts={"b": 1.0, "c": 3.0})]
    colours = {"a": "#ff0000", "b": "#00ff00", "c": "#0000ff"}
    figure = waterfall.figure({"here": ("n = 5", rungs, 1e-4)}, "time of it", "the floor", colours)
    (legend,) = figure.legends
    handles = dict(zip([text.get_text() for text in legend.get_texts()], legend.legend_handles, strict=True))
    assert list(handles) == ["a process", "the floor", "model", "b", "c"]
    styles = {name: (handles[name].get_marker(), handles[name].get_linestyle()) for name in list(handles)[:3]}
    assert styles == {"a process": ("o", "None"), "the floor": ("None", "-"), "model": ("|", "None")}
    assert (handles["the floor"].get_color(), handles["model"].get_color()) == (theme.GREY, theme.DARK)
    assert [to_rgb(handles[name].get_facecolor()) for name in "bc"] == [to_rgb(colours[name]) for name in "bc"]
    axes, shares = figure.axes
    assert axes.get_xlabel() == "time of it, n = 5"
    assert shares.get_ylim() == axes.get_ylim()
    assert shares.get_xlim() == (0, 100)
    rectangles = {
        (patch.get_x(), patch.get_width(), round(patch.get_y() + patch.get_height() / 2)) for patch in shares.patches
    }
    assert rectangles == {(0.0, 100.0, 0), (0.0, 25.0, 1), (25.0, 75.0, 1)}


def test_waterfalls_of_several_machines_have_one_range_of_times():
    """A panel with more rungs is higher: it has the height of its rungs, of half a rung, and 0.58 inches of margin.

    A rung has 0.148 inches, or less if the panels would exceed 4.2 inches together, but no less than 0.108.
    """
    fast, slow = [rung("one", 1e-6)], [rung("one", 2e-3), rung("two", 1e-3)]
    figure = waterfall.figure({"here": ("n = 5", fast, None), "there": ("n = 5", slow, None)}, "time", "floor")
    first, other = figure.axes
    assert first.get_xlim() == other.get_xlim() == pytest.approx((0.99e-6 / 1.5, 2.02e-3 * 1.5))
    assert [text.get_text() for text in other.get_yticklabels()] == ["one", "two"]
    heights = waterfall.heights({"here": ("", fast, None), "there": ("", slow, None)})
    assert heights == pytest.approx({"here": 0.148 * 1.5 + 0.58, "there": 0.148 * 2.5 + 0.58})
    heights = waterfall.heights({"here": ("", fast * 30, None)})
    assert heights == pytest.approx({"here": 4.2})
    assert waterfall.heights({"here": ("", fast * 50, None)}) == pytest.approx({"here": 0.108 * 50.5 + 0.58})


@pytest.mark.parametrize(
    ("limits", "ticks"),
    [
        ((1.0, 2.0), [1.0, 1.2, 1.4, 1.6, 1.8, 2.0]),
        ((2.1, 2.6), [2.1, 2.2, 2.3, 2.4, 2.5, 2.6]),
        ((2.1, 4.9), [2.5, 3.0, 3.5, 4.0, 4.5]),
        ((0.25, 0.85), [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
        ((0.9, 120.0), [1, 2, 5, 10, 20, 50, 100]),
        ((0.9, 1200.0), [1, 3, 10, 30, 100, 300, 1000]),
        ((0.9, 1.1e6), [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
        ((1e-6, 1e3), [1e-6, 1e-4, 1e-2, 1, 100]),
    ],
)
def test_round_numbers_rise_from_the_lower_limit(limits, ticks):
    assert list(scales.RoundNumbers(7).tick_values(*limits)) == pytest.approx(ticks)


def test_a_number_in_a_figure_has_three_digits_and_a_noun():
    assert [formats.three_digits(value) for value in (0.5, 9.999, 12.34, 99.94, 99.95, 1234.4)] == [
        "0.500",
        "10.0",
        "12.3",
        "99.9",
        "100",
        "1234",
    ]
    assert [formats.threads(count) for count in (1, 2, 11)] == ["1 thread", "2 threads", "11 threads"]
    assert formats.time(1e-3, formats.plain) == "1 ms"
    assert formats.time(0.9996e-6) == "1.00 µs"
    assert [formats.percent(share) for share in (0.0996, 0.0994, 1.2)] == ["10 %", "9.9 %", "120 %"]


def test_panels_stand_in_rows_of_three_or_one_machine_beside_the_other():
    many_panels, single_panels = {"a": 4, "b": 3, "c": 1}, dict.fromkeys("abcd", 1)
    assert layout.rows_of_bands(many_panels) == 2 + 1 + 1
    assert layout.rows_of_bands(single_panels) == 2
    assert layout.rows_of_bands(single_panels, max_columns=1) == 4
    height, shares = layout.band_heights(many_panels, {"a": 1.5, "b": 2.0, "c": 1.0})
    assert (height, shares) == (6.0, {"a": 3.0, "b": 2.0, "c": 1.0})
    inches = {"a": 1.5, "b": 2.0, "c": 1.0, "d": 1.0}
    assert layout.band_heights(single_panels, inches) == (4.0, inches)


def test_a_machine_has_as_much_height_as_its_rows_of_panels():
    figure = layout.new_figure(6)
    bands = layout.bands(figure, {"a": 4, "b": 3})
    assert {name: len(panels) for name, panels in bands.items()} == {"a": 4, "b": 3}
    first, second = (part.bbox.height for part in figure.subfigs)
    assert first == pytest.approx(2 * second)
    assert [axes.axison for axes in figure.subfigs[0].axes] == [True] * 4 + [False] * 2
    assert bands["a"] == figure.subfigs[0].axes[:4]
    figure = layout.new_figure(6)
    layout.bands(figure, {"a": 2, "b": 2}, inches={"a": 1.0, "b": 3.0})
    first, second = (part.bbox.height for part in figure.subfigs)
    assert second == pytest.approx(3 * first)


def test_a_legend_has_as_many_columns_as_the_page_has_room_for():
    def legend(*labels):
        figure = layout.new_figure(2)
        layout.legend(figure, [layout.look_handle(looks.Look(label, "red", "o")) for label in labels])
        (drawn_legend,) = figure.legends
        assert [text.get_text() for text in drawn_legend.get_texts()] == list(labels)
        return drawn_legend, figure.bbox.width

    drawn_legend, _ = legend(*"abcde")
    assert drawn_legend._ncols == 5
    drawn_legend, _ = legend(*"abcdef")
    assert drawn_legend._ncols == 3, "rows that are equally long"
    drawn_legend, width = legend(*("a label of quite some length indeed" for _ in range(5)))
    assert drawn_legend._ncols == 2
    assert drawn_legend.get_window_extent().width <= width
    drawn_legend, _ = legend("a label wider than the page " * 9, "b")
    assert drawn_legend._ncols == 1
