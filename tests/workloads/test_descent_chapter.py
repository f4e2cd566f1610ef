"""What the paper says of linear systems, of times made up by rule."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import made_up
import made_up_descent
from drawings import draw, planned, tables, words
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import study as study_of
from ladder.report.phrases import Missing
from ladder.report.rungs import MOST, measured
from ladder.report.study import Study
from ladder.workloads.descent import RUNGS
from ladder.workloads.descent.paper import earlier, model, numbers, numbers_convergence, query, rungs, theory, verdicts
from ladder.workloads.descent.paper import tables as descent_tables

CONSTANT = ("problem", "earlier", "model", "theory")


@pytest.fixture(scope="module")
def found():
    return made_up_descent.study()


@pytest.fixture(scope="module")
def values(found):
    return numbers.numbers(found)


def changed(drop=lambda case: False, factor=lambda case: 1.0):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_descent.cases() if not drop(one[1])]
    chosen = [(name, case, seconds * factor(case), facts) for name, case, seconds, facts in cases]
    return made_up_descent.study(chosen=chosen)


def claims(study):
    return [one for group in verdicts.verdicts(study).values() for one in group]


def verdict(study, key):
    (one,) = [one for one in claims(study) if one.key == key]
    return one


def test_the_keys_do_not_depend_on_what_was_measured(values):
    assert list(numbers.numbers(changed(drop=lambda case: "cu" in case.variant))) == list(values)
    nothing = numbers.numbers(Study({}, None))
    assert list(nothing) == list(values)
    for key, value in nothing.items():
        if key.split("/")[1] not in CONSTANT:
            assert value is None or isinstance(value, Missing), key


def test_a_whole_study_lacks_nothing(values):
    assert [key for key, value in values.items() if value is None or isinstance(value, Missing)] == []


def test_an_iteration_is_a_solve_over_the_steps_that_it_took(values):
    assert values["descent/ladder/cuda_persistent/time"] == r"\qty{2.0}{\micro\second}"
    assert values["descent/ladder/cuda_persistent/against/cupy_loop"].startswith(r"is \num{68}\,$\times$ as fast as")
    assert values["descent/ladder/cuda_version2/against/openmp"].startswith(r"takes \num{10.0}\,$\times$ as long as")
    assert values["descent/ladder/launching"] == r"\qty{75}{\percent}"
    assert values["descent/ladder/threads"] == r"\num{4}"
    assert values["descent/small/cuda_version1/time"] == r"\qty{80}{\micro\second}"
    # Of 50 steps of 107 GB each at 4.4 TB/s, the largest system takes 1.02 times that.
    assert values["descent/largest/cuda_fused/over-reading"] == r"\num{1.0}"
    assert values["descent/ladder/steps"] == r"\num{100}"
    assert values["descent/largest/memory"] == r"\qty{100}{\gibi\byte}"


def test_the_large_matrix_is_held_against_reading(found, values):
    rate = 32768**2 * 4 / 1e-3
    reading = found.samples("ceiling_gpu_bandwidth")
    best = (reading["bytes"] / reading["seconds"]).max()
    assert values["descent/large/cuda_fused/share"] == rf"\qty{{{100 * rate / best:.0f}}}{{\percent}}"
    assert values["descent/large/cuda_symmetric/against/symv"].startswith(r"is \num{1.9}\,$\times$ as fast as")
    assert values["descent/large/one-launch"].startswith("is equal to the graph within")


def test_the_chapter_speaks_of_one_machine_of_full_size_and_with_a_card():
    assert query.chosen(Study({}, None)).subject is None
    own = made_up_descent.study("here", chosen=[one for one in made_up_descent.cases() if "cu" not in one[1].variant])
    other = made_up_descent.study("there (published)")
    both = made_up.both(other, own).of("here")
    assert query.chosen(own).subject == "here"
    assert query.chosen(both).subject == "there (published)"


def test_toy_sizes_decide_nothing():
    toys = [one for one in made_up_descent.cases() if one[1].workload == "descent" and one[1].sizes["n"] != query.N]
    small = made_up_descent.study(chosen=toys)
    assert query.chosen(small).subject is None
    assert {one.answer.verdict for one in claims(small)} == {"not tested"}
    assert numbers.numbers(small)["descent/verdicts/tally/earlier"] is None


def test_the_claims_are_decided_as_the_times_say(found):
    decided = {one.key: one.answer.verdict for one in claims(found)}
    assert decided == {
        "rates-rise": "confirmed",
        "only-init": "refuted",
        "slower": "refuted",
        "vecsum": "refuted",
        "materialised": "confirmed",
        "launches": "confirmed",
        "one-launch": "confirmed",
        "half": "weaker",
        "recomputed": "confirmed",
        "conjugate": "confirmed",
    }
    assert numbers.numbers(found)["descent/verdicts/tally/earlier"] == r"\num{1} is confirmed and \num{3} are refuted"
    slower = verdict(found, "slower")
    assert slower.answer.found.value == pytest.approx(1.0, rel=0.01)
    assert r"here so: \num{1.5" in slower.cause


def test_other_times_decide_otherwise():
    large = changed(factor=lambda case: 1.5 if case.tuning.get("block") == 512 else 1.0)
    assert verdict(large, "slower").answer.verdict == "confirmed"
    half = changed(factor=lambda case: 0.9 if case.variant == "cuda_symmetric" else 1.0)
    assert verdict(half, "half").answer.verdict == "confirmed"
    without = changed(drop=lambda case: case.variant == "cuda_symmetric")
    assert verdict(without, "half").answer.verdict == "not tested"
    slow = changed(factor=lambda case: 3.0 if case.variant == "cuda_persistent" else 1.0)
    assert verdict(slow, "one-launch").answer.verdict == "refuted"


def test_a_kernel_is_that_of_the_earlier_studys_load_and_launched_right(found):
    rows = query.kernel(found, "reduction", 512, 512)
    assert set(rows["load"]) == {8}
    assert set(rows["launch"]) == {"right"}
    assert set(query.kernel(found, "reduction", 512, 4096)["load"]) == {4}
    assert set(query.kernel(found, "reduction", 512, 256, "swapped")["launch"]) == {"swapped"}


def test_a_kernel_that_says_nothing_of_load_and_launch_has_the_defaults_and_is_one_case():
    sizes = complete("descent_kernel", {"kernel": "reduction", "n": 256})
    forms = {"descent_kernels_512": ({}, 4e-6), "descent_kernels_swapped": ({"launch": "right"}, 5e-6)}
    chosen = [
        (experiment, Case("descent_kernel", "cuda_version2", sizes, {"block": 512} | form), seconds, None)
        for experiment, (form, seconds) in forms.items()
    ]
    rows = query.kernel(made_up_descent.study(chosen=chosen), "reduction", 512, 256)
    assert rows["case"].nunique() == 1
    assert study_of.middle(rows) == pytest.approx(4e-6, rel=0.01)
    assert query.kernel(made_up_descent.study(chosen=chosen), "reduction", 512, 256, "swapped").empty


def test_the_configuration_measures_what_the_chapter_asks_for():
    """Of the whole study on a machine with a card no claim is left untested, and no number is missing."""
    chosen = []
    for experiment in filter(lambda name: name.startswith("descent_"), planned()):
        for case in planned()[experiment]:
            facts = {"steps": case.sizes["iterations"]} if case.workload == "descent" else None
            chosen.append((experiment, case, 2e-3 if case.tuning.get("graph") == "off" else 1e-3, facts))
    every = made_up_descent.study(chosen=chosen)
    assert {one.key for one in claims(every) if one.answer.found is None} == set()
    said = numbers.numbers(every)
    assert [key for key, value in said.items() if value is None or isinstance(value, Missing)] == []


def test_one_of_each_kernel_is_without_the_first(values):
    """Of 2 us a launch and 4 ps an element of a matrix, of which product and reduction have 512 x 512."""
    assert values["descent/kernels/sum"] == r"\qty{14}{\micro\second}"


def test_the_earlier_kernels_add_up_to_what_was_said_of_them():
    assert earlier.iteration(1) == pytest.approx(0.50e-3, rel=0.01)
    assert earlier.iteration(2) == pytest.approx(0.81e-3, rel=0.01)


def test_the_model_adds_launches_trips_and_reading():
    size, reading = 512 * 512 * 4, 4e12
    fused = model.seconds("cuda_fused", "off", 512, size, reading)
    assert fused == pytest.approx(model.LAUNCH + size / reading)
    assert model.seconds("cuda_fused", "on", 512, size, reading) == pytest.approx(fused - model.LAUNCH + model.NODE)
    # Two products of A and two of a row, each summed up in five passes of four, and four kernels on vectors.
    assert model.kernels("cuda_version2", 512) == 4 * (1 + 5) + 4
    twice = rungs.predicted(rungs.line("openmp", recompute=1), {"n": 512, "dtype": "float32"}, reading)
    assert twice == pytest.approx(2 * size / reading)
    assert model.seconds("openmp", None, 512, size, None) is None
    assert model.seconds("cupy_loop", None, 512, size, reading) is None


def test_every_rung_has_what_it_relieves_and_is_drawn_where_it_was_measured(found):
    assert set(rungs.RELIEVES) == {name for name, idea in RUNGS.items() if not idea.startswith("peer: ")}
    frame = query.ladder(found)
    shown = measured(rungs.LINES, frame)
    labels = [one.label(rows) for one, rows in shown]
    assert labels[:4] == ["openmp, two products", "openmp, 1 thread", "openmp, 4 threads", "blas, 4 threads"]
    assert [one.variant for one, _ in shown if one.is_peer] == ["numpy_loop", "cupy_loop"]
    one_thread = frame[(frame["variant"] == "openmp") & (frame["threads"] == 1) & (frame["recompute"] == 0)]
    ((_, rows),) = measured(rungs.LINES, one_thread)
    assert rungs.Line("blas", {"threads": MOST}).label(rows) == "blas, 1 thread"


def test_the_tables_hold_every_rung_kernel_and_claim(found):
    made = descent_tables.tables(found)
    for name in rungs.RELIEVES:
        assert re.search(rf"texttt\{{{name}\}}".replace("_", r"\\_\\allowbreak{}"), made["ladder"])
    for name in earlier.KERNELS:
        assert f"\\texttt{{{name}}} & " in made["kernels"]
    assert made["verdicts"].count(" \\\\\n") == 1 + len(claims(found))
    empty = descent_tables.tables(Study({}, None))
    assert "no measurement" in empty["ladder"]
    assert "no measurement" in empty["kernels"]
    assert empty["verdicts"].count("not tested") == len(claims(found))


def test_where_cholesky_is_overtaken_is_interpolated(values):
    """By the rule CG costs 2e-8 n^2 on the host and Cholesky 2e-11 n^3."""
    size = float(re.search(r"n = \\num\{(\d+)\}", values["descent/solution/host/cg/below/direct"])[1])
    assert size == pytest.approx(1000, rel=0.02)
    assert values["descent/solution/cuda/cg/below/direct"].startswith("takes less time at every size")
    assert values["descent/solution/cuda/largest"] == r"\num{16384}"


def test_solves_are_told_with_their_conditions_and_by_both_variants(values):
    """At n = 16384 Cholesky takes 0.44 s, CG 11 ms and by half of A 21 ms."""
    assert values["descent/solution/kappa"] == r"\num{100}"
    assert values["descent/solution/tolerance"] == r"\num{1e-4}"
    assert values["descent/solution/cuda/cg/against/direct"].startswith(r"is \num{41}\,$\times$ as fast as Cholesky")
    half = values["descent/solution/cuda/cuda_symmetric/against/direct"]
    assert half.startswith(r"is \num{20}\,$\times$ as fast as Cholesky")


def test_a_harder_system_takes_as_many_times_longer_as_it_takes_steps(values):
    """At n = 4096 CG takes 0.67 ms; to 1e-4 it takes 46 steps at kappa = 100 and 150 at 1000, every tenth known."""
    told = {key.split("/")[-1]: value for key, value in values.items() if "/harder/" in key}
    assert told["n"] == r"\num{4096}"
    assert told["kappa"] == r"\num{1000}"
    assert told["steps"] == r"\num{3.3}"
    assert told["time"] == r"\qty{2.2}{\milli\second}"
    assert told["direct"] == r"\qty{6.9}{\milli\second}"
    for lacking in ("descent_convergence", "descent_direct"):
        less = made_up_descent.study(chosen=[one for one in made_up_descent.cases() if one[0] != lacking])
        assert {value for key, value in numbers.numbers(less).items() if "/harder/" in key} == {None}


def test_solves_of_two_tolerances_have_none_and_no_steps(found):
    frame = found.tables["descent_solution"]["samples"]
    mixed = {"samples": frame.assign(tolerance=frame["tolerance"].where(frame["n"] > 512, 1e-3))}
    told = numbers.numbers(replace(found, tables=found.tables | {"descent_solution": mixed}))
    assert told["descent/solution/tolerance"] is None
    assert told["descent/convergence/10/cg/steps"] is None
    assert told["descent/solution/harder/time"] is None


def test_the_rate_is_that_of_the_theory(values):
    for kappa in ("10", "100", "1000"):
        assert values[f"descent/convergence/{kappa}/rate"] == values[f"descent/theory/{kappa}"]
    assert values["descent/convergence/10/cg/steps"] == r"\num{15}"
    assert values["descent/convergence/1000/steepest/steps"] == r"more than \num{200}"


def test_the_true_residual_is_at_most_the_reported_one_and_its_distance(values):
    assert values["descent/convergence/end/steepest/carried/true"] == r"\num{1.0e-6}"
    assert values["descent/convergence/end/steepest/recomputed/reported"] == r"\num{1.0e-6}"
    assert values["descent/convergence/end/steepest/recomputed/true"] == r"\num{1.1e-6}"
    assert values["descent/convergence/end/cg/effect"] == "leaves the true one within a factor of two"
    assert numbers_convergence.effect(1e-6, 1e-4) == "raises the true one"
    assert numbers_convergence.effect(1e-4, 1e-6) == "lowers the true one"


def test_a_recomputed_residual_falls_again_after_its_jump_but_that_of_cg(values):
    """Of steepest descent 1e-6 (9 / 11)^40, 40 steps after the jump; before it, 50 steps from the start, 4e-5."""
    assert values["descent/convergence/end/steepest/recomputed/least"] == r"\num{3.3e-10}"
    assert values["descent/convergence/end/cg/recomputed/least"] == r"\num{1.0e-6}"
    curve = pd.DataFrame({"step": [2, 0, 1, 3], "relative": [0.1, 1.0, 0.19, 0.15]})
    assert numbers_convergence.least(curve) is None  # which rises, but by less than a factor of two
    assert numbers_convergence.least(curve.assign(relative=[0.1, 1.0, 0.04, 0.09])) == r"\num{0.090}"


def test_theory():
    assert theory.factor(3.0) == 0.5
    np.testing.assert_allclose(theory.steepest(3.0, [0, 1, 3]), [1, 0.5, 0.125])
    np.testing.assert_allclose(theory.conjugate(9.0, [0, 1, 3]), [1, 1, 0.25])


def test_joules_are_said_only_where_the_card_tells(found, values):
    assert values["descent/energy/ladder/cuda_persistent"] == r"\qty{100}{\milli\joule}"
    assert values["descent/energy/ladder/cublas"] == r"\qty{400}{\milli\joule}"  # of the graph alone
    for column in ("joules", "sustained"):  # without the second what was counted had more in it
        samples = {name: one["samples"].drop(columns=column, errors="ignore") for name, one in found.tables.items()}
        silent = {name: {"samples": one} for name, one in samples.items()}
        assert set(numbers.energy(replace(found, tables=silent)).values()) == {None}


def test_the_waterfall_has_every_rung_of_each_machine_and_no_ratio_of_peers():
    figure = draw("descent_waterfall", tables("descent_waterfall"))
    shown = words(figure)
    assert {"cuda_persistent", "cuda_cluster", "openmp, 1 thread", "cupy_loop", "model", "A read once"} <= set(shown)
    ladder = [text for text in shown if re.match("(openmp|blas|cuda_|cublas)", text)]
    assert len([text for text in shown if "×" in text]) == len(ladder) - 1
    assert "model" in words(draw("descent_waterfall", tables("descent_waterfall"), known={}))


def test_solutions_are_lines_named_where_they_end():
    figure = draw("descent_solution", tables("descent_solution"))
    host, card = figure.axes
    assert {"blas", "scipy_cg", "scipy_cholesky"} <= {text.get_text() for text in host.texts}
    assert {"cuda_persistent", "cusolver", "cupy_cg"} <= {text.get_text() for text in card.texts}
    assert host.get_xlabel() == card.get_xlabel() == "n, κ = 100, tolerance 1e-4"


def test_a_line_that_ends_early_is_named_at_its_end():
    """In the made-up study lines of the host end together: here `blas` ends at n = 4096."""
    asked = tables("descent_solution")
    frame = asked["descent_threads"]["samples"]
    short = {"samples": frame[frame["n"] <= 4096]}
    host, _ = draw("descent_solution", asked | {"descent_threads": asked["descent_threads"] | short}).axes
    named = {text.get_text(): text.xy[0] for text in host.texts}
    assert named["blas"] == 4096
    assert named["scipy_cholesky"] == 1  # of the panel's width


def test_a_vertical_line_is_explained_only_where_there_is_one(found):
    """By the rule Cholesky is overtaken on the host at n = 1000."""
    asked = {name: found.tables[name] for name in query.SOLUTIONS}
    told = "less than Cholesky from here on"
    assert {told, "1000"} <= set(words(draw("descent_solution", asked)))
    frame = asked["descent_direct"]["samples"]
    slower = frame.assign(seconds=frame["seconds"] * 1e6)
    assert told not in words(draw("descent_solution", asked | {"descent_direct": {"samples": slower}}))


def test_convergence_has_a_panel_for_each_condition_with_the_theory_in_it():
    figure = draw("descent_convergence", tables("descent_convergence"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["κ = 10", "κ = 100", "κ = 1000"]
    rate = figure.axes[0].lines[0]
    assert rate.get_ydata()[1] == pytest.approx(9 / 11)
    assert {"steepest descent", "CG", "residual recomputed", "CG, residual recomputed"} <= set(words(figure))
