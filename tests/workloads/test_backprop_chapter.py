"""What the paper says of back-propagation, of times made up by rule."""

import re
from dataclasses import replace

import pytest

import made_up
import made_up_backprop
from drawings import draw, planned, tables, words
from ladder.report import study as queries
from ladder.report.latex import code
from ladder.report.phrases import Missing
from ladder.report.rungs import measured
from ladder.report.study import Study
from ladder.workloads.backprop import RUNGS
from ladder.workloads.backprop.paper import learning, model, numbers, query, rungs, varied, verdicts, waterfall
from ladder.workloads.backprop.paper import tables as backprop_tables

CONSTANT = ("problem", "earlier", "model")
SIZE = query.SIZE | {"flops": 2e9}


@pytest.fixture(scope="module")
def found():
    return made_up_backprop.study()


@pytest.fixture(scope="module")
def values(found):
    return numbers.numbers(found)


def changed(drop=lambda case: False, factor=lambda case: 1.0, machine=made_up_backprop.MACHINE):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_backprop.cases() if not drop(one[1])]
    chosen = [(name, case, seconds * factor(case)) for name, case, seconds in cases]
    return made_up_backprop.study(machine, chosen=chosen)


def on_card(case):
    return "cu" in case.variant


def claims(study):
    return {one.key: one for group in verdicts.verdicts(study).values() for one in group}


def test_the_keys_do_not_depend_on_what_was_measured(values):
    assert list(numbers.numbers(changed(drop=on_card))) == list(values)
    nothing = numbers.numbers(Study({}, None))
    assert list(nothing) == list(values)
    for key, value in nothing.items():
        if key.split("/")[1] not in CONSTANT:
            assert value is None or isinstance(value, Missing), key


def test_a_whole_study_lacks_nothing_but_a_second_machine(values):
    missing = [key for key, value in values.items() if value is None or isinstance(value, Missing)]
    assert missing == ["backprop/machine/apart", *(key for key in values if key.startswith("backprop/cores/"))]


def test_a_host_with_more_cores_is_told_beside_the_chapters(found):
    """Eight times as many threads, of which each does half as much."""
    wider = [
        (name, replace(case, tuning=case.tuning | {"threads": 8 * case.tuning["threads"]}), seconds / 4)
        for name, case, seconds in made_up_backprop.cases()
        if case.tuning.get("threads", 1) > 1 and case.variant in ("tuned", "openmp")
    ]
    one = [each for each in made_up_backprop.cases() if each[1].tuning.get("threads") == 1]
    told = numbers.numbers(made_up.both(found, made_up_backprop.study("wide", chosen=one + wider)))
    assert told["backprop/cores/machine"] == r"\texttt{wide}"
    assert (told["backprop/cores/half/threads"], told["backprop/cores/most/threads"]) == (r"\num{16}", r"\num{32}")
    assert told["backprop/cores/half/tuned"] == told["backprop/cores/most/openmp"] == r"\qty{50}{\percent}"
    assert told["backprop/cores/most/products"] is None
    assert told["backprop/cores/atomic"].startswith(r"takes \num{16}")


def test_rungs_are_compared_on_equally_many_threads(values):
    assert values["backprop/ladder/before/time"] == r"\qty{40}{\second}"
    assert values["backprop/ladder/loop_order/against/before"].startswith(r"is \num{10}\,$\times$ as fast as")
    assert values["backprop/ladder/tuned/one/against/before"].startswith(r"is \num{160}\,$\times$ as fast as")
    assert values["backprop/ladder/tuned/one/against/pytorch/one"].startswith(r"is \num{2.0}\,$\times$ as fast as")
    assert values["backprop/ladder/tuned/one/against/pytorch/by_hand/one"].startswith(r"is \num{1.6}\,$\times$ as fast")
    assert values["backprop/steps/tiles"].startswith(r"\num{5.7}")
    assert values["backprop/ladder/tuned/against/numpy_loop"].startswith(r"is \num{2.5}\,$\times$ as fast as")
    assert values["backprop/ladder/cuda_fused/against/pytorch_cuda"].startswith(r"is \num{1.5}\,$\times$ as fast as")
    assert values["backprop/threads/openmp/efficiency"] == r"\qty{100}{\percent}"
    assert values["backprop/threads/openmp/most"] == r"\num{4}"
    assert values["backprop/reading/tasks"].startswith(r"is \num{4.0}\,$\times$ as fast as")


def test_the_floor_is_the_products_at_the_best_rate_and_two_readings(found, values):
    (row,) = rungs.line("cuda_fused").rows(query.chosen(found)[1].ladder).iloc[:1].to_dict("records")
    least = model.floor(row, model.Rates(50e12, 4.4e12))
    assert least == pytest.approx(row["flops"] / 50e12 + 2 * 60000 * 784 * 4 / 4.4e12)
    (share,) = re.findall(r"\d+", values["backprop/ladder/cuda_fused/share"])
    assert int(share) == pytest.approx(100 * least / 0.4e-3, abs=1)
    assert model.floor(row, model.Rates(50e12)) is None
    assert (values["backprop/ladder/floor"], values["backprop/ladder/floor/tf32"]) == (
        r"\qty{310}{\micro\second}",
        r"\qty{110}{\micro\second}",
    )


