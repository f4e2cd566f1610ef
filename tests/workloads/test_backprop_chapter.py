"""The chapter on back-propagation, told of made-up times."""

from dataclasses import replace

import pytest

import made_up
import made_up_backprop
from drawings import draw, planned, tables, words
from ladder.report import chapters, texts
from ladder.report import study as queries
from ladder.report.latex import code
from ladder.report.study import Study
from ladder.report.telling import chapter_study, functions, ladder
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured, parts
from ladder.report.telling.lines import select
from ladder.workloads.backprop import RUNGS
from ladder.workloads.backprop.paper import model, text, varied
from ladder.workloads.backprop.paper.lines import BLOCKS, CHANGES, FIGURE, LINES, OTHER, SIZE, STEPS, block_of
from ladder.workloads.backprop.paper.waterfall import COLOURS

TUNED = select("tuned", threads=1)


@pytest.fixture(scope="module")
def found():
    return made_up_backprop.study()


@pytest.fixture(scope="module")
def study(found):
    return of(found)


@pytest.fixture(scope="module")
def ask(study):
    return functions.of_chapter(study)


def of(found):
    """The chapter's study."""
    return chapter_study.of_chapter("backprop", found)


def changed(drop=lambda case: False, factor=lambda case: 1.0, machine=made_up_backprop.MACHINE):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_backprop.cases() if not drop(one[1])]
    chosen = [(name, case, seconds * factor(case)) for name, case, seconds in cases]
    return made_up_backprop.study(machine, chosen=chosen)


def on_card(case):
    return "cu" in case.variant


def claims(found):
    return {one.key: one for group in chapter_claims.verdicts(of(found)).values() for one in group}


def text_of(found):
    """The text of the chapter, rendered, on one line."""
    chapter = next(one for one in chapters.chapters() if one.workload == "backprop")
    return " ".join(texts.rendered_chapter(chapter, found)["text"].split())


def test_a_text_without_measurements_says_so_and_has_no_gaps():
    told = text_of(Study({}, None))
    assert "No machine has measured the full size" in told
    assert "No claim of the earlier study was tested" in told
    assert not any(sign in told for sign in ("nomeasurement", "<<", "<%", "None"))


def test_a_whole_study_is_told_whole(found):
    told = text_of(found)
    assert "no measurement" not in told.replace("nomeasurement", "no measurement")
    assert "not measured" not in told
    assert code(made_up_backprop.MACHINE) in told
    assert "the efficiency of" not in told  # of a host with more cores


def test_a_host_with_more_cores_is_told_beside_the_chapters(found):
    """Eight times as many threads, of which each does half as much."""
    wider = [
        (name, replace(case, tuning=case.tuning | {"threads": 8 * case.tuning["threads"]}), seconds / 4)
        for name, case, seconds in made_up_backprop.cases()
        if case.tuning.get("threads", 1) > 1 and case.variant in ("tuned", "openmp")
    ]
    one = [each for each in made_up_backprop.cases() if each[1].tuning.get("threads") == 1]
    told = text_of(made_up.both(found, made_up_backprop.study("wide", chosen=one + wider)))
    half = r"\qty{50}{\percent}"
    assert rf"On \num{{32}} threads of \texttt{{wide}}, the efficiency of \code{{tuned}} is {half}." in told
    assert rf"On \num{{16}} threads it is {half}. \code{{openmp}} reaches {half}" in told
    assert "The best product" not in told
    assert r"On \texttt{wide}, it is \num{16}" in told


def test_rungs_are_compared_on_equally_many_threads(ask):
    assert ask["time"]("before") == r"\qty{40}{\second}"
    pairs = [
        ("before", "loop_order", "10"),
        ("before", TUNED, "160"),
        ("all flags", TUNED, "5.7"),
        (select("pytorch", threads=1), TUNED, "2.0"),
        (select("by hand", threads=1), TUNED, "1.6"),
        ("numpy_loop", "tuned", "2.5"),
        ("pytorch_cuda", "cuda_fused", "1.5"),
        ("serial", "tasks", "4.0"),
    ]
    for slower, faster, ratio in pairs:
        assert ask["speedup"](slower, faster).startswith(rf"\num{{{ratio}}}\,$\times$"), (slower, faster)
    assert (ask["efficiency"]("openmp", "threads"), ask["count"]("openmp", "threads")) == (
        r"\qty{100}{\percent}",
        r"\num{4}",
    )


