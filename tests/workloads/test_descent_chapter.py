"""What the paper says of linear systems, of times made up by rule."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import made_up
import made_up_descent
from drawings import MACHINES, draw, planned, tables, words
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import assumptions, chapters, rates, texts
from ladder.report.study import Study, middle
from ladder.report.telling import chapter_study, functions, ladder, templates
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import select
from ladder.workloads.descent import RUNGS
from ladder.workloads.descent.paper import earlier, lines, model, residuals, theory

REFUTED, WEAKER = {"only-init", "slower", "vecsum"}, {"half"}


@pytest.fixture(scope="module")
def found():
    return made_up_descent.study()


@pytest.fixture(scope="module")
def ask(found):
    return functions.of_chapter(of(found))


def of(found):
    """The chapter's study."""
    return chapter_study.of_chapter("descent", found)


def changed(drop=lambda case: False, factor=lambda case: 1.0, machine=made_up_descent.CARD):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_descent.cases() if not drop(one[1])]
    chosen = [(name, case, seconds * factor(case), facts) for name, case, seconds, facts in cases]
    return made_up_descent.study(machine, chosen=chosen)


def without(experiment):
    """A study without an experiment."""
    return made_up_descent.study(chosen=[one for one in made_up_descent.cases() if one[0] != experiment])


def verdicts(found):
    groups = chapter_claims.verdicts(of(found)).values()
    return {one.key: one.answer.verdict for group in groups for one in group}


def text_of(found):
    """The text of the chapter, rendered, on one line."""
    (chapter,) = [one for one in chapters.chapters() if one.workload == "descent"]
    return " ".join(texts.rendered_chapter(chapter, found)["text"].split())


def test_a_text_without_measurements_says_so_and_has_no_gaps():
    for nothing in (Study({}, None), changed(drop=lambda case: "cu" in case.variant)):
        text = text_of(nothing)
        assert "nomeasurement" not in text
        assert not any(sign in text for sign in ("<<", "<%", "None"))
        assert "No GPU was measured at this size." in text
    assert "nothing is decided here" in text_of(Study({}, None))


@pytest.fixture
def keeps_blocks(monkeypatch):
    """Blocks stay where a measurement is missing, whose words then stand in its place."""
    monkeypatch.setattr(templates.Measured, "render", lambda self, caller: caller(True))


def test_a_whole_study_is_told_whole(found, keeps_blocks):
    text = text_of(found)
    assert "nomeasurement" not in text
    assert r"\texttt{nvidia-\allowbreak{}h200}" in text
    assert "nomeasurement" in text_of(without("descent_largest"))


def test_an_iteration_is_a_solve_over_the_steps_that_it_took(ask):
    assert ask["time"]("cuda_persistent") == r"\qty{2.0}{\micro\second}"
    assert ask["time"]("cuda_version1") == r"\qty{80}{\micro\second}"
    assert ask["speedup"]("cupy_loop", "cuda_persistent").startswith(r"\num{68}\,$\times$")
    assert ask["speedup"]("cuda_version2", "openmp").startswith(r"\num{10.0}\,$\times$")
    assert ask["count"]("openmp", "threads") == r"\num{4}"
    assert ask["count"]("cuda_persistent", "steps") == r"\num{100}"
    assert ask["earlier_over"]("cuda_persistent") == r"\num{410}"


def test_large_matrices_are_held_against_reading(found, ask):
    reading = found.samples("ceiling_gpu_bandwidth")
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


def test_the_chapter_speaks_of_one_machine_of_full_size_and_with_a_card():
    own = changed(drop=lambda case: "cu" in case.variant, machine="here")
    both = made_up.both(made_up_descent.study("there (published)"), own).of("here")
    subjects = [of(one).machine("host").subject for one in (Study({}, None), own, both)]
    assert subjects == [None, "here", "there (published)"]


def test_toy_sizes_decide_nothing():
    small = changed(drop=lambda case: case.workload != "descent" or case.sizes["n"] == lines.N)
    assert of(small).machine("host").subject is None
    assert set(verdicts(small).values()) == {"not tested"}
    assert "No claim of the earlier study was tested" in text_of(small)


def test_the_claims_are_decided_as_the_times_say(found):
    every = verdicts(found)
    assert len(every) == 10
    assert {key for key, verdict in every.items() if verdict == "refuted"} == REFUTED
    assert {key for key, verdict in every.items() if verdict != "confirmed"} == REFUTED | WEAKER
    assert verdicts(changed(drop=lambda case: case.variant == "cuda_symmetric"))["half"] == "not tested"
    assert functions.tally(of(found), "earlier") == r"\num{1} is confirmed and \num{3} are refuted"
    slower = functions.claim(of(found), "slower")
    assert slower.answer.ratio.value == pytest.approx(1.0, rel=0.01)
    assert r"as there: \num{1.5" in slower.cause


