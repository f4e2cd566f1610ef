"""What the paper says of matrix-vector products, of times made up by rule."""

import math
from dataclasses import replace

import pandas as pd
import pytest

import made_up
import made_up_gemv
from drawings import MACHINES, draw, planned, tables, words
from ladder.report import chapters, rates, texts, verdict_table
from ladder.report import study as queries
from ladder.report.latex import code
from ladder.report.study import Study
from ladder.report.telling import amortisation, chapter_study, functions, ladder
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured, parts, whole
from ladder.report.telling.lines import select
from ladder.workloads.gemv.paper import model
from ladder.workloads.gemv.paper.lines import EXPERIMENTS, LINES, PHASES, SIZES

SENT, STAYING = select("ship", "ranks"), select("resident", "ranks")


@pytest.fixture(scope="module")
def found():
    return made_up_gemv.study()


@pytest.fixture(scope="module")
def study(found):
    return of(found)


@pytest.fixture(scope="module")
def ask(study):
    return functions.of_chapter(study)


def of(found):
    """The chapter's study."""
    return chapter_study.of_chapter("gemv", found)


def changed(drop=lambda case: False, factor=lambda case: 1.0, machine=made_up_gemv.MACHINE):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_gemv.cases() if not drop(one[1])]
    chosen = [(name, case, seconds * factor(case)) for name, case, seconds in cases]
    return made_up_gemv.study(machine, chosen=chosen)


def on_card(case):
    return "cu" in case.variant


def claims(found):
    return {one.key: one for group in chapter_claims.verdicts(of(found)).values() for one in group}


def text_of(found, name="text"):
    """A text of the chapter, rendered."""
    return texts.rendered_chapter(next(one for one in chapters.chapters() if one.workload == "gemv"), found)[name]


def test_a_text_without_measurements_says_so_and_has_no_gaps():
    text = text_of(Study({}, None))
    assert "No host has measured the full sizes." in text
    assert "nomeasurement" not in text
    assert not any(sign in text for sign in ("<<", "<%", "None"))


def test_a_whole_study_is_told_whole(found):
    text = text_of(found)
    assert "nomeasurement" not in text
    assert "no measurement" not in text
    assert code(made_up_gemv.MACHINE) in text


def test_rungs_are_compared_by_the_time_of_a_gigabyte(ask):
    assert ask["comparison"]("serial", "openmp", "it").startswith(r"is \num{4.0}\,$\times$ faster than it")
    assert ask["time"]("openmp") == r"\qty{25}{\milli\second}"
    assert ask["share"]("openmp") == r"\qty{80}{\percent}"
    assert ask["speedup"]("naive", "coalesced").startswith(r"\num{2.5}\,$\times$")
    assert ask["share"]("nccl-ship") == r"\qty{98}{\percent}"  # of the link
    assert ask["efficiency"](select("graph", "most GPUs"), "ranks") == r"\qty{100}{\percent}"
    assert ask["efficiency"](select("graph", "larger"), "ranks") == r"\qty{50}{\percent}"


def test_the_model_tells_what_reading_alone_does_on_as_many_threads(ask):
    assert ask["memory_threads"]("host") == 16
    assert ask["reading_rate"]("host", 16) == ask["memory_rate"]("host", 16) == r"\qty{200}{\giga\bytes}"


def test_the_model_counts_passes_links_and_cards(monkeypatch):
    monkeypatch.setattr(rates, "bandwidths", lambda found: {4: 100e9})
    monkeypatch.setattr(rates, "card_bandwidth", lambda found: 4e12)
    monkeypatch.setattr(rates, "link", lambda found: 50e9)
    on_host, on_cards = ({"device": name, "ranks": 4, "threads": math.nan} for name in ("mpi", "mpi_cuda"))
    assert model.predict(None, on_host | {"mode": "resident"}) == pytest.approx(1e9 / 100e9)
    assert model.predict(None, on_host | {"mode": "ship"}) == pytest.approx(3e9 / 100e9)
    assert model.predict(None, on_host | {"mode": "ship", "ranks": 2}) is None  # of two nothing is known
    sent = {"mode": "ship", "variant": "nccl_cublas"}
    assert model.predict(None, on_cards | sent) == pytest.approx(1e9 / 50e9)
    assert model.predict(None, on_cards | sent | {"variant": "mpi_cublas"}) == pytest.approx(1e9 / 200e9)
    assert model.predict(None, on_cards | {"mode": "resident"}) == pytest.approx(1e9 / 16e12)
    monkeypatch.setattr(rates, "card_bandwidth", lambda found: None)
    assert model.predict(None, {"device": "cuda"}) is None


