"""The parts that all ladders share: ratios in words, the tables of the ladder and of verdicts, the waterfall."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from drawings import visible_texts
from ladder.report import ladder_table, ratios, verdict_table
from ladder.report.figures import line_names, theme, waterfall
from ladder.report.telling import ladder, lines
from ladder.statistics.campaigns import Spread
from ladder.statistics.claims import decide
from ladder.statistics.quotients import Ratio
from ladder.store import study


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        ((2.13, 1.9, 2.31), "2.1 × [1.9, 2.3]"),
        ((1.2304, 1.2301, 1.2309), "1.230 × [1.230, 1.231]"),
        ((1.043, 1.0353, 1.0528), "1.043 × [1.035, 1.053]"),
        ((0.9994, 0.9971, 1.0012), "0.999 × [0.997, 1.001]"),
        ((1.1146, 1.034, 1.201), "1.11 × [1.03, 1.20]"),
        ((0.93, 0.81, 0.9996), "0.93 × [0.81, 1.00]"),
        ((1.1146, 0.98, 1.201), "1.1 × [1.0, 1.2]"),
        ((67.6, 61.2, 75.9), "68 × [61, 76]"),
        ((412.0, 380.0, 450.0), "410 × [380, 450]"),
        ((2.0, 2.0, 2.0), "2.0 ×"),
        ((2.0, 0.0, math.inf), "2.0 ×"),
    ],
)
def test_a_ratio_has_digits_that_tell_it_from_its_ends(ratio, text):
    assert ratios.plain(Ratio(*ratio)) == text


def test_an_efficiency_has_an_interval_too():
    assert ratios.efficiency(Ratio(3.71, 3.5, 3.9), 4) == r"\qty{93}{\percent} [\num{88}, \num{98}]"
    assert ratios.efficiency(Ratio(3.71, 3.70, 3.72), 4) == r"\qty{93}{\percent}"
    assert ratios.efficiency(Ratio(3.71, 0.0, math.inf), 4) == r"\qty{93}{\percent}"
    assert ratios.efficiency(Ratio(4.2, 4.15, 4.32), 4) == r"\qty{105}{\percent} [\num{104}, \num{108}]"
    assert ratios.efficiency(Ratio(0.3, 0.296, 0.304), 1) == r"\qty{30.0}{\percent} [\num{29.6}, \num{30.4}]"
    assert ratios.efficiency(Ratio(0.05, 0.049, 0.051), 1) == r"\qty{5.0}{\percent} [\num{4.9}, \num{5.1}]"
    assert ratios.efficiency(Ratio(3.0, 0.9, 13.0), 4) is None  # an interval that says nothing
    assert ratios.efficiency(None, 4) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0485, "1.05"), (1.009, "1.01"), (1.0021, "1.002"), (0.997, "0.997"), (1.00004, "1.0"), (2.0, "2.0")],
)
def test_a_ratio_near_1_has_more_decimals_in_sentences(value, text):
    assert ratios.prose(Ratio(value, value, value)) == rf"\num{{{text}}}\,$\times$"


def test_a_sentence_skips_a_narrow_interval_and_claims_no_more_than_it():
    assert ratios.prose(Ratio(2.0, 1.99, 2.01)) == r"\num{2.0}\,$\times$"
    assert ratios.prose(Ratio(2.0, 1.9, 2.1)).endswith(r"[\num{1.9}, \num{2.1}]")
    assert ratios.comparison(Ratio(2.0, 1.99, 2.01), "it") == r"is \num{2.0}\,$\times$ faster than it"
    assert ratios.comparison(Ratio(0.5, 0.499, 0.501), "it") == r"is \num{2.0}\,$\times$ slower than it"
    # What is undecided says which change could have been seen.
    hidden = ratios.comparison(Ratio(1.1, 0.9, 1.3), "it")
    assert hidden == r"does not differ significantly from it (the smallest detectable difference is \qty{32}{\percent})"
    nothing = ratios.comparison(Ratio(2.0, 0.0, math.inf), "it")
    assert nothing == "does not differ significantly from it (too few processes to detect any difference)"
    noisy = ratios.comparison(Ratio(2.0, 0.05, 80.0), "it")
    assert noisy.endswith("from it (times of processes differ too much to detect any difference)")
    # A difference of less than one per cent is none, as in every comparison of the paper.
    for ratio in (Ratio(1.006, 1.004, 1.009), Ratio(0.994, 0.992, 0.996)):
        assert ratios.comparison(ratio, "it") == r"is as fast as it to within \qty{1}{\percent}"
    assert ratios.comparison(Ratio(1.0, 0.97, 1.05), "it") == r"is as fast as it to within \qty{5}{\percent}"


def test_a_sentence_shows_an_interval_from_two_per_cent_on():
    assert ratios.prose(Ratio(1.51, 1.5, 1.53)) == r"\num{1.5}\,$\times$"
    assert ratios.prose(Ratio(1.51, 1.5, 1.54)) == r"\num{1.51}\,$\times$ [\num{1.50}, \num{1.54}]"
    assert ratios.prose(None) is None


def test_a_ratio_of_parts_is_that_of_their_sums_in_a_pass():
    """Of three passes in each of two processes: 1 + 2 over 2, 2 + 4 over 4, 3 + 6 over 6."""
    rows = [
        {"process": process, "sample": sample, "phase": phase, "seconds": share * (1.0 + sample)}
        for process in range(2)
        for sample in range(3)
        for phase, share in (("a", 1.0), ("b", 2.0), ("c", 2.0))
    ]
    frame = pd.DataFrame(rows)
    inside = frame["phase"].isin(["a", "b"])
    parts, outside = study.pass_totals(frame[inside]), study.pass_totals(frame[~inside])
    assert ratios.of(parts, outside).value == pytest.approx(1.5)
    assert ratios.of(outside, parts).value == pytest.approx(2 / 3)
    assert study.pass_totals(frame[:0]).empty


def timed_rows(*times):
    """The rows of a case with a process for each list of seconds."""
    return pd.DataFrame(
        [
            {"process": number, "seconds": seconds}
            for number, process_times in enumerate(times)
            for seconds in process_times
        ]
    )


def test_the_ladder_shows_the_median_of_the_processes_medians():
    rungs = [
        ladder_table.Rung("one", "its idea_1", "traffic", 2e-6, timed_rows([1e-6] * 5, [3e-6], [4e-6])),
        ladder_table.Rung("other", "`code`", "", None, timed_rows()),
    ]
    text = ladder_table.table(rungs, "Iteration")
    assert r"one & its idea\_1 & traffic & \qty{2.0}{\micro\second} & \qty{3.00}{\micro\second} \\" in text
    assert r"other & \texttt{code} & -- & -- & -- \\" in text
    assert "no measurement" in ladder_table.table(rungs[1:], "Iteration")


def answered_claim(ratio, minimum=2.0):
    """The claim that a ratio is at least a minimum, with the answer of a measured ratio."""
    return verdict_table.AnsweredClaim("key", "It is so", "a measurement", "a cause", decide(ratio, minimum))


def test_the_verdict_says_why_or_what_it_needs_or_what_could_be_seen():
    confirmed, undecided, untested = (
        verdict_table.cells(answered_claim(ratio)) for ratio in (Ratio(3.0, 2.9, 3.1), Ratio(2.0, 1.5, 2.6), None)
    )
    assert confirmed[-2:] == ["as claimed", "a cause"]
    assert undecided[-2] == "undecided"
    assert "detectable: " in undecided[-1]
    assert untested[2:] == ["--", "--", "not tested", "needs a measurement"]
    unconverged = replace(
        answered_claim(Ratio(3.0, 2.9, 3.1, (), Spread(3, 0.01, 0.02, 10))), place="2.1", converged=False
    )
    assert verdict_table.cells(unconverged) == [
        "It is so (2.1)",
        r"$\geq$\,\num{2}\,$\times$",
        r"\num{3.0}\,$\times$ [\num{2.9}, \num{3.1}]",
        r"3 (\qty{2}{\percent})",
        r"as claimed\unconverged{}",
        "a cause",
    ]
    unknown = Ratio(3.0, 2.9, 3.1, (), Spread(2, math.nan, math.nan, 1))  # a campaign has a single process
    assert verdict_table.spread(unknown) == "2"
    cells = verdict_table.cells(answered_claim(Ratio(2.0, 0.0, math.inf)))
    assert cells[-1] == "too few processes"
    noisy = verdict_table.cells(answered_claim(Ratio(2.0, 0.05, 80.0)))
    assert noisy[-1] == "times of processes differ too much"


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((1,), r"$>$\,\num{1}"),
        ((2.0,), r"$\geq$\,\num{2}"),
        ((7.3333,), r"$\geq$\,\num{7.33}"),
        ((1, 1), r"$=$\,\num{1}"),
        ((0, 1.1), r"$\leq$\,\num{1.1}"),
        ((2.5, 2.5), r"$\approx$\,\num{2.5}"),
        ((4.5, 11.5), r"4.5 to \num{11.5}"),
    ],
)
def test_what_is_claimed_is_the_bound_that_decides(bounds, text):
    assert verdict_table.claimed_range(decide(None, *bounds)) == text + r"\,$\times$"


def rung(label, seconds, predicted=None, is_peer=False, processes=4, gain=None):
    """A rung of a waterfall, each of whose processes takes 1 % longer than the one before."""
    times = [[seconds * (1 + 0.01 * number)] * 3 for number in range(processes)]
    return waterfall.Rung(label, "openmp", times, predicted, True, is_peer, {}, gain)


def test_the_waterfall_has_a_dot_for_every_process_and_the_gain_over_the_rung_above():
    rungs = [
        rung("first", 8e-6, 4e-6),
        rung("second", 2e-6, gain=Ratio(4.0, 3.9, 4.1)),
        rung("other", 1e-6, is_peer=True),
    ]
    with theme.context():
        figure = waterfall.figure({"a machine": ("n = 5", rungs, 1e-7)}, "time of it", "the floor")
        figure.draw_without_rendering()
    (axes,) = figure.axes
    dots = np.concatenate(
        [collection.get_offsets() for collection in axes.collections if len(collection.get_offsets()) > 1]
    )
    assert len(dots) == 12
    np.testing.assert_allclose(sorted(dots[:, 0])[-4:], [8e-6, 8.08e-6, 8.16e-6, 8.24e-6])
    ticks = [line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1]
    assert sorted(ticks) == [1e-7, 4e-6]
    texts = visible_texts(figure)
    assert len([text for text in texts if "×" in text]) == 1  # peers stand beside the ladder
    assert any(text.startswith("4.0") and "×" in text for text in texts)
    assert {"first", "second", "other", "a process", "model", "the floor", "a machine", "2.03 µs"} <= set(texts)


def test_without_model_and_ceiling_the_legend_names_neither():
    with theme.context():
        figure = waterfall.figure({"a machine": ("n = 5", [rung("first", 1e-6, processes=1)], None)}, "time", "floor")
    assert {"model", "floor"}.isdisjoint(visible_texts(figure))


def test_names_at_the_ends_of_lines_keep_apart_and_inside():
    assert line_names.separate([0.1, 0.5, 0.9], 0.1) == [0.1, 0.5, 0.9]
    close = line_names.separate([0.95, 0.96, 0.97], 0.1)
    np.testing.assert_allclose(close, [0.8, 0.9, 1.0])
    crowded = line_names.separate([0.5] * 5, 0.4)
    np.testing.assert_allclose(np.diff(crowded), 0.4)


def rows_of(threads, *seconds):
    """The rows of a case on `threads`, one sample for each process."""
    case = {"machine": "here", "workload": "gemm", "variant": "openmp", "case": f"n=1,cache=cold,threads={threads}"}
    return pd.DataFrame([case | {"process": number, "seconds": time} for number, time in enumerate(seconds)])


def test_a_ratio_rests_on_the_cases_of_its_rows():
    slower, faster = rows_of(1, *[2.0] * 5), rows_of(2, *[1.0] * 5)
    both_cases = tuple(("here", "gemm", "openmp", f"n=1,cache=cold,threads={threads}") for threads in (1, 2))
    assert ratios.of(slower, faster).cases == ratios.of_best(slower, {1: slower, 2: faster}).cases == both_cases
    assert ratios.over_seconds(slower, 0.5).cases == both_cases[:1]
    assert ratios.over_seconds(slower, 0.5).value == 4.0
    assert ratios.over_seconds(slower, None) is None
    assert ratios.of_best(slower, {}) is None
    assert ratios.of(slower.drop(columns="machine"), faster).cases == both_cases[1:]


def test_luck_in_the_processes_that_choose_makes_no_speed_up():
    """Every second process chooses; on two threads only these processes are fast."""
    slow = 1.0 + 1e-3 * np.arange(10)
    cases = {1: rows_of(1, *slow), 2: rows_of(2, *np.where(np.arange(10) % 2, 0.5, slow))}
    best, tested = study.best_and_test_rows(cases)
    assert best == 2
    assert set(tested["process"]) == {0, 2, 4, 6, 8}
    assert ratios.of_best(cases[1], cases).low < 1.01
    assert ratios.of_best(cases[1], {1: cases[1], 2: rows_of(2, *(slow / 2))}).low > 1.9


@pytest.mark.parametrize(("idea", "expected"), [("", "peer: what others use"), ("a library", "peer: a library")])
def test_the_table_marks_a_peer(idea, expected):
    line = lines.Line("blas", {}, "products", idea)
    chapter = SimpleNamespace(
        rungs={"blas": "peer: what others use", "openmp": "plain loops"},
        line=lambda key: replace(line, variant=key),
        find=lambda key: pd.DataFrame(),
        predict=lambda key, rows: None,
        machines={},
    )
    assert ladder.row(chapter, "blas").idea == expected
    assert ladder.row(chapter, "openmp").idea == (idea or "plain loops")