@pytest.mark.parametrize(
    ("key", "verdict", "factor"),
    [
        ("slower", "confirmed", lambda case: 1.5 if case.tuning.get("block") == 512 else 1.0),
        ("half", "confirmed", lambda case: 0.9 if case.variant == "cuda_symmetric" else 1.0),
        ("one-launch", "refuted", lambda case: 3.0 if case.variant == "cuda_persistent" else 1.0),
        ("recomputed", "refuted", lambda case: 1.5 if case.tuning.get("recompute") == 50 else 1.0),
        ("conjugate", "refuted", lambda case: 9.0 if case.sizes.get("algorithm") == "cg" else 1.0),
    ],
)
def test_other_times_decide_otherwise(key, verdict, factor):
    assert verdicts(changed(factor=factor))[key] == verdict


def test_a_kernel_is_that_of_the_earlier_studys_load_and_launched_right(found):
    study = of(found)
    rows = study.rows(lines.kernel("reduction", 512, 512))
    assert (set(rows["load"]), set(rows["launch"])) == ({8}, {"right"})
    assert set(study.rows(lines.kernel("reduction", 512, 4096))["load"]) == {4}
    assert set(study.rows(lines.kernel("reduction", 512, 256, "swapped"))["launch"]) == {"swapped"}


def test_a_kernel_that_says_nothing_of_load_and_launch_has_the_defaults_and_is_one_case():
    sizes = complete("descent_kernel", {"kernel": "reduction", "n": 256})
    block = {"block": 512}
    forms = {"descent_kernels_512": (block, 4e-6), "descent_kernels_swapped": (block | {"launch": "right"}, 5e-6)}
    chosen = [one for one in made_up_descent.cases() if one[0] == "descent_ladder"]
    for experiment, (form, seconds) in forms.items():
        chosen.append(
            (experiment, Case("descent_kernel", "cuda_version2", sizes, {"block": 512} | form), seconds, None)
        )
    own = of(made_up_descent.study(chosen=chosen))
    rows = own.rows(lines.kernel("reduction", 512, 256))
    assert rows["case"].nunique() == 1
    assert middle(rows) == pytest.approx(4e-6, rel=0.01)
    assert own.find(lines.kernel("reduction", 512, 256, "swapped")).empty


def test_the_configuration_measures_what_the_chapter_asks_for(keeps_blocks):
    """Of the whole study on a machine with a card no claim is left untested, and no value is missing."""
    chosen = []
    for experiment in filter(lambda name: name.startswith("descent_"), planned()):
        for case in planned()[experiment]:
            facts = {"steps": case.sizes["iterations"]} if case.workload == "descent" else None
            chosen.append((experiment, case, 2e-3 if case.tuning.get("graph") == "off" else 1e-3, facts))
    every = made_up_descent.study(chosen=chosen)
    assert "not tested" not in verdicts(every).values()
    assert "nomeasurement" not in text_of(every)


def test_one_of_each_kernel_is_without_the_first(ask):
    """Of 2 us a launch and 4 ps an element of a matrix, of which product and reduction have 512 x 512."""
    assert ask["one_of_each"]() == r"\qty{14}{\micro\second}"
    assert earlier.iteration(1) == pytest.approx(0.50e-3, rel=0.01)
    assert earlier.iteration(2) == pytest.approx(0.81e-3, rel=0.01)


def test_the_model_adds_launches_trips_and_reading(monkeypatch):
    monkeypatch.setattr(rates, "card_bandwidth", lambda found: 4e12)
    monkeypatch.setattr(rates, "bandwidths", lambda found: {4: 1e11})
    row = {
        "n": 512,
        "dtype": "float32",
        "variant": "cuda_fused",
        "device": "cuda",
        "threads": pd.NA,
        "recompute": pd.NA,
    }
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