def test_the_floor_is_the_products_at_the_best_rate_and_two_readings(study, ask, monkeypatch):
    micro = r"\qty{%d}{\micro\second}"
    assert (ask["predicted_time"]("cuda_fused"), ask["predicted_time"]("tf32")) == (micro % 310, micro % 110)
    monkeypatch.setattr(model.rates, "products", lambda *_, **__: 50e12)
    monkeypatch.setattr(model.rates, "card_bandwidth", lambda found: 4.4e12)
    row = study.rows("cuda_fused").iloc[0]
    floor = model.floor(study.machine("card"), row)
    assert floor == pytest.approx(row["flops"] / 50e12 + 2 * 60000 * 784 * 4 / 4.4e12)
    assert study.predicted("cuda_fused") == floor
    assert ask["share"]("cuda_fused") == r"\qty{77}{\percent}"
    monkeypatch.setattr(model.rates, "card_bandwidth", lambda found: None)
    assert model.floor(study.machine("card"), row) is None


def test_shares_of_blocks_are_those_of_the_phases(study, ask):
    assert ask["phase_share"]("before", "weight change") == r"\qty{40}{\percent}"
    assert block_of("7 first change") == "weight change"
    assert block_of("2 output products") == "products"
    assert block_of("something else") == OTHER
    rows, phases = study.rows("before"), study.phases("before")
    assert sum(parts(rows, phases).values()) == pytest.approx(40, rel=0.01)
    assert parts(rows, phases.assign(seconds=2 * phases["seconds"])) == {}
    kernels = parts(study.rows("cuda_kernels"), study.phases("cuda_kernels"))
    assert set(kernels) == {"products", "weight change", "update"}  # not what flattens


def test_the_chapter_speaks_of_one_machine_if_one_has_both_host_and_card():
    def machines(found):
        return [of(found).machine(role).subject for role in ("host", "card")]

    assert machines(Study({}, None)) == [None, None]
    own = changed(drop=on_card, machine="here")
    other = made_up_backprop.study("there (published)")
    assert machines(own) == ["here", None]
    assert machines(made_up.both(other, own).of("here")) == ["there (published)"] * 2
    no_host = changed(drop=lambda case: not on_card(case), machine="there (published)")
    nothing = {name: dict.fromkeys(tables, queries.NO_ROWS) for name, tables in no_host.tables.items()}
    apart = made_up.both(replace(own, tables=nothing | own.tables), no_host)
    assert machines(apart) == ["here", "there (published)"]
    assert "those of the GPU from" in text_of(apart)
    assert claims(apart)["floor"].answer.ratio is not None


def test_toy_sizes_decide_nothing():
    small = changed(drop=lambda case: case.sizes["images"] == 60000)
    assert {one.answer.verdict for one in claims(small).values()} == {"not tested"}
    with pytest.raises(NotMeasured):
        functions.tally(of(small), "earlier")


REFUTED = {"weight-change", "technique/fusion", "technique/associativity", "flags-alone", "atomic-error", "schedule"}
REFUTED |= {"simd", "constant", "texture", *(f"bounds/{name}" for name in STEPS)}


def test_the_claims_are_decided_as_the_times_say(found):
    verdicts = {key: one.answer.verdict for key, one in claims(found).items()}
    assert len(verdicts) == 26
    assert {key for key, verdict in verdicts.items() if verdict == "refuted"} == REFUTED
    assert {verdict for key, verdict in verdicts.items() if key not in REFUTED} == {"confirmed"}


