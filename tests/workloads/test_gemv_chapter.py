"""What the paper says of matrix-vector products, of times made up by rule."""

import math
from dataclasses import replace

import pandas as pd
import pytest

import made_up
import made_up_gemv
from drawings import MACHINES, draw, planned, tables, words
from ladder.report import study as queries
from ladder.report import study as study_of
from ladder.report import verdict_table
from ladder.report.latex import code
from ladder.report.phrases import Missing
from ladder.report.rungs import measured
from ladder.report.study import Study
from ladder.workloads.gemv.paper import break_even, model, numbers, query, rungs, verdicts
from ladder.workloads.gemv.paper import tables as gemv_tables

CONSTANT = ("problem", "model")


@pytest.fixture(scope="module")
def found():
    return made_up_gemv.study()


@pytest.fixture(scope="module")
def values(found):
    return numbers.numbers(found)


def changed(drop=lambda case: False, factor=lambda case: 1.0, machine=made_up_gemv.MACHINE):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_gemv.cases() if not drop(one[1])]
    chosen = [(name, case, seconds * factor(case)) for name, case, seconds in cases]
    return made_up_gemv.study(machine, chosen=chosen)


def on_card(case):
    return "cu" in case.variant


def claims(study):
    return {one.key: one for group in verdicts.verdicts(study).values() for one in group}


def absent(values):
    return {key for key, value in values.items() if value is None or isinstance(value, Missing)}


def test_the_keys_do_not_depend_on_what_was_measured(values):
    assert list(numbers.numbers(changed(drop=on_card))) == list(values)
    nothing = numbers.numbers(Study({}, None))
    assert list(nothing) == list(values)
    assert {key for key in nothing if key.split("/")[1] not in CONSTANT} <= absent(nothing)


def test_a_whole_study_lacks_only_what_is_in_no_product(values):
    """What was sent once, what is no part of a product that stays, and what there is nothing strange about."""
    assert {key for key in absent(values) if not key.startswith("gemv/phases/")} == {
        "gemv/ladder/spread/alone",
        "gemv/machine/apart",
        "gemv/machine/several",
        *(f"gemv/verdicts/nodes/{name}" for name in ("verdict", "now")),
    }
    assert values["gemv/phases/broadcast/longer"] is None
    assert values["gemv/phases/hybrid/over"] is None


def test_rungs_are_compared_by_the_time_of_a_gigabyte(values):
    assert values["gemv/ladder/openmp/against/serial"].startswith(r"is \num{4.0}\,$\times$ as fast as one thread")
    assert values["gemv/ladder/openmp/time"] == r"\qty{25}{\milli\second}"
    assert values["gemv/ladder/openmp/share"] == r"\qty{80}{\percent}"
    assert values["gemv/ladder/coalesced/against/naive"].startswith(r"is \num{2.5}\,$\times$ as fast as")
    assert values["gemv/ladder/nccl-ship/share"] == r"\qty{98}{\percent}"  # of the link
    assert values["gemv/scaling/graph/efficiency"] == r"\qty{100}{\percent}"
    assert values["gemv/scaling/larger/efficiency"] == r"\qty{50}{\percent}"


def test_the_model_tells_what_reading_alone_does_on_as_many_threads(values):
    assert values["gemv/model/threads"] == r"\num{16}"
    assert values["gemv/model/reads"] == values["gemv/model/memory"] == r"\qty{200}{\giga\bytes}"


def test_the_model_counts_passes_links_and_cards():
    rates = model.Rates({4: 100e9}, 4e12, 50e9)
    on_host, on_cards = ({"device": name, "ranks": 4, "threads": float("nan")} for name in ("mpi", "mpi_cuda"))
    assert model.seconds(on_host | {"mode": "resident"}, rates, 1e9) == pytest.approx(1e9 / 100e9)
    assert model.seconds(on_host | {"mode": "ship"}, rates, 1e9) == pytest.approx(3e9 / 100e9)
    assert model.seconds(on_host | {"mode": "ship", "ranks": 2}, rates, 1e9) is None  # of two nothing is known
    sent = {"mode": "ship", "variant": "nccl_cublas"}
    assert model.seconds(on_cards | sent, rates, 1e9) == pytest.approx(1e9 / 50e9)
    assert model.seconds(on_cards | sent | {"variant": "mpi_cublas"}, rates, 1e9) == pytest.approx(1e9 / 200e9)
    assert model.seconds(on_cards | {"mode": "resident"}, rates, 1e9) == pytest.approx(1e9 / 16e12)
    assert model.seconds({"device": "cuda"}, model.Rates(), 1e9) is None


