"""What the paper says of linear systems beside what every chapter does, of made-up times."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import chapter
from drawings import draw, tables, words
from ladder.report import assumptions
from ladder.report.telling import chapter_study
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import select
from ladder.workloads.descent.paper import earlier, lines, model, residuals, theory
from made_up import chapters as made

EVERY = made.whole("descent")


@pytest.fixture(scope="module")
def ask():
    return chapter.asked("descent")


def rows_of(study, *kernel):
    """The calls of an elementary kernel."""
    return chapter_study.of_chapter("descent", study).find(lines.kernel(*kernel))


def test_a_kernel_is_that_of_the_earlier_studys_load_and_launched_right():
    rows = rows_of(EVERY, "reduction", 512, 512)
    assert (set(rows["load"]), set(rows["launch"])) == ({8}, {"right"})
    assert set(rows_of(EVERY, "reduction", 512, 4096)["load"]) == {4}
    assert set(rows_of(EVERY, "reduction", 512, 256, "swapped")["launch"]) == {"swapped"}


def test_a_kernel_that_says_nothing_of_load_and_launch_has_the_defaults_and_is_one_case():
    def plain(one):
        """Reductions of 512 threads alone, in two experiments, one of which says how they were launched."""
        if one.case.workload != "descent_kernel":
            return one
        is_stated = one.case.tuning["launch"] == "swapped"
        tuning = {"block": 512} | ({"launch": "right"} if is_stated else {})
        experiment = "descent_kernels_swapped" if is_stated else "descent_kernels_512"
        chosen = {"kernel": "reduction", "n": 256, "block": 512, "load": 4}
        if chosen.items() <= (one.case.sizes | one.case.tuning).items():
            return replace(one, experiment=experiment, case=replace(one.case, tuning=tuning))
        return None

    own = made.study("descent", change=plain)
    rows = rows_of(own, "reduction", 512, 256)
    assert rows["case"].nunique() == 1
    assert rows_of(own, "reduction", 512, 256, "swapped").empty


def test_large_matrices_are_held_against_reading(ask):
    reading = EVERY.samples("ceiling_gpu_bandwidth")
    time = 32768**2 * 4 / (reading["bytes"] / reading["seconds"]).max() + assumptions.NODE
    assert ask["share"](select("cuda_fused", "large")) == rf"\qty{{{100 * time / 1e-3:.0f}}}{{\percent}}"


def test_a_cause_tells_of_swapped_grid_and_block():
    slower = chapter.answers("descent", EVERY, "slower")["slower"]
    assert slower.answer.ratio.value == pytest.approx(1.0, rel=0.01)
    assert r"as there: \num{1.5" in slower.cause


def test_kernels_of_an_iteration_are_counted():
    """Two products of A and two of a row, each summed up in five passes of four, and four kernels on vectors."""
    assert model.kernels("cuda_version2", 512) == 4 * (1 + 5) + 4
    assert [earlier.iteration(count) for count in (1, 2)] == pytest.approx([0.50e-3, 0.81e-3], rel=0.01)


def test_the_rate_is_that_of_the_theory(ask):
    assert all(ask["rate_measured"](kappa) == ask["rate_in_theory"](kappa) for kappa in (10, 100, 1000))
    assert theory.factor(3.0) == 0.5
    np.testing.assert_allclose(theory.steepest(3.0, [0, 1, 3]), [1, 0.5, 0.125])
    np.testing.assert_allclose(theory.conjugate(9.0, [0, 1, 3]), [1, 1, 0.25])


def test_recomputing_has_an_effect_beyond_a_factor_of_two(ask):
    assert "less than a factor of two" in ask["effect"]("cg", 100)
    assert residuals.effect(1e-6, 1e-4) == "raises the true residual"
    assert residuals.effect(1e-4, 1e-6) == "lowers the true residual"
    curve = pd.DataFrame({"relative": [1.0, 0.19, 0.1, 0.15]})
    assert residuals.least_after_jump(None, curve) is None  # which rises, but by less than a factor of two
    assert residuals.least_after_jump(None, curve.assign(relative=[1.0, 0.04, 0.1, 0.09])) == 0.09


def test_tables_hold_every_kernel_and_where_a_rung_has_another_size():
    made_tables = chapter.tables("descent")
    assert r"\texttt{n = 32}" in made_tables["ladder"]
    assert all(f"\\texttt{{{name}}} & " in made_tables["kernels"] for name in earlier.KERNELS)


def test_solves_of_two_tolerances_have_none_and_no_steps():
    frame = EVERY.tables["descent_solution"]["samples"]
    mixed = {"samples": frame.assign(tolerance=frame["tolerance"].where(frame["n"] > 512, 1e-3))}
    text = chapter.text("descent", replace(EVERY, tables=EVERY.tables | {"descent_solution": mixed}))
    assert not any(words in text for words in ("relative residual of", "To the tolerance", "would then take"))


def test_joules_are_said_only_where_the_gpu_tells(ask):
    for column in ("joules", "sustained"):  # without the second what was counted had more in it
        silent = {
            name: {"samples": parts["samples"].drop(columns=column, errors="ignore")}
            for name, parts in EVERY.tables.items()
        }
        for selection in ("cuda_persistent", ask["solve"]("direct")):
            with pytest.raises(NotMeasured):
                chapter.asked("descent", replace(EVERY, tables=silent))["energy"](selection)


def test_solutions_are_lines_named_where_they_end():
    """In the made-up study lines of the host end together: then `blas` ends at n = 4096."""
    asked = tables("descent_solution")
    host, card = draw("descent_solution", asked).axes
    assert {"blas", "scipy_cg", "scipy_cholesky"} <= {text.get_text() for text in host.texts}
    assert {"cuda_persistent", "cusolver", "cupy_cg"} <= {text.get_text() for text in card.texts}
    assert host.get_xlabel() == card.get_xlabel() == "n, κ = 100, tolerance 1e-4"
    frame = asked["descent_threads"]["samples"]
    short = {"samples": frame[frame["n"] <= 4096]}
    host, _ = draw("descent_solution", asked | {"descent_threads": asked["descent_threads"] | short}).axes
    named = {text.get_text(): text.xy[0] for text in host.texts}
    assert (named["blas"], named["scipy_cholesky"]) == (4096, 1)  # of the panel's width


def test_a_vertical_line_is_explained_only_where_there_is_one():
    """By the rule Cholesky is overtaken on the host at n = 1000."""
    asked = {name: EVERY.tables[name] for name in lines.SOLUTIONS}
    explanation = "less than Cholesky from here on"
    assert {explanation, "1000"} <= {*words(draw("descent_solution", asked))}
    frame = asked["descent_direct"]["samples"]
    slower = {"descent_direct": {"samples": frame.assign(seconds=frame["seconds"] * 1e6)}}
    assert explanation not in words(draw("descent_solution", asked | slower))


def test_convergence_has_a_panel_for_each_condition_with_the_theory_in_it():
    figure = draw("descent_convergence", tables("descent_convergence"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["κ = 10", "κ = 100", "κ = 1000"]
    assert figure.axes[0].lines[0].get_ydata()[1] == pytest.approx(9 / 11)
    assert {"steepest descent", "CG", "residual recomputed", "CG, residual recomputed"} <= {*words(figure)}