@pytest.mark.parametrize(
    ("key", "verdict", "factor"),
    [
        ("loop-order", "weaker", lambda case: 0.2 if case.variant == "before" else 1.0),
        ("whole", "refuted", lambda case: 0.01 if case.variant == "before" else 1.0),
        ("bounds/fusion", "confirmed", lambda case: 2.0 if case.tuning.get("flags") == "bounds" else 1.0),
        ("peer/pytorch", "refuted", lambda case: 0.6 if case.tuning.get("gradients") == "by_hand" else 1.0),
        ("flags-alone", "confirmed", lambda case: 0.5 if case.tuning.get("flags") == "all" else 1.0),
        ("schedule", "confirmed", lambda case: 0.5 if case.tuning.get("schedule") == "dynamic" else 1.0),
        ("texture", "confirmed", lambda case: 2.0 if case.tuning.get("tables") == "global" else 1.0),
        ("hundredfold", "weaker", lambda case: 2.0 if case.variant == "tuned" else 1.0),
        ("floor", "refuted", lambda case: 3.0 if case.variant == "cuda_fused" else 1.0),
        ("fused", "weaker", lambda case: 1.3 if case.variant == "cuda_fused" else 1.0),
    ],
)
def test_other_times_decide_otherwise(key, verdict, factor):
    assert claims(changed(factor=factor))[key].answer.verdict == verdict


def test_causes_name_all_that_a_ratio_rests_on(found):
    """A gain of 160 is that of loops and flags times that of tiles; the peer's usual form stands beside its best."""
    causes = {key: one.cause for key, one in claims(found).items()}
    assert causes["hundredfold"] == r"loops, flags: \num{28}\,$\times$, tiles: \num{5.7}\,$\times$"
    assert causes["peer/pytorch"] == r"by autograd: \num{2.0}\,$\times$"
    assert causes["weight-change"] == r"the products: \num{0.67}\,$\times$"


def test_without_a_case_its_claims_are_not_tested():
    without = claims(changed(drop=lambda case: case.variant in ("tuned", "cuda_kernels")))
    untested = {key for key, one in without.items() if one.answer.verdict == "not tested"}
    assert untested == {"hundredfold", "peer/numpy_loop", "peer/pytorch", "shared", "constant", "texture", "emulated"}


def test_the_configuration_measures_what_the_chapter_asks_for():
    """Of the whole study on a machine with a GPU no claim is left untested, and no sentence is missing."""
    names = [name for name in planned() if name.startswith("backprop_")]
    chosen = [(name, case, 1e-3 * case.sizes["images"] / 60000) for name in names for case in planned()[name]]
    every = made_up_backprop.study(chosen=chosen)
    assert {key for key, one in claims(every).items() if one.answer.ratio is None} == set()
    for key in LINES:
        assert len(of(every).find(key)), key
    assert len(text_of(every).split(". ")) >= len(text_of(made_up_backprop.study()).split(". "))


def test_what_is_changed_is_compared_with_a_base_on_as_many_threads(study):
    for line, values in CHANGES.items():
        assert len(varied.measured(study, line)) == sum(map(len, values.values())), line
    found = made_up_backprop.study()
    samples = found.tables["backprop_openmp"]["samples"]
    samples["threads"] = samples["threads"].where(samples["schedule"] != "static", 4)
    assert [name for name, *_ in varied.measured(of(found), "openmp")] == ["error", "update", "update", "simd"]
    assert claims(found)["schedule"].answer.ratio is None
    assert varied.measured(of(Study({}, None)), "openmp") == []


def test_an_error_is_reached_at_the_first_epoch_below_it(study, ask, monkeypatch):
    assert ask["epochs_to_error"]() == r"\num{3}"  # by the rule 1 / epoch
    assert ask["time_to_error"](select("numpy_loop", "learning")) == r"\qty{120}{\milli\second}"
    monkeypatch.setattr(text, "ERROR", 1 / 200)
    assert text.epochs_to_error(study) is None


