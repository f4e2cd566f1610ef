"""What the paper says of back-propagation beside what every chapter does, of made-up times."""

from dataclasses import replace

import pytest

import chapter
import made_up
from drawings import draw, tables, words
from ladder.report.telling import chapter_study
from ladder.report.telling.chapter_study import parts
from ladder.report.telling.lines import select
from ladder.store.study import Study
from ladder.workloads.backprop import RUNGS
from ladder.workloads.backprop.paper import model, text
from ladder.workloads.backprop.paper.lines import CHANGES, FIGURE, LINES, OTHER, block_of
from ladder.workloads.backprop.paper.tables import measured
from made_up import chapters as made

EVERY = made.whole("backprop")
ONE_THREAD = select("tuned", threads=1)


@pytest.fixture(scope="module")
def study():
    return chapter_study.of_chapter("backprop", EVERY)


def test_a_host_with_more_cores_is_told_beside_the_chapters():
    """Eight times as many threads, of which each does half as much."""
    assert "the efficiency of" not in chapter.text("backprop")

    def wider(one):
        threads = one.case.tuning.get("threads")
        if threads == 1 or not threads or one.case.variant not in ("tuned", "openmp"):
            return one if threads == 1 else None
        return replace(one.times(1 / 4), case=replace(one.case, tuning=one.case.tuning | {"threads": 8 * threads}))

    text = chapter.text("backprop", made_up.both(EVERY, made.study("backprop", change=wider, machine="wide")))
    half = r"\qty{50}{\percent}"
    assert rf"On \num{{32}} threads of \texttt{{wide}}, the efficiency of \code{{tuned}} is {half}." in text
    assert rf"On \num{{16}} threads it is {half}. \code{{openmp}} reaches {half}" in text
    assert r"On \texttt{wide}, it is \num{16}" in text


def test_the_floor_is_the_products_at_the_best_rate_and_two_readings(study, monkeypatch):
    monkeypatch.setattr(model.rates, "products", lambda *_, **__: 50e12)
    monkeypatch.setattr(model.rates, "card_bandwidth", lambda found: 4.4e12)
    row = study.rows("cuda_fused").iloc[0]
    floor = model.floor(study.machine("card"), row)
    assert floor == pytest.approx(row["flops"] / 50e12 + 2 * 60000 * 784 * 4 / 4.4e12)
    assert study.predicted("cuda_fused") == floor
    monkeypatch.setattr(model.rates, "card_bandwidth", lambda found: None)
    assert model.floor(study.machine("card"), row) is None


def test_shares_of_blocks_are_those_of_the_phases(study):
    blocks = {"7 first change": "weight change", "2 output products": "products", "something else": OTHER}
    assert {phase: block_of(phase) for phase in blocks} == blocks
    assert sum(parts(study.rows("before"), study.phases("before")).values()) == pytest.approx(40, rel=0.01)
    kernels = parts(study.rows("cuda_kernels"), study.phases("cuda_kernels"))
    assert set(kernels) == {"products", "weight change", "update"}  # not what flattens


def test_causes_name_all_that_a_ratio_rests_on():
    """A gain of 160 is that of loops and flags times that of tiles; the peer's usual form stands beside its best."""
    causes = {key: claim.cause for key, claim in chapter.answers("backprop", EVERY).items()}
    assert causes["hundredfold"] == r"loops, flags: \num{28}\,$\times$, tiles: \num{5.7}\,$\times$"
    assert causes["peer/pytorch"] == r"by autograd: \num{2.0}\,$\times$"
    assert causes["weight-change"] == r"the products: \num{0.67}\,$\times$"


def test_what_is_changed_is_compared_with_a_base_on_as_many_threads(study):
    for line, values in CHANGES.items():
        assert len(measured(study, line)) == sum(map(len, values.values())), line
    samples = EVERY.tables["backprop_openmp"]["samples"]
    fewer = samples.assign(threads=samples["threads"].where(samples["schedule"] != "static", 4))
    other = replace(EVERY, tables=EVERY.tables | {"backprop_openmp": {"samples": fewer}})
    fewer = measured(chapter_study.of_chapter("backprop", other), "openmp")
    assert [name for name, *_ in fewer] == ["error", "update", "update", "simd"]
    assert chapter.verdicts("backprop", other, "schedule") == {"schedule": "not tested"}
    assert measured(chapter_study.of_chapter("backprop", Study({}, None)), "openmp") == []


def test_an_error_may_not_be_reached(study, monkeypatch):
    monkeypatch.setattr(text, "ERROR", 1 / 200)
    assert text.epochs_to_error(study) is None


def test_lines_are_the_rungs_and_tables_hold_each_and_every_loop_and_kernel():
    assert {LINES[key].variant for key in FIGURE} == set(RUNGS)
    made_tables = chapter.tables("backprop")
    rows = {name: table.count(" \\\\\n") - 1 for name, table in made_tables.items()}
    assert rows == {"ladder": len(FIGURE), "verdicts": 26, "flags": len(made.LOOPS), "kernels": 11}
    assert "flatten" not in made_tables["kernels"]


def test_the_figures_show_flags_updates_and_a_panel_of_variations_for_each_device():
    shown = {*words(draw("backprop_host", tables("backprop_host")))}
    assert {"O2", "O3, native", "all of them", "best product", "tuned", "pytorch", "pytorch, by hand"} <= shown
    assert {"openmp, sums", "openmp, owners", "openmp, atomic"} <= shown
    host, card = draw("backprop_variations", tables("backprop_variations")).axes
    assert host.get_title(loc="left").startswith("openmp, ")
    assert card.get_title(loc="left") == "cuda_kernels"
    assert "update: atomic" in [label.get_text() for label in host.get_yticklabels()]
    assert "cuda_flat: walk" in [label.get_text() for label in card.get_yticklabels()]
    without = draw("backprop_variations", tables("backprop_variations", drop=("cuda_kernels", "cuda_flat")))
    assert len(without.axes) == 1
