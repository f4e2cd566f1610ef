"""What the paper says of matrix-vector products beside what every chapter does, of made-up times."""

from dataclasses import replace

import pandas as pd
import pytest

import chapter
import made_up
from drawings import draw, tables, words
from ladder.report import verdict_table
from ladder.report.telling import amortisation, chapter_study
from ladder.report.telling.chapter_study import NotMeasured, parts, whole
from ladder.report.telling.lines import select
from ladder.statistics import crossings
from ladder.store import rates
from ladder.store import study as queries
from ladder.store.study import Study
from ladder.workloads.gemv.paper.lines import PHASES
from made_up import chapters as made

SENT, STAYING = select("ship", "ranks"), select("resident", "ranks")
EVERY = made.whole("gemv")


@pytest.fixture(scope="module")
def study():
    return chapter_study.of_chapter("gemv", EVERY)


def with_samples(change):
    """The study of the host with other samples on ranks."""
    host = made.study("gemv", drop=lambda case: "cu" in case.variant)
    samples = host.tables["gemv_mpi"]["samples"]
    return replace(host, tables=host.tables | {"gemv_mpi": {"samples": change(samples)}})


def test_the_bandwidth_is_the_best_of_all_kernels():
    """Copies move more bytes here than reading does."""
    names, faster = ("ceiling_bandwidth", "ceiling_gpu_bandwidth"), {}
    for name in names:
        samples = EVERY.tables[name]["samples"]
        copies = samples[samples["phase"] == "total"].assign(kernel="copy", seconds=lambda rows: rows["seconds"] / 2)
        faster[name] = {"samples": pd.concat([samples, copies])}
    best = Study(faster, EVERY.subject)
    assert rates.bandwidths(best)[4] == pytest.approx(2 * rates.bandwidths(EVERY)[4])
    assert rates.card_bandwidth(best) == pytest.approx(2 * rates.card_bandwidth(EVERY))
    assert rates.link(best) == rates.link(EVERY) == pytest.approx(made.LINK, rel=0.02)


def test_machines_of_several_gpus_are_the_one_that_sends_and_the_one_with_most():
    def of(name, drop):
        return made.study("gemv", drop=drop, machine=name)

    def is_on_gpu(case):
        return "cu" in case.variant

    here = of("here", is_on_gpu)
    one_gpu = of("a (published)", lambda case: is_on_gpu(case) and case.ranks > 1)
    two = of("b (published)", lambda case: is_on_gpu(case) and case.ranks > 2)
    most = of("c (published)", lambda case: not is_on_gpu(case) or case.tuning.get("mode") == "ship")
    every = made_up.both(made_up.both(made_up.both(two, most), one_gpu), here).of("here")
    assert chapter.machines("gemv", here) == {"host": "here", "card": None, "cards": None, "widest": None}
    assert [*chapter.machines("gemv", every).values()] == ["b (published)"] * 3 + ["c (published)"]
    assert chapter.asked("gemv", every)["count"](select("graph", "most GPUs"), "ranks") == r"\num{4}"


def test_first_touch_is_not_tested_where_no_memory_is_far():
    about = made_up.description()

    def of_nodes(study, count):
        return replace(study, descriptions={study.subject: about | {"cpu": about["cpu"] | {"NUMA node(s)": count}}})

    (untested,) = chapter.answers("gemv", of_nodes(EVERY, "1"), "bound").values()
    assert (untested.answer.verdict, verdict_table.cause(untested)) == ("not tested", "needs several memory nodes")
    assert r"the gain of binding alone: \num{1.2}" in chapter.text("gemv", of_nodes(EVERY, "1"))
    assert chapter.verdicts("gemv", of_nodes(EVERY, "2"), "bound") == {"bound": "confirmed"}
    unmeasured = of_nodes(made.study("gemv", drop=lambda case: case.variant == "openmp_bound"), "1")
    assert verdict_table.cause(chapter.answers("gemv", unmeasured, "bound")["bound"]) == "needs both rungs"


@pytest.mark.parametrize(("share", "verdict"), [(1.0, "confirmed"), (0.25, "weaker"), (0.1, "refuted")])
def test_communication_is_far_longer_from_twice_the_computation_on(share, verdict):
    """The phases, not the calls, decide it."""
    study = with_samples(
        lambda rows: rows.assign(seconds=rows["seconds"] * rows["phase"].map({"scatter": share}).fillna(1))
    )
    assert chapter.verdicts("gemv", study, "communication") == {"communication": verdict}


def test_ranks_of_one_node_say_nothing_of_several():
    study = with_samples(lambda rows: rows.assign(nodes=rows["ranks"].fillna(1).clip(upper=2)))
    assert chapter.verdicts("gemv", study, "nodes") == {"nodes": "confirmed"}


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
    assert [bool(axes.patches) for axes in sent] == [True, True]
    for name in ("gemv_mpi", "gemv_cards", "gemv_cards_large"):
        samples = shown[name]["samples"].copy()
        samples.loc[samples["phase"] != "total", "seconds"] *= 3
        shown[name]["samples"] = samples
    figure = draw("gemv_phases", shown)
    assert not any(patch.get_width() for axes in figure.axes for patch in axes.patches)
    assert "whole call" in words(figure)


def test_the_sending_pays_once_the_products_have_saved_as_much(study):
    """It takes one and a half times a product on one rank, of which each on four saves three quarters."""
    one = select("resident", "ranks", ranks=1)
    kept, once, other = study.find(STAYING), study.phases(STAYING, before=True), study.find(one)
    calls, low, high = amortisation.calls_to_pay(kept, once, other)
    assert calls == pytest.approx(2, rel=0.01)
    assert 1.9 < low <= calls <= high < 2.1
    slower, as_fast = kept.assign(seconds=4.5 * kept["seconds"]), study.find(select("openmp", "ranks"))
    assert amortisation.calls_to_pay(slower, once, other) == crossings.NOWHERE
    assert amortisation.calls_to_pay(kept, once, as_fast) == "undecided"
    assert amortisation.calls_to_pay(kept, once, queries.NO_ROWS) is None
    assert amortisation.calls_to_pay(kept, once.assign(seconds=1e-9), other) == crossings.EVERYWHERE


def test_tunings_of_lines_are_fixed_beforehand(study):
    assert set(study.find(select("nccl", "large"))["chunks"]) == {1}
    assert set(study.find(select("graph", "large"))["graph"]) == {"on"}
    assert "on" not in set(study.find(select("nccl", "large"))["graph"])


def test_tables_hold_every_case():
    made_tables = chapter.tables("gemv")
    rows = {name: table.count(" \\\\\n") - 1 for name, table in made_tables.items()}
    assert (rows["ladder"], rows["break_even"], rows["threads"]) == (19, 2, 2 * len(made.GEMV_ON_THREADS))
    assert made_tables["ranks"].count("mpi") == 2 * (2 * 3 + 2)
    assert "1, graph" in made_tables["cards"]
    assert r"\texttt{mpi\_\allowbreak{}openmp}, \texttt{resident}, 2 $\times$ 8 threads" in made_tables["ladder"]


def test_lines_over_threads_and_ranks_are_named_as_the_code_does():
    shown = {*words(draw("gemv_scaling", tables("gemv_scaling")))}
    assert {"openmp_bound, spread", "mpi, ship", "nccl_cublas, graph", "bandwidth"} <= shown
