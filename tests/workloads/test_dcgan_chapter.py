"""What the paper says of the generator, of times made up by rule."""

import pytest

import made_up_dcgan
from drawings import draw, words
from ladder.report.phrases import Missing
from ladder.report.study import Study
from ladder.workloads.dcgan.paper import numbers, query, rungs, tables, verdicts, waterfall


@pytest.fixture(scope="module")
def found():
    return made_up_dcgan.study()


@pytest.fixture(scope="module")
def values(found):
    return numbers.numbers(found)


def changed(drop=lambda case: False, factor=lambda case: 1.0):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_dcgan.cases() if not drop(one[1])]
    return made_up_dcgan.study(chosen=[(name, case, seconds * factor(case)) for name, case, seconds in cases])


def on_card(case):
    return case.variant not in ("host", "pytorch")


def answers(study):
    return {one.key: one.answer.verdict for one in verdicts.claims(*query.chosen(study))}


def test_the_keys_do_not_depend_on_what_was_measured(values):
    assert list(numbers.numbers(changed(drop=on_card))) == list(values)
    nothing = numbers.numbers(Study({}, None))
    assert list(nothing) == list(values)
    for key, value in nothing.items():
        if key.split("/")[1] not in ("problem", "earlier") and not key.endswith("/images"):
            assert value is None or isinstance(value, Missing), key


def test_a_picture_takes_what_was_measured(values):
    assert values["dcgan/ladder/loops/time"].startswith(r"\qty{100")
    assert values["dcgan/ladder/tuned/rate"] == r"\num{500}"
    assert values["dcgan/ladder/parity/against/loops"] == r"is \num{5.0}\,$\times$ as fast as with the branch"
    assert values["dcgan/ladder/home/against/peer-home"].startswith(r"is \num{2.0}\,$\times$ as fast as PyTorch")
    assert values["dcgan/problem/flops"] == r"\qty{274}{MFLOP}"
    assert values["dcgan/parts/window/layer-1"].startswith(r"\qty{3")


def test_every_line_of_the_ladder_is_one_case(found):
    host, _ = query.chosen(found)
    for key, (line, _) in rungs.LINES.items():
        rows = tables.one_case(line.rows(host.ladder))
        assert len(rows), key
        assert query.middle(rows) == pytest.approx(
            made_up_dcgan.PICTURE[key] / (2 if line.tuning.get("threads") == rungs.MOST else 1), rel=0.02
        ), key


def test_claims_are_decided_by_what_they_are_about(found):
    there = answers(found)
    assert there["parity"] == "confirmed"  # 2 times, 1.5 claimed
    assert there["two"] == "confirmed"
    assert there["split"] == "refuted"  # four layers are faster
    assert there["host-parity"] == "confirmed"
    assert there["peer/home"] == "confirmed"
    assert there["home/window"] == "confirmed"
    assert there["home/float16"] == "refuted"  # twice the kernels
    slower = answers(changed(factor=lambda case: 3.0 if case.variant == "home" else 1.0))
    assert slower["peer/home"] == "refuted"
    assert slower["home/window"] == "refuted"
    assert set(answers(Study({}, None)).values()) == {"not tested"}
    assert answers(changed(drop=on_card))["parity"] == "not tested"


def test_toy_sizes_decide_nothing():
    toys = []
    for name, case, seconds in made_up_dcgan.cases():
        sizes = case.sizes | {"channels": 64}
        toys.append((name, type(case)(case.workload, case.variant, sizes, case.tuning, case.cache), seconds))
    assert set(answers(made_up_dcgan.study(chosen=toys)).values()) == {"not tested"}


def test_the_way_home_is_a_row_for_each_memory(found):
    text = tables.tables(found)["home"]
    assert all(memory in text for memory in made_up_dcgan.WAYS)
    assert r"\qty{31.5}{\milli\second}" in text  # 5248 pictures, pinned, hidden
    assert "no measurement" in tables.tables(Study({}, None))["home"]


def test_the_figure_has_every_rung(found):
    asked = {name: found.tables[name] for name in waterfall.EXPERIMENTS}
    shown = " ".join(words(draw("dcgan_waterfall", asked)))
    for text in ("host, loops", "cuda, 2 + 2", "cuda, half", "home, TF32", "pytorch_home, half", "512 channels"):
        assert text in shown, text