def test_the_bandwidth_is_the_best_of_all_kernels(found):
    """Copies move more bytes here than reading does."""
    faster = {name: dict(one) for name, one in found.tables.items()}
    for name in ("ceiling_bandwidth", "ceiling_gpu_bandwidth"):
        samples = faster[name]["samples"]
        copies = samples[samples["phase"] == "total"].assign(kernel="copy", seconds=lambda rows: rows["seconds"] / 2)
        faster[name]["samples"] = pd.concat([samples, copies])
    best = Study(faster, found.subject)
    assert rates.bandwidths(best)[4] == pytest.approx(2 * rates.bandwidths(found)[4])
    assert rates.card_bandwidth(best) == pytest.approx(2 * rates.card_bandwidth(found))
    assert rates.link(best) == rates.link(found) == pytest.approx(made_up_gemv.LINK)


def machines(found):
    """The machines that the chapter speaks of."""
    return [one.subject for one in of(found).machines.values()]


def test_the_chapter_speaks_of_one_machine_if_one_has_host_and_card():
    assert machines(Study({}, None)) == [None] * 4
    own = changed(drop=on_card, machine="here")
    assert machines(own) == ["here", None, None, None]
    one_card = changed(drop=lambda case: on_card(case) and case.ranks > 1, machine="a (published)")
    every = changed(drop=lambda case: on_card(case) and case.ranks > 2, machine="b (published)")
    most = changed(drop=lambda case: not on_card(case) or case.tuning.get("mode") == "ship", machine="c (published)")
    both = made_up.both(made_up.both(made_up.both(every, most), one_card), own).of("here")
    assert machines(both) == ["b (published)"] * 3 + ["c (published)"]
    assert functions.count(of(both), select("graph", "most GPUs"), "ranks") == r"\num{4}"


def test_toy_sizes_decide_nothing():
    kept = [SIZES["small"], SIZES["long"]]
    small = changed(
        drop=lambda case: {name: case.sizes[name] for name in ("n", "m")} not in kept and case.sizes["n"] > 2048
    )
    assert {one.answer.verdict for one in claims(small).values()} == {"not tested"}
    with pytest.raises(NotMeasured):
        functions.tally(of(small), "earlier")


REFUTED = {"dynamic", "shared", "long", "pieces"}


def test_the_claims_are_decided_as_the_times_say(found):
    verdicts = {key: one.answer.verdict for key, one in claims(found).items()}
    assert verdicts.pop("nodes") == "not tested"
    assert len(verdicts) == 23
    assert {key for key, verdict in verdicts.items() if verdict == "refuted"} == REFUTED
    assert {verdict for key, verdict in verdicts.items() if key not in REFUTED} == {"confirmed"}


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


def test_first_touch_is_not_tested_where_no_memory_is_far(found):
    about = made_up.description()
    one, two = (
        replace(found, descriptions={found.subject: about | {"cpu": about["cpu"] | {"NUMA node(s)": count}}})
        for count in ("1", "2")
    )
    untested = claims(one)["bound"]
    assert untested.answer.verdict == "not tested"
    assert verdict_table.cause(untested) == "needs several memory nodes"
    assert r"the gain of binding alone: \num{1.2}" in " ".join(text_of(one).split())
    assert claims(two)["bound"].answer.verdict == claims(found)["bound"].answer.verdict == "confirmed"
    assert "binding alone" not in text_of(found)
    unmeasured = replace(changed(drop=lambda case: case.variant == "openmp_bound"), descriptions=one.descriptions)
    assert verdict_table.cause(claims(unmeasured)["bound"]) == "needs both rungs"


def test_communication_is_far_longer_from_twice_the_computation_on():
    """The phases, not the calls, decide it."""
    for share, verdict in ((1.0, "confirmed"), (0.25, "weaker"), (0.1, "refuted")):
        found = changed(drop=on_card)
        samples = found.tables[EXPERIMENTS["ranks"]]["samples"]
        samples.loc[samples["phase"] == "scatter", "seconds"] *= share
        assert claims(found)["communication"].answer.verdict == verdict


def test_ranks_of_one_node_say_nothing_of_several():
    found = changed(drop=on_card)
    samples = found.tables[EXPERIMENTS["ranks"]]["samples"]
    found.tables[EXPERIMENTS["ranks"]]["samples"] = samples.assign(nodes=samples["ranks"].fillna(1).clip(upper=2))
    assert claims(found)["nodes"].answer.verdict == "confirmed"


def test_the_configuration_measures_what_the_chapter_asks_for():
    names = [name for name in planned() if name.startswith("gemv_")]
    chosen = [(name, case, 1e-3 / case.cores) for name in names for case in planned()[name]]
    every = made_up_gemv.study(chosen=chosen)
    untested = {key for key, one in claims(every).items() if one.answer.ratio is None}
    assert untested <= {"nodes", "memory"}  # of as many threads no ceiling is made up