def test_shares_of_blocks_are_those_of_the_phases(values):
    assert values["backprop/blocks/weight-change"] == r"\qty{40}{\percent}"
    assert query.block_of("7 first change") == "weight change"
    assert query.block_of("2 output products") == "products"
    assert query.block_of("something else") == query.OTHER


def test_phases_that_do_not_add_up_to_the_call_are_no_decomposition(found):
    machine = query.chosen(found)[0]
    rows = rungs.line("before").rows(machine.ladder)
    assert sum(query.blocks(rows, machine.phases).values()) == pytest.approx(40, rel=0.01)
    assert query.blocks(rows, machine.phases.assign(seconds=2 * machine.phases["seconds"])) == {}
    kernels = rungs.line("cuda_kernels").rows(machine.ladder)
    assert set(query.blocks(kernels, machine.phases)) == {"products", "weight change", "update"}  # not what flattens


def test_the_chapter_speaks_of_one_machine_if_one_has_both_host_and_card():
    host, card = query.chosen(Study({}, None))
    assert host.found.subject is None
    assert card.found.subject is None
    own = changed(drop=on_card, machine="here")
    other = made_up_backprop.study("there (published)")
    both = made_up.both(other, own).of("here")
    assert [one.found.subject for one in query.chosen(own)] == ["here", None]
    assert [one.found.subject for one in query.chosen(both)] == ["there (published)"] * 2
    no_host = changed(drop=lambda case: not on_card(case), machine="there (published)")
    nothing = {name: dict.fromkeys(found, queries.NO_ROWS) for name, found in no_host.tables.items()}
    apart = made_up.both(replace(own, tables=nothing | own.tables), no_host)
    assert [one.found.subject for one in query.chosen(apart)] == ["here", "there (published)"]
    said = numbers.numbers(apart)
    assert "there" in said["backprop/machine/apart"]
    assert not isinstance(said["backprop/verdicts/floor/verdict"], Missing)


def test_toy_sizes_decide_nothing():
    small = changed(drop=lambda case: case.sizes["images"] == 60000)
    assert {one.answer.verdict for one in claims(small).values()} == {"not tested"}
    assert numbers.numbers(small)["backprop/verdicts/tally/earlier"] is None


def test_the_claims_are_decided_as_the_times_say(found):
    decided = {key: one.answer.verdict for key, one in claims(found).items()}
    assert decided == {
        "weight-change": "refuted",
        "loop-order": "confirmed",
        "whole": "confirmed",
        "technique/temporaries": "confirmed",
        "technique/fusion": "refuted",
        "technique/associativity": "refuted",
        "flags-alone": "refuted",
        "bounds/loop_order": "refuted",
        "bounds/temporaries": "refuted",
        "bounds/fusion": "refuted",
        "bounds/associativity": "refuted",
        "atomic-update": "confirmed",
        "atomic-error": "refuted",
        "schedule": "refuted",
        "simd": "refuted",
        "tasks": "confirmed",
        "index": "confirmed",
        "shared": "confirmed",
        "constant": "refuted",
        "texture": "refuted",
        "emulated": "confirmed",
        "hundredfold": "confirmed",
        "peer/numpy_loop": "confirmed",
        "peer/pytorch": "confirmed",
        "fused": "confirmed",
        "floor": "confirmed",
    }


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


def test_the_flag_for_bounds_checks_is_told_of_every_rung_that_has_it(values):
    told = values["backprop/flags/bounds"]
    assert [told.count(f"for {code(name)}") for name in verdicts.STEPS] == [1] * len(verdicts.STEPS)


def test_without_a_case_its_claims_are_not_tested():
    without = claims(changed(drop=lambda case: case.variant in ("tuned", "cuda_kernels")))
    untested = {key for key, one in without.items() if one.answer.verdict == "not tested"}
    assert untested == {"hundredfold", "peer/numpy_loop", "peer/pytorch", "shared", "constant", "texture", "emulated"}


def test_the_configuration_measures_what_the_chapter_asks_for():
    """Of the whole study on a machine with a card no claim is left untested, and no number is missing."""
    names = [name for name in planned() if name.startswith("backprop_")]
    chosen = [(name, case, 1e-3 * case.sizes["images"] / 60000) for name in names for case in planned()[name]]
    every = made_up_backprop.study(chosen=chosen)
    assert {key for key, one in claims(every).items() if one.answer.found is None} == set()
    missing = [key for key, value in numbers.numbers(every).items() if value is None or isinstance(value, Missing)]
    assert {key for key in missing if not key.startswith("backprop/cores/")} == {"backprop/machine/apart"}


def test_what_is_changed_is_compared_with_a_base_on_as_many_threads(found):
    frame = query.chosen(found)[0].varied
    pairs = varied.OPENMP.pairs(frame)
    assert len(pairs) == sum(map(len, varied.OPENMP.others.values()))
    more = frame.assign(threads=frame["threads"].where(frame["schedule"] != "static", 4))
    assert [name for name, *_ in varied.OPENMP.pairs(more)] == ["error", "update", "update", "simd"]
    assert varied.OPENMP.pairs(queries.NO_ROWS) == []
    assert len(varied.KERNELS.pairs(frame)) == sum(map(len, varied.KERNELS.others.values()))