def test_the_model_counts_lines_lanes_and_the_second_cache(monkeypatch):
    monkeypatch.setattr(model.rates, "products", lambda *_, **__: 1e11)
    monkeypatch.setattr(model.rates, "bandwidths", lambda found: dict.fromkeys((1, 4), 1e10))
    monkeypatch.setattr(model.rates, "card_bandwidth", lambda found: 1e10)
    monkeypatch.setattr(model.rates, "multiply_adds", lambda *_: 6e13)

    def seconds(variant, device="host", threads=1, flags="O2"):
        row = SIZE | {"flops": 2e9, "variant": variant, "flags": flags, "device": device}
        return model.predict(None, row | {"threads_found": threads, "precision": "float32"})

    assert seconds("before") == pytest.approx(1e9 * 128 / 1e10)
    assert seconds("fusion") == pytest.approx(16 * 2e9 / 1e11)
    cached = 3 * 60000 * 45846 * 4 / 1e11
    assert seconds("fusion", flags="all") == pytest.approx(cached)
    assert seconds("openmp", threads=4) == pytest.approx(cached / 4)
    assert seconds("tuned") == pytest.approx(2e9 / 1e11 + 60000 * 784 * 4 / 1e10)
    assert seconds("cuda", "cuda") == pytest.approx(2e9 / 1e11 + 60000 * (2 * 784 + 6 * 94) * 4 / 1e10)
    assert seconds("cuda_kernels", "cuda") == pytest.approx(8 * 2e9 / 6e13)
    monkeypatch.setattr(model.rates, "multiply_adds", lambda *_: None)
    assert seconds("cuda_kernels", "cuda") is None
    assert seconds("pytorch") is None


def test_every_rung_is_drawn_where_it_was_measured(study):
    assert {LINES[key].variant for key in FIGURE} == set(RUNGS)
    assert {one.variant for one in LINES.values() if one.is_peer} == {
        name for name, idea in RUNGS.items() if idea.startswith("peer: ")
    }
    rungs = ladder.rungs_of(study, study.machine("host"), COLOURS)
    labels = [one.label for one in rungs]
    assert labels[0] == "before"
    assert {"associativity, flags=all", "openmp, 4 threads", "cuda_fused, tf32"} <= set(labels)
    peers = ["numpy_loop, 4 threads", "pytorch, 4 threads", "pytorch, by_hand, 4 threads", "pytorch_cuda"]
    assert [one.label for one in rungs if one.is_peer] == [*peers, "pytorch_cuda, tf32"]
    order = list(COLOURS)
    assert all(list(one.parts) == sorted(one.parts, key=order.index) for one in rungs)


def test_the_tables_hold_every_rung_claim_loop_and_kernel(found, monkeypatch):
    one = [chapter for chapter in chapters.chapters() if chapter.workload == "backprop"]
    monkeypatch.setattr(chapters, "chapters", lambda: one)
    made = chapters.tables(found)
    rows = {name: table.count(" \\\\\n") - 1 for name, table in made.items()}
    assert rows == {
        "backprop_ladder": len(FIGURE),
        "backprop_verdicts": len(claims(found)),
        "backprop_flags": len(made_up_backprop.LOOPS),
        "backprop_kernels": 11,
    }
    assert "flatten" not in made["backprop_kernels"]
    empty = chapters.tables(Study({}, None))
    assert all("no measurement" in empty[f"backprop_{name}"] for name in ("ladder", "flags", "kernels"))
    assert empty["backprop_verdicts"].count("not tested") == len(claims(found))


def test_the_figures_show_every_rung_block_flag_and_update():
    shown = set(words(draw("backprop_waterfall", tables("backprop_waterfall"))))
    assert {"before", "associativity, flags=all", "cuda_fused, tf32", "model", "products and images alone"} <= shown
    assert set(COLOURS) == {*BLOCKS.values(), OTHER}
    shown = set(words(draw("backprop_host", tables("backprop_host"))))
    assert {"O2", "O3, native", "all of them", "best product"} <= shown
    assert {"openmp, sums", "openmp, owners", "openmp, atomic", "tuned", "pytorch", "pytorch, by hand"} <= shown


def test_variations_stand_in_a_panel_of_the_host_and_one_of_the_card():
    figure = draw("backprop_variations", tables("backprop_variations"))
    host, card = figure.axes
    assert host.get_title(loc="left").startswith("openmp, ")
    assert card.get_title(loc="left") == "cuda_kernels"
    assert "update: atomic" in [label.get_text() for label in host.get_yticklabels()]
    assert "cuda_flat: walk" in [label.get_text() for label in card.get_yticklabels()]
    without = draw("backprop_variations", tables("backprop_variations", drop=("cuda_kernels", "cuda_flat")))
    assert len(without.axes) == 1