def test_the_bandwidth_is_the_best_of_all_kernels(found):
    """Copies move more bytes here than reading does."""
    faster = {name: dict(one) for name, one in found.tables.items()}
    for name in ("ceiling_bandwidth", "ceiling_gpu_bandwidth"):
        samples = faster[name]["samples"]
        copies = samples[samples["phase"] == "total"].assign(kernel="copy", seconds=lambda rows: rows["seconds"] / 2)
        faster[name]["samples"] = pd.concat([samples, copies])
    plain, best = model.of_study(found), model.of_study(Study(faster, found.subject))
    assert best.memory[4] == pytest.approx(2 * plain.memory[4])
    assert best.card == pytest.approx(2 * plain.card)
    assert best.link == plain.link == pytest.approx(made_up_gemv.LINK)


def test_the_chapter_speaks_of_one_machine_if_one_has_host_and_card():
    assert {one.found.subject for one in query.chosen(Study({}, None))} == {None}
    own = changed(drop=on_card, machine="here")
    assert [one.found.subject for one in query.chosen(own)] == ["here", None, None, None]
    one_card = changed(drop=lambda case: on_card(case) and case.ranks > 1, machine="a (published)")
    every = changed(drop=lambda case: on_card(case) and case.ranks > 2, machine="b (published)")
    most = changed(drop=lambda case: not on_card(case) or case.tuning.get("mode") == "ship", machine="c (published)")
    both = made_up.both(made_up.both(made_up.both(every, most), one_card), own).of("here")
    assert [one.found.subject for one in query.chosen(both)] == ["b (published)"] * 3 + ["c (published)"]
    told = numbers.numbers(both)
    assert told["gemv/machine/host"] == told["gemv/machine/card"] == code("b (published)")
    assert (told["gemv/machine/cards"], told["gemv/machine/count"]) == (code("c (published)"), r"\num{4}")


def test_toy_sizes_decide_nothing():
    kept = [query.SMALL, query.LONG]
    small = changed(
        drop=lambda case: {name: case.sizes[name] for name in ("n", "m")} not in kept and case.sizes["n"] > 2048
    )
    assert {one.answer.verdict for one in claims(small).values()} == {"not tested"}
    assert numbers.numbers(small)["gemv/verdicts/tally/earlier"] is None


def test_the_claims_are_decided_as_the_times_say(found):
    assert {key: one.answer.verdict for key, one in claims(found).items()} == {
        "openmp": "confirmed",
        "dynamic": "refuted",
        "bound": "confirmed",
        "communication": "confirmed",
        "travelling": "confirmed",
        "staying": "confirmed",
        "hybrid": "confirmed",
        "nodes": "not tested",
        "coalesced": "confirmed",
        "shared": "refuted",
        "cublas": "confirmed",
        "cards-over-ranks": "confirmed",
        "card": "confirmed",
        "memory": "confirmed",
        "warp": "confirmed",
        "equal": "confirmed",
        "small": "confirmed",
        "long": "refuted",
        "nccl": "confirmed",
        "link": "confirmed",
        "pieces": "refuted",
        "graph": "confirmed",
        "cards/2": "confirmed",
        "cards/4": "confirmed",
    }