def test_every_rung_is_in_table_and_figure(found, monkeypatch):
    study = of(found)
    ours = [name for name, idea in RUNGS.items() if not idea.startswith("peer: ")]
    assert all(lines.LINES[name].relieves and not lines.LINES[name].is_peer for name in ours)
    rungs = ladder.rungs_of(study, study.machine("host"), None)
    labels = ["openmp, two products, 1 thread", "openmp, 1 thread", "openmp, 4 threads", "blas, 4 threads"]
    assert [one.label for one in rungs][:5] == [*labels, "cuda_version2"]
    assert [one.method for one in rungs if one.is_peer] == ["numpy_loop", "cupy_loop"]
    one = [chapter for chapter in chapters.chapters() if chapter.workload == "descent"]
    monkeypatch.setattr(chapters, "chapters", lambda: one)
    made = chapters.tables(found)
    for name in ours:
        assert made["descent_ladder"].count(f"texttt{{{name}}}".replace("_", r"\_\allowbreak{}")) == 1
    assert r"\texttt{n = 32}" in made["descent_ladder"]
    assert all(f"\\texttt{{{name}}} & " in made["descent_kernels"] for name in earlier.KERNELS)
    assert made["descent_verdicts"].count(" \\\\\n") == 1 + 10
    empty = chapters.tables(Study({}, None))
    assert "no measurement" in empty["descent_ladder"]
    assert "no measurement" in empty["descent_kernels"]
    assert empty["descent_verdicts"].count("not tested") == 10


def test_where_cholesky_is_overtaken_is_interpolated(ask):
    """By the rule CG costs 2e-8 n^2 on the host and Cholesky 2e-11 n^3."""
    size = float(re.search(r"from \$n = \\num\{(\d+)\}", ask["overtakes"]("host", "cg"))[1])
    assert size == pytest.approx(1000, rel=0.02)
    assert ask["overtakes"]("cuda", "cg").startswith("is faster than Cholesky at every size")
    assert ask["largest_solved"]() == r"\num{16384}"


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
    for lacking in ("descent_convergence", "descent_direct"):
        assert "would then take" not in text_of(without(lacking))


def test_solves_of_two_tolerances_have_none_and_no_steps(found):
    frame = found.tables["descent_solution"]["samples"]
    mixed = {"samples": frame.assign(tolerance=frame["tolerance"].where(frame["n"] > 512, 1e-3))}
    text = text_of(replace(found, tables=found.tables | {"descent_solution": mixed}))
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


def test_joules_are_said_only_where_the_card_tells(found, ask):
    assert ask["energy"]("cuda_persistent") == r"\qty{100}{\milli\joule}"
    assert ask["energy"]("cublas") == r"\qty{400}{\milli\joule}"  # of the graph alone
    for column in ("joules", "sustained"):  # without the second what was counted had more in it
        samples = {name: one["samples"].drop(columns=column, errors="ignore") for name, one in found.tables.items()}
        silent = {name: {"samples": one} for name, one in samples.items()}
        own = of(replace(found, tables=silent))
        for selection in ("cuda_persistent", ask["solve"]("direct")):
            with pytest.raises(NotMeasured):
                functions.energy(own, selection)


def test_the_waterfall_has_every_rung_and_no_ratio_of_peers():
    shown = words(draw("descent_waterfall", tables("descent_waterfall", MACHINES[:2])))
    assert {"cuda_persistent", "cuda_cluster", "openmp, 1 thread", "cupy_loop", "model", "A read once"} <= set(shown)
    rungs = [text for text in shown if re.match("(openmp|blas|cuda_|cublas)", text)]
    assert len([text for text in shown if "×" in text]) == len(rungs) - 1
    assert MACHINES[0] in shown
    assert MACHINES[1] not in shown
    assert "model" in words(draw("descent_waterfall", tables("descent_waterfall"), known={}))


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
    assert named["blas"] == 4096
    assert named["scipy_cholesky"] == 1  # of the panel's width


def test_a_vertical_line_is_explained_only_where_there_is_one(found):
    """By the rule Cholesky is overtaken on the host at n = 1000."""
    asked = {name: found.tables[name] for name in lines.SOLUTIONS}
    told = "less than Cholesky from here on"
    assert {told, "1000"} <= set(words(draw("descent_solution", asked)))
    frame = asked["descent_direct"]["samples"]
    slower = frame.assign(seconds=frame["seconds"] * 1e6)
    assert told not in words(draw("descent_solution", asked | {"descent_direct": {"samples": slower}}))


def test_convergence_has_a_panel_for_each_condition_with_the_theory_in_it():
    figure = draw("descent_convergence", tables("descent_convergence"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["κ = 10", "κ = 100", "κ = 1000"]
    assert figure.axes[0].lines[0].get_ydata()[1] == pytest.approx(9 / 11)
    assert {"steepest descent", "CG", "residual recomputed", "CG, residual recomputed"} <= set(words(figure))