def test_an_error_is_reached_at_the_first_epoch_below_it(found, values):
    (curve,) = [curve for name, (_, curve) in learning.cases(query.chosen(found)[0]).items() if name == "tuned"]
    assert learning.epochs_to(curve, 6000) == 3  # by the rule 1 / epoch
    assert learning.epochs_to(curve, 6000, error=1 / 200) is None
    assert values["backprop/learning/epochs"] == r"\num{3}"
    assert values["backprop/learning/numpy_loop/time"] == r"\qty{120}{\milli\second}"


def test_the_model_counts_lines_lanes_and_the_second_cache():
    row = SIZE | {"variant": "before", "flags": "O2"}
    rates = model.Rates(1e11, 1e10, 6e13)
    assert model.seconds(row, rates) == pytest.approx(1e9 * 128 / 1e10)
    row["variant"] = "fusion"
    assert model.seconds(row, rates) == pytest.approx(16 * 2e9 / 1e11)
    row["flags"] = "all"
    cached = 3 * 60000 * 45846 * 4 / 1e11
    assert model.seconds(row, rates) == pytest.approx(cached)
    assert model.seconds(row | {"variant": "openmp"}, rates, threads=4) == pytest.approx(cached / 4)
    assert model.seconds(row | {"variant": "cuda_kernels"}, rates) == pytest.approx(8 * 2e9 / 6e13)
    assert model.seconds(row | {"variant": "cuda_kernels"}, model.Rates(1e11, 1e10)) is None
    assert model.seconds(row | {"variant": "pytorch"}, rates) is None


def test_every_rung_has_what_it_relieves_and_is_drawn_where_it_was_measured(found):
    assert set(rungs.RELIEVES) == {name for name, idea in RUNGS.items() if not idea.startswith("peer: ")}
    assert {one.variant for one in rungs.LINES} == set(RUNGS)
    shown = measured(rungs.LINES, query.chosen(found)[0].ladder)
    labels = [one.label(rows) for one, rows in shown]
    assert labels[0] == "before"
    assert {"associativity, all flags", "openmp, 4 threads", "cuda_fused, TF32"} <= set(labels)
    peers = [label for (one, _), label in zip(shown, labels, strict=True) if one.is_peer]
    assert peers[:3] == ["numpy_loop, 4 threads", "pytorch, 4 threads", "pytorch, 4 threads, by hand"]
    assert peers[3:] == ["pytorch_cuda", "pytorch_cuda, TF32"]


def test_the_tables_hold_every_rung_claim_loop_and_kernel(found):
    made = backprop_tables.tables(found)
    for name in RUNGS:
        assert re.search(rf"texttt\{{{name}\}}".replace("_", r"\\_\\allowbreak{}"), made["ladder"])
    for idea in rungs.IDEAS.values():
        assert made["ladder"].count(idea) == (2 if "TF32" in idea else 1)
    assert made["verdicts"].count(" \\\\\n") == 1 + len(claims(found))
    assert made["flags"].count(" \\\\\n") == 1 + len(made_up_backprop.LOOPS)
    assert made["kernels"].count(" \\\\\n") == 1 + 11
    assert "flatten" not in made["kernels"]
    empty = backprop_tables.tables(Study({}, None))
    assert all("no measurement" in empty[name] for name in ("ladder", "flags", "kernels"))
    assert empty["verdicts"].count("not tested") == len(claims(found))


def test_the_waterfall_has_every_rung_and_the_shares_of_its_blocks():
    figure = draw("backprop_waterfall", tables("backprop_waterfall"))
    shown = words(figure)
    assert {"before", "associativity, all flags", "cuda_fused, TF32", "model", "products and images alone"} <= set(
        shown
    )
    assert set(waterfall.COLOURS) == {*query.BLOCKS.values(), query.OTHER}


def test_the_figure_of_the_host_has_a_mark_for_all_flags_and_a_line_for_every_update():
    shown = words(draw("backprop_host", tables("backprop_host")))
    assert {"O2", "O3, native", "all of them", "best product"} <= set(shown)
    assert {"openmp, sums", "openmp, owners", "openmp, atomic", "tuned", "pytorch", "pytorch, by hand"} <= set(shown)


def test_variations_stand_in_a_panel_of_the_host_and_one_of_the_card():
    figure = draw("backprop_variations", tables("backprop_variations"))
    host, card = figure.axes
    assert host.get_title(loc="left").startswith("openmp, ")
    assert card.get_title(loc="left") == "cuda_kernels"
    assert "update: atomic" in [text.get_text() for text in host.get_yticklabels()]
    assert "cuda_flat: walk" in [text.get_text() for text in card.get_yticklabels()]
    without = draw("backprop_variations", tables("backprop_variations", drop=("cuda_kernels", "cuda_flat")))
    assert len(without.axes) == 1