@pytest.mark.parametrize(
    ("key", "verdict", "factor"),
    [
        ("bound", "refuted", lambda case: 1.2 if case.variant == "openmp_bound" else 1.0),
        ("travelling", "refuted", lambda case: 0.4 if case.tuning.get("mode") == "ship" and case.ranks == 4 else 1.0),
        ("staying", "refuted", lambda case: 4.0 if case.tuning.get("mode") == "resident" and case.ranks == 4 else 1.0),
        ("warp", "refuted", lambda case: 1.5 if case.variant == "cuda_warp" else 1.0),
        ("equal", "refuted", lambda case: 1.5 if case.variant == "cuda_warp" else 1.0),
        ("nccl", "refuted", lambda case: 5.0 if case.variant == "nccl_cublas" else 1.0),
        ("graph", "refuted", lambda case: 1.25 if case.tuning.get("graph") == "on" else 1.0),
        ("cards/4", "weaker", lambda case: 1.5 if on_card(case) and case.ranks == 4 else 1.0),
    ],
)
def test_other_times_decide_otherwise(key, verdict, factor):
    assert claims(changed(factor=factor))[key].answer.verdict == verdict


def test_first_touch_is_not_tested_where_no_memory_is_far(found, values):
    about = made_up.description()
    one = replace(found, descriptions={found.subject: about | {"cpu": about["cpu"] | {"NUMA node(s)": "1"}}})
    two = replace(found, descriptions={found.subject: about | {"cpu": about["cpu"] | {"NUMA node(s)": "2"}}})
    untested = claims(one)["bound"]
    assert untested.answer.verdict == "not tested"
    assert verdict_table.cause(untested) == "needs several memory nodes"
    assert numbers.numbers(one)["gemv/ladder/spread/alone"].startswith(r"\num{1.2}")
    assert claims(two)["bound"].answer.verdict == claims(found)["bound"].answer.verdict == "confirmed"
    assert values["gemv/ladder/spread/alone"] is None
    unmeasured = replace(changed(drop=lambda case: case.variant == "openmp_bound"), descriptions=one.descriptions)
    assert verdict_table.cause(claims(unmeasured)["bound"]) == "needs both rungs"


def test_communication_is_far_longer_from_twice_the_computation_on():
    """The phases, not the calls, decide it."""
    for share, verdict in ((1.0, "confirmed"), (0.25, "weaker"), (0.1, "refuted")):
        study = changed(drop=on_card)
        samples = study.tables[query.RANKS]["samples"]
        samples.loc[samples["phase"] == "scatter", "seconds"] *= share
        assert claims(study)["communication"].answer.verdict == verdict


def test_ranks_of_one_node_say_nothing_of_several():
    study = changed(drop=on_card)
    samples = study.tables[query.RANKS]["samples"]
    study.tables[query.RANKS]["samples"] = samples.assign(nodes=samples["ranks"].fillna(1).clip(upper=2))
    assert claims(study)["nodes"].answer.verdict == "confirmed"


def test_the_configuration_measures_what_the_chapter_asks_for():
    names = [name for name in planned() if name.startswith("gemv_")]
    chosen = [(name, case, 1e-3 / case.cores) for name in names for case in planned()[name]]
    every = made_up_gemv.study(chosen=chosen)
    untested = {key for key, one in claims(every).items() if one.answer.found is None}
    assert untested <= {"nodes", "memory"}  # of as many threads no ceiling is made up


def test_phases_that_do_not_add_up_to_the_call_are_no_parts_of_it(found):
    machine = query.chosen(found).host
    rows = rungs.changed("ship", machine.ranks)
    assert list(query.parts(rows, machine.phases)) == list(query.PHASES)
    assert sum(query.parts(rows, machine.phases).values()) == pytest.approx(study_of.middle(rows), rel=0.01)
    doubled = machine.phases.assign(seconds=2 * machine.phases["seconds"])
    assert query.parts(rows, doubled) == {}
    assert query.together(rows, doubled) == pytest.approx(2, rel=0.01)
    resident = rungs.changed("resident", machine.ranks)
    assert "scatter" not in query.parts(resident, machine.phases)
    overlapping = query.communication(rungs.changed("nccl-ship", machine.cards, chunks=4), machine.phases)
    assert overlapping is None