def test_phases_that_do_not_add_up_to_the_call_are_no_parts_of_it(study):
    rows, phases = study.rows(SENT), study.phases(SENT)
    assert list(parts(rows, phases)) == list(PHASES)
    assert sum(parts(rows, phases).values()) == pytest.approx(queries.middle(rows), rel=0.01)
    doubled = phases.assign(seconds=2 * phases["seconds"])
    assert parts(rows, doubled) == {}
    assert whole(rows, doubled) == pytest.approx(2, rel=0.01)
    assert "scatter" not in parts(study.rows(STAYING), study.phases(STAYING))
    with pytest.raises(NotMeasured):  # both at once
        study.over_the_rest(select("nccl-ship", "cards", chunks=4), ["compute"])


@pytest.mark.slow
def test_phases_beyond_the_call_are_not_drawn():
    shown = tables("gemv_phases")
    sent = [axes for axes in draw("gemv_phases", shown).axes if "sent every time" in axes.get_title(loc="left")]
    assert len(sent) == 2
    assert all(axes.patches for axes in sent)
    for name in ("ranks", "cards", "large"):
        samples = shown[EXPERIMENTS[name]]["samples"].copy()
        samples.loc[samples["phase"] != "total", "seconds"] *= 3
        shown[EXPERIMENTS[name]]["samples"] = samples
    figure = draw("gemv_phases", shown)
    assert not any(patch.get_width() for axes in figure.axes for patch in axes.patches)
    assert "whole call" in words(figure)


def test_the_sending_pays_once_the_products_have_saved_as_much(study, ask):
    """It takes one and a half times a product on one rank, of which each on four saves three quarters."""
    one = select("resident", "ranks", ranks=1)
    kept, once, other = study.find(STAYING), study.phases_before(STAYING), study.find(one)
    point = amortisation.break_even(kept, once, other)
    assert point.value == pytest.approx(2, rel=0.01)
    assert 1.9 < point.low <= point.value <= point.high < 2.1
    assert ask["break_even"](STAYING, one, "one rank", "products").startswith(
        r"pays off against one rank after \num{2.0}"
    )
    slower = kept.assign(seconds=4.5 * kept["seconds"])
    assert amortisation.break_even(slower, once, other).value == math.inf
    as_fast = study.find(select("openmp", "ranks"))
    assert amortisation.break_even(kept, once, as_fast).value is None
    assert amortisation.break_even(kept, once, queries.NO_ROWS) is None
    assert amortisation.break_even(kept, once.assign(seconds=1e-9), other).value == 0


def test_tunings_of_lines_are_fixed_beforehand(study):
    assert set(study.find(select("nccl", "large"))["chunks"]) == {1}
    assert set(study.find(select("graph", "large"))["graph"]) == {"on"}
    assert "on" not in set(study.find(select("nccl", "large"))["graph"])
    labels = [rung.label for rung in ladder.rungs_of(study, study.machine("host"), None)]
    assert labels[0] == "openmp, 1 thread"
    assert {"openmp_bound, spread, 4 threads", "mpi, ship, 4 ranks", "mpi_openmp, resident, 2 × 8 threads"} < {*labels}
    assert labels[-1] == "nccl_cublas, resident, graph, 4 GPUs"


def test_the_tables_hold_every_rung_claim_and_case(found, monkeypatch):
    one = [chapter for chapter in chapters.chapters() if chapter.workload == "gemv"]
    monkeypatch.setattr(chapters, "chapters", lambda: one)
    made = chapters.tables(found)
    assert made["gemv_ladder"].count(" \\\\\n") == 1 + len(LINES)
    assert made["gemv_verdicts"].count(" \\\\\n") == 1 + len(claims(found))
    assert made["gemv_break_even"].count(" \\\\\n") == 1 + 2
    assert made["gemv_threads"].count(" \\\\\n") == 1 + 2 * len(made_up_gemv.ON_THREADS)
    assert made["gemv_ranks"].count("mpi") == 2 * (2 * 3 + 2)
    assert "1, graph" in made["gemv_cards"]
    empty = chapters.tables(Study({}, None))
    assert all("no measurement" in text for name, text in empty.items() if name != "gemv_verdicts")


def test_the_figures_name_variants_as_the_code_does():
    shown = words(draw("gemv_waterfall", tables("gemv_waterfall")))
    assert {"openmp, 1 thread", "cuda_warp, 1 GPU", "model", "memory of all GPUs"} <= set(shown)
    shown = words(draw("gemv_scaling", tables("gemv_scaling")))
    assert {"openmp_bound, spread", "mpi, ship", "nccl_cublas, graph", "bandwidth"} <= set(shown)


@pytest.mark.slow
def test_figures_speak_of_the_chapters_machine_alone():
    for name in ("gemv_waterfall", "gemv_scaling", "gemv_phases"):
        shown = " ".join(words(draw(name, tables(name, MACHINES[:2]))))
        assert MACHINES[0] in shown
        assert MACHINES[1] not in shown
