"""Timelines: bars in lanes, with names in bars that are long enough."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from drawings import visible_texts
from ladder.report.figures import looks, theme, timeline


def rows_of(*rows):
    return pd.DataFrame(rows, columns=["lane", "name", "start", "end"])


# Batches 1 and 2, whose copies begin when they are computed: only the first copy is hidden.
HIDDEN_COPY = rows_of(
    ("compute", "1", 0.001, 0.003),
    ("compute", "2", 0.003, 0.005),
    ("copy", "1", 0.003, 0.0045),
    ("copy", "2", 0.005, 0.005001),
)


def draw(cases):
    with theme.context():
        figure = timeline.figure(cases, "it")
        figure.draw_without_rendering()
    return figure


def bars(axes):
    """(start, end, y, colour) of every bar."""
    return [(bar.get_x(), bar.get_x() + bar.get_width(), round(bar.get_y(), 3), bar.get_fc()) for bar in axes.patches]


def legends(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_bars_lie_in_their_lanes_in_milliseconds():
    (axes,) = draw({"a case": HIDDEN_COPY}).axes
    np.testing.assert_allclose([bar[:2] for bar in bars(axes)], 1e3 * HIDDEN_COPY[["start", "end"]].to_numpy())
    assert [text.get_text() for text in axes.get_yticklabels()] == ["compute", "copy"]
    first, second, third, fourth = (bar[2] for bar in bars(axes))
    assert first == second < third == fourth, "the first lane is the upper one"
    assert axes.yaxis_inverted()


def test_panels_have_one_axis_and_a_name_has_one_colour():
    other = rows_of(("host", "2", 0.0, 0.02), ("copy", "3", 0.02, 0.04))
    first, second = draw({"a case": HIDDEN_COPY, "another": other}).axes
    assert first.get_xlim() == second.get_xlim()
    assert 40 < second.get_xlim()[1] < 41
    colours = [bar[3] for bar in (*bars(first), *bars(second))]
    assert colours[0] == colours[2] != colours[1] == colours[3] == colours[4]
    assert len(set(colours)) == 3


def test_a_name_is_in_its_bar_or_in_the_legend():
    figure = draw({"a case": HIDDEN_COPY})
    assert sorted(text.get_text() for text in figure.axes[0].texts) == ["1", "1", "2"]
    assert legends(figure) == []
    brief_bar = rows_of(("gpu", "a step with a long name", 0.0, 0.001), ("gpu", "b", 0.001, 0.02))
    figure = draw({"a case": brief_bar, "another": HIDDEN_COPY.assign(start=0.0, end=1e-6)})
    assert legends(figure) == ["a step with a long name", "1", "2"]
    assert [text.get_text() for text in figure.axes[0].texts] == ["b"]


def test_the_legend_has_the_colours_of_the_bars_and_letters_are_white_on_dark_ones():
    names = [f"a quite long name of a step {number}" for number in range(4)]
    brief_bars = [("gpu", name, 1e-3 * number, 1e-3 * number + 1e-3) for number, name in enumerate(names)]
    figure = draw({"there (published)": rows_of(*brief_bars, ("host", "long", 0.0, 0.1))})
    panel_height = timeline.AXIS_HEIGHT + timeline.TITLE_HEIGHT + 2 * timeline.LANE_HEIGHT
    assert panel_height < figure.get_figheight() < theme.MAX_HEIGHT, "room for the legend below"
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_title(loc="left") == "there†"
    colours = dict(zip([*names, "long"], [bar[3] for bar in bars(axes)], strict=True))
    entries = zip(legend.get_texts(), legend.legend_handles, strict=True)
    assert [(text.get_text(), handle.get_facecolor()) for text, handle in entries] == [
        (name, colours[name]) for name in names
    ]
    (text,) = axes.texts
    assert text.get_position() == (pytest.approx(50.0), 1)
    assert text.get_color() == ("white" if looks.is_dark(colours["long"][:3]) else theme.DARK)


@pytest.mark.parametrize("count", [1, 9, 10, 40])
def test_every_name_has_a_colour_of_its_own(count):
    names = [str(number) for number in range(count)]
    figure = draw({"a case": rows_of(*(("lane", name, int(name), int(name) + 1) for name in names))})
    assert len({bar[3] for bar in bars(figure.axes[0])}) == count


def test_nothing_is_smaller_than_the_page_allows_and_names_stay_in_their_bars():
    many = [("compute", str(number), 0.002 * number, 0.002 * number + 0.002) for number in range(30)]
    figure = draw({"a case": rows_of(*many), "two": HIDDEN_COPY})
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    assert min(text.get_fontsize() for text in texts) >= theme.SMALL
    assert figure.get_figwidth() == theme.WIDTH
    (axes, *_) = figure.axes
    text_boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert text_boxes
    for name, bar in zip([name for _, name, *_ in many], axes.patches, strict=True):
        if name in text_boxes:
            bar_box, text = bar.get_window_extent(), text_boxes[name]
            assert bar_box.x0 <= text.x0 < text.x1 <= bar_box.x1


def test_a_case_without_rows_has_no_panel_and_without_any_a_sentence_is_drawn():
    assert len(draw({"a case": HIDDEN_COPY, "none": pd.DataFrame()}).axes) == 1
    assert visible_texts(draw({"none": pd.DataFrame()})) == ["There is no measurement of the timeline of it."]
    assert visible_texts(draw({})) == ["There is no measurement of the timeline of it."]


def test_rows_of_no_length_are_drawn():
    draw({"a case": rows_of(("gpu", "1", 0.0, 0.0))})