@pytest.mark.slow
def test_phases_beyond_the_call_are_not_drawn():
    shown = tables("gemv_phases")
    sent = [axes for axes in draw("gemv_phases", shown).axes if "sent every time" in axes.get_title(loc="left")]
    assert len(sent) == 2
    assert all(axes.patches for axes in sent)
    for name in (query.RANKS, query.CARDS, query.LARGE):
        samples = shown[name]["samples"].copy()
        samples.loc[samples["phase"] != "total", "seconds"] *= 3
        shown[name]["samples"] = samples
    figure = draw("gemv_phases", shown)
    assert not any(patch.get_width() for axes in figure.axes for patch in axes.patches)
    assert "whole call" in words(figure)


def pays(found, other, factor=1.0):
    """After how many products ranks pay against another line, of calls that take so many times as long."""
    machine = query.chosen(found).host
    rows, against = rungs.changed("resident", machine.ranks), other(machine.ranks)
    return break_even.after(rows.assign(seconds=rows["seconds"] * factor), machine.phases, against)


def test_the_sending_pays_once_the_products_have_saved_as_much(found):
    """It takes one and a half times a product on one rank, of which each on four saves three quarters."""

    def one(frame):
        return rungs.changed("resident", frame, ranks=1)

    due = pays(found, one)
    assert due.value == pytest.approx(2, rel=0.01)
    assert 1.9 < due.low <= due.value <= due.high < 2.1
    assert pays(found, one, 4.5).value == math.inf
    assert break_even.prose(pays(found, one, 4.5), "one rank") == "never pays against one rank"
    assert pays(found, lambda frame: rungs.changed("openmp", frame)).value is None  # as fast as four ranks
    assert pays(found, lambda frame: queries.NO_ROWS) is None
    machine = query.chosen(found).host
    phases = machine.phases.assign(seconds=1e-9)
    assert break_even.after(rungs.changed("resident", machine.ranks), phases, one(machine.ranks)).value == 0


def test_tunings_of_lines_are_fixed_beforehand(found):
    machine = query.chosen(found).cards
    assert set(rungs.changed("nccl", machine.large)["chunks"]) == {1}
    assert set(rungs.changed("graph", machine.large)["graph"]) == {"on"}
    assert "on" not in set(rungs.changed("nccl", machine.large)["graph"])
    labels = [line.label(rows) for line, rows in measured([one.line for one in rungs.LINES.values()], machine.ladder)]
    assert labels[0] == "openmp, 1 thread"
    assert {"openmp_bound, spread, 4 threads", "mpi, ship, 4 ranks", "mpi_openmp, resident, 2 × 8 threads"} < set(
        labels
    )
    assert labels[-1] == "nccl_cublas, resident, graph, 4 cards"


def test_the_tables_hold_every_rung_claim_and_case(found):
    made = gemv_tables.tables(found)
    assert made["ladder"].count(" \\\\\n") == 1 + len(rungs.LINES)
    assert made["verdicts"].count(" \\\\\n") == 1 + len(claims(found))
    assert made["break_even"].count(" \\\\\n") == 1 + 2
    assert made["threads"].count(" \\\\\n") == 1 + 2 * len(made_up_gemv.ON_THREADS)
    assert made["ranks"].count("mpi") == 2 * (2 * 3 + 2)
    assert "1, graph" in made["cards"]
    empty = gemv_tables.tables(Study({}, None))
    assert all("no measurement" in text for name, text in empty.items() if name != "verdicts")


def test_the_figures_name_variants_as_the_code_does():
    shown = words(draw("gemv_waterfall", tables("gemv_waterfall")))
    assert {"openmp, 1 thread", "cuda_warp, 1 card", "model", "memory of all cards"} <= set(shown)
    shown = words(draw("gemv_scaling", tables("gemv_scaling")))
    assert {"openmp_bound, spread", "mpi, ship", "nccl_cublas, graph", "bandwidth"} <= set(shown)


@pytest.mark.slow
def test_figures_speak_of_the_chapters_machine_alone():
    for name in ("gemv_waterfall", "gemv_scaling", "gemv_phases"):
        shown = " ".join(words(draw(name, tables(name, MACHINES[:2]))))
        assert MACHINES[0] in shown
        assert MACHINES[1] not in shown
