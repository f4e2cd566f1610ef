"""What the paper says of linear systems beside what every chapter does, of made-up times."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import told
from drawings import draw, tables, words
from ladder.report import assumptions, rates
from ladder.report.telling import chapter_study
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import select
from ladder.workloads.descent.paper import earlier, lines, model, residuals, theory
from made_up import chapters as made

EVERY = made.whole("descent")


@pytest.fixture(scope="module")
def ask():
    return told.asked("descent")


def rows_of(study, *kernel):
    """The calls of an elementary kernel."""
    return chapter_study.of_chapter("descent", study).find(lines.kernel(*kernel))


def test_an_iteration_is_a_solve_over_the_steps_that_it_took(ask):
    assert ask["time"]("cuda_persistent") == r"\qty{2.0}{\micro\second}"
    assert ask["time"]("cuda_version1") == r"\qty{80}{\micro\second}"
    assert ask["speedup"]("cupy_loop", "cuda_persistent").startswith(r"\num{68}\,$\times$")
    assert ask["speedup"]("cuda_version2", "openmp").startswith(r"\num{10.0}\,$\times$")
    assert ask["count"]("openmp", "threads") == r"\num{4}"
    assert ask["count"]("cuda_persistent", "steps") == r"\num{100}"
    assert ask["earlier_over"]("cuda_persistent") == r"\num{410}"


def test_large_matrices_are_held_against_reading(ask):
    reading = EVERY.samples("ceiling_gpu_bandwidth")
    time = 32768**2 * 4 / (reading["bytes"] / reading["seconds"]).max() + assumptions.NODE
    large = select("cuda_fused", "large")
    assert ask["share"](large) == rf"\qty{{{100 * time / 1e-3:.0f}}}{{\percent}}"
    assert ask["comparison"](large, select("cuda_persistent", "large"), "the graph").startswith("ties with the graph")
    symmetric = select("cublas", "large", product="symv"), select("cuda_symmetric", "large")
    assert ask["speedup"](*symmetric).startswith(r"\num{1.9}\,$\times$")
    # Of 50 steps of 107 GB each at 4.4 TB/s, 1.02 times that; 1.03 by the best sample.
    assert ask["share"](select("cuda_fused", "largest")) == r"\qty{97}{\percent}"
    assert ask["time"](select("cuda_fused", "largest solves")) == r"\qty{1.2}{\second}"
    assert ask["matrix"](select("cuda_fused", "largest")) == r"\qty{100}{\gibi\byte}"


def test_claims_are_tallied_and_their_causes_named(ask):
    assert ask["tally"]("earlier") == r"\num{1} is confirmed and \num{3} are refuted"
    slower = told.answers("descent", EVERY, "slower")["slower"]
    assert slower.answer.found.value == pytest.approx(1.0, rel=0.01)
    assert r"as there: \num{1.5" in slower.cause


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


def test_one_of_each_kernel_is_without_the_first(ask):
    """Of 2 us a launch and 4 ps an element of a matrix, of which product and reduction have 512 x 512."""
    assert ask["one_of_each"]() == r"\qty{14}{\micro\second}"
    assert earlier.iteration(1) == pytest.approx(0.50e-3, rel=0.01)
    assert earlier.iteration(2) == pytest.approx(0.81e-3, rel=0.01)


def test_the_model_adds_launches_trips_and_reading(monkeypatch):
    monkeypatch.setattr(rates, "card_bandwidth", lambda found: 4e12)
    monkeypatch.setattr(rates, "bandwidths", lambda found: {4: 1e11})
    row = {"n": 512, "dtype": "float32", "variant": "cuda_fused", "device": "cuda"}
    row |= {"threads": pd.NA, "recompute": pd.NA}
    size = 512 * 512 * 4
    fused = model.predict(None, row | {"graph": "off"})
    assert fused == pytest.approx(assumptions.LAUNCH + size / 4e12)
    graph = model.predict(None, row | {"graph": "on"})
    assert graph == pytest.approx(fused - assumptions.LAUNCH + assumptions.NODE)
    # Two products of A and two of a row, each summed up in five passes of four, and four kernels on vectors.
    assert model.kernels("cuda_version2", 512) == 4 * (1 + 5) + 4
    host = row | {"variant": "openmp", "device": "host", "threads": 4, "recompute": 0}
    assert model.predict(None, host) == pytest.approx(size / 1e11)
    assert model.predict(None, host | {"recompute": 1}) == pytest.approx(2 * size / 1e11)
    assert model.predict(None, host | {"threads": 2}) is None
    assert model.predict(None, row | {"variant": "cupy_loop"}) is None


def test_tables_hold_every_kernel_and_where_a_rung_has_another_size():
    made_tables = told.tables("descent", EVERY)
    assert r"\texttt{n = 32}" in made_tables["ladder"]
    assert all(f"\\texttt{{{name}}} & " in made_tables["kernels"] for name in earlier.KERNELS)


def test_where_cholesky_is_overtaken_is_interpolated(ask):
    """By the rule CG costs 2e-8 n^2 on the host and Cholesky 2e-11 n^3."""
    size = float(re.search(r"from \$n = \\num\{(\d+)\}", ask["overtakes"]("host", "cg"))[1])
    assert size == pytest.approx(1000, rel=0.02)
    assert ask["overtakes"]("cuda", "cg").startswith("is faster than Cholesky at every size")
    assert ask["largest"]() == r"\num{16384}"


def test_solves_are_told_with_their_conditions_and_by_both_variants(ask):
    """At n = 16384 Cholesky takes 0.44 s, CG 11 ms and by half of A 21 ms."""
    assert ask["condition"]("kappa") == r"\num{100}"
    assert ask["condition"]("tolerance", 1) == r"\num{1e-4}"
    direct, cg, half = (ask["solve"](*one) for one in (["direct"], ["cg"], ["cg", "cuda_symmetric"]))
    assert ask["speedup"](direct, cg).startswith(r"\num{41}\,$\times$")
    assert ask["speedup"](direct, half).startswith(r"\num{20}\,$\times$")


def test_a_harder_system_takes_as_many_times_longer_as_it_takes_steps(ask):
    """At n = 4096 CG takes 0.67 ms; to 1e-4 it takes 46 steps at kappa = 100 and 150 at 1000, every tenth known."""
    assert ask["harder_steps"]() == r"\num{3.3}"
    assert ask["harder_time"](ask["solve"]("cg", n=4096)) == r"\qty{2.2}{\milli\second}"
    assert ask["time"](ask["solve"]("direct", n=4096)) == r"\qty{6.9}{\milli\second}"


def test_solves_of_two_tolerances_have_none_and_no_steps():
    frame = EVERY.tables["descent_solution"]["samples"]
    mixed = {"samples": frame.assign(tolerance=frame["tolerance"].where(frame["n"] > 512, 1e-3))}
    text = told.text("descent", replace(EVERY, tables=EVERY.tables | {"descent_solution": mixed}))
    assert not any(words in text for words in ("relative residual of", "To the tolerance", "would then take"))


def test_the_rate_is_that_of_the_theory(ask):
    for kappa in (10, 100, 1000):
        assert ask["rate_measured"](kappa) == ask["rate_in_theory"](kappa)
    assert ask["steps_of"]("cg", 10) == r"\num{15}"
    assert ask["steps_of"]("steepest", 1000) == r"more than \num{200}"
    assert theory.factor(3.0) == 0.5
    np.testing.assert_allclose(theory.steepest(3.0, [0, 1, 3]), [1, 0.5, 0.125])
    np.testing.assert_allclose(theory.conjugate(9.0, [0, 1, 3]), [1, 1, 0.25])


def test_the_true_residual_is_at_most_the_reported_one_and_its_distance(ask):
    assert ask["residual"]("true", "steepest", 10) == r"\num{1.0e-6}"
    assert ask["residual"]("reported", "steepest recomputed", 10) == r"\num{1.0e-6}"
    assert ask["residual"]("true", "steepest recomputed", 10) == r"\num{1.1e-6}"
    assert ask["recomputed_every"]() == r"\num{50}"
    assert "less than a factor of two" in ask["effect"]("cg", 100)
    assert residuals.effect(1e-6, 1e-4) == "raises the true residual"
    assert residuals.effect(1e-4, 1e-6) == "lowers the true residual"


def test_a_recomputed_residual_falls_again_after_its_jump_but_that_of_cg(ask):
    """Of steepest descent 1e-6 (9 / 11)^40, 40 steps after the jump; before it, 50 steps from the start, 4e-5."""
    assert ask["residual"]("least_after_jump", "steepest recomputed", 10) == r"\num{3.3e-10}"
    assert ask["residual"]("least_after_jump", "cg recomputed", 100) == r"\num{1.0e-6}"
    curve = pd.DataFrame({"relative": [1.0, 0.19, 0.1, 0.15]})
    assert residuals.least_after_jump(None, curve) is None  # which rises, but by less than a factor of two
    assert residuals.least_after_jump(None, curve.assign(relative=[1.0, 0.04, 0.1, 0.09])) == 0.09


def test_joules_are_said_only_where_the_gpu_tells(ask):
    assert ask["energy"]("cuda_persistent") == r"\qty{100}{\milli\joule}"
    assert ask["energy"]("cublas") == r"\qty{400}{\milli\joule}"  # of the graph alone
    for column in ("joules", "sustained"):  # without the second what was counted had more in it
        silent = {
            name: {"samples": parts["samples"].drop(columns=column, errors="ignore")}
            for name, parts in EVERY.tables.items()
        }
        for selection in ("cuda_persistent", ask["solve"]("direct")):
            with pytest.raises(NotMeasured):
                told.asked("descent", replace(EVERY, tables=silent))["energy"](selection)


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
