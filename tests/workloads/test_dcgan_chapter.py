"""What the paper says of the generator, of times made up by rule."""

import pandas as pd
import pytest

import made_up_dcgan
from drawings import draw, words
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import study as study_of
from ladder.report.phrases import Missing
from ladder.report.study import Study
from ladder.statistics.claims import Ratio
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.paper import numbers, query, rungs, splits, tables, timeline, verdicts, waterfall
from ladder.workloads.tconv import cost


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
    return {one.key: one.answer.verdict for group in verdicts.verdicts(study).values() for one in group}


def test_the_keys_do_not_depend_on_what_was_measured(values):
    assert list(numbers.numbers(changed(drop=on_card))) == list(values)
    nothing = numbers.numbers(Study({}, None))
    assert list(nothing) == list(values)
    for key, value in nothing.items():
        if key.split("/")[1] not in ("problem", "earlier") and not key.endswith("/images"):
            assert value is None or isinstance(value, Missing), key


def test_a_picture_takes_what_was_measured(values):
    assert values["dcgan/ladder/loops/time"].startswith(r"\qty{100")
    assert values["dcgan/ladder/mixed/rate"] == r"\num{670}"
    assert values["dcgan/ladder/parity/against/loops"] == r"is \num{5.0}\,$\times$ as fast as with the branch"
    assert values["dcgan/ladder/home/against/peer-home"].startswith(r"is \num{2.0}\,$\times$ as fast as PyTorch")
    assert values["dcgan/ladder/window/batch"] == r"\num{1280}"
    assert values["dcgan/ladder/home/batch"] == r"\num{512}"
    assert values["dcgan/problem/flops"] == r"\qty{274}{MFLOP}"
    assert values["dcgan/shares/window/layer-1"].startswith(r"\qty{3")


def test_every_line_of_the_ladder_is_one_case(found):
    host, _ = query.chosen(found)
    for key, (line, _) in rungs.LINES.items():
        rows = tables.one_case(line.rows(host.ladder))
        assert len(rows), key
        assert study_of.middle(rows) == pytest.approx(
            made_up_dcgan.PICTURE[key] / (2 if line.tuning.get("threads") == rungs.MOST else 1), rel=0.02
        ), key


def test_claims_are_decided_by_what_they_are_about(found):
    there = answers(found)
    assert there["parity"] == "confirmed"  # 2 times, 1.5 claimed
    assert there["two"] == "confirmed"
    assert there["split"] == "confirmed"  # as that study multiplied; with implicit products four layers are faster
    assert there["registers"] == "confirmed"
    assert there["one-card"] == "confirmed"  # starts of 0.4 and 0.7 s
    assert there["two-cards"] == there["four-cards"] == "refuted"
    assert there["cards"] == "confirmed"
    assert there["ranks"] == "confirmed"
    assert there["host-parity"] == there["host-peer"] == "confirmed"
    assert there["peer/home"] == "confirmed"
    assert there["home/float32"] == there["home/tf32"] == "confirmed"
    assert there["home/float16"] == "confirmed"  # 1.4 us, twice the kernels, where the link takes 1.35
    slower = answers(changed(factor=lambda case: 3.0 if case.variant == "home" else 1.0))
    assert slower["peer/home"] == "refuted"
    assert slower["home/float32"] == slower["home/tf32"] == slower["home/float16"] == "refuted"
    assert set(answers(Study({}, None)).values()) == {"not tested"}
    unknown = made_up_dcgan.study()
    for one in unknown.tables.values():
        one["samples"] = one["samples"][one["samples"]["phase"] == "total"]
    assert answers(unknown)["home/float16"] == "not tested"  # how long the link takes isn't known
    assert answers(changed(drop=on_card))["parity"] == "not tested"


def test_two_cards_pay_in_a_call_before_they_pay_with_their_start(values):
    """Of 100 pictures a call takes 1.1 and 1.3 ms, of 200 it takes 1.2 and 0.6; a start 0.4 and 0.7 s."""
    assert values["dcgan/cards/pays/call"].startswith(r"pay from \num{11")
    assert values["dcgan/cards/pays/start"].startswith(r"pay at no number from \num{")
    assert values["dcgan/cards/threads"] == values["dcgan/cards/ranks"] == r"\qty{100}{\percent}"
    assert values["dcgan/energy/window"] == r"\qty{5.0}{\milli\joule}"


def test_pictures_for_a_screen_stand_beside_those_of_floats(values, found):
    """Of half precision 0.7 us a picture, where 32 bits take 1.4; as long in TF32. None is a rung of the ladder."""
    assert values["dcgan/screen/float16/call"] == r"\qty{3.67}{\milli\second}"
    assert values["dcgan/screen/float16/against"].startswith(r"is \num{2.0}\,$\times$ as fast as one for floats")
    assert values["dcgan/screen/tf32/against"].startswith("is equal to one for floats within")
    assert set(query.chosen(found)[1].ladder["pictures"]) == {"float32"}


def test_what_hiding_costs_is_told_apart_from_what_batches_cost(values):
    """Home takes 1.4 us a picture, its kernels 1.12 in the same batches and 1.4 in one."""
    assert values["dcgan/hidden/same"] == r"\qty{80}{\percent}"
    assert values["dcgan/hidden/one"] == r"\qty{100}{\percent}"
    assert values["dcgan/hidden/sustained"] == r"\qty{91}{\percent}"


def test_what_epilogues_and_a_graph_gain_is_told_step_by_step(values):
    """A picture takes 9 us with kernels for batch norms, as with these in the weights, then 6, and as a graph 5."""
    assert values["dcgan/epilogues/folded"].startswith("is equal to one with kernels for them within")
    assert values["dcgan/epilogues/fused"].startswith(r"is \num{1.5}\,$\times$ as fast as one with kernels for these")
    assert values["dcgan/epilogues/graph"].startswith(r"is \num{1.2")
    alone = numbers.numbers(changed(drop=lambda case: case.tuning.get("epilogue") == "folded"))
    assert isinstance(alone["dcgan/epilogues/fused"], Missing)


def test_products_by_zero_are_counted(values):
    """1299 MFLOP a picture with zeros inserted, 274 without."""
    assert values["dcgan/problem/zeros"] == r"\num{4.7}\,$\times$"


@pytest.mark.slow
def test_cards_that_never_pay_are_said_to():
    found = changed(factor=lambda case: 3.0 if case.tuning.get("gpus") == 2 else 1.0)
    values = numbers.numbers(found)
    assert values["dcgan/cards/pays/call"] == values["dcgan/cards/pays/start"]
    assert values["dcgan/cards/pays/call"].startswith("pay at no number")
    undecided = [(10, Ratio(1.1, 0.9, 1.3)), (5248, Ratio(0.95, 0.8, 1.1))]
    assert numbers.paying(undecided).startswith(r"are not shown to be faster at any number from \num{10}")
    alone = numbers.numbers(changed(drop=lambda case: case.tuning.get("gpus") == 2))
    assert alone["dcgan/cards/pays/call"] is None


def test_four_cards_are_told_of_beside_two(values):
    """Of 100 pictures two take 1.3 ms and four 2.15, of 200 pictures 0.6 and 0.3."""
    told = {key.split("/", 2)[-1]: value for key, value in values.items() if "/most-cards/" in key}
    assert told["count"] == r"\num{4}"
    assert told["fewer"] == r"\num{2}"
    assert told["threads"] == told["ranks"] == told["weak-threads"] == told["weak-ranks"] == r"\qty{100}{\percent}"
    assert told["graph"] == told["weak-graph"] == r"\qty{80}{\percent}"
    assert told["tapered"] == r"\qty{50}{\percent}"
    assert told["pays/call"].startswith(r"pay from \num{13")
    two = numbers.numbers(changed(drop=lambda case: 4 in (case.tuning.get("gpus"), case.tuning.get("ranks"))))
    assert {value for key, value in two.items() if "/most-cards/" in key} == {None}


def test_the_first_machine_with_most_cards_is_told_of():
    cases = [one for one in made_up_dcgan.cases() if one[0] in (query.CARDS, query.HALF)]
    few = [one for one in cases if one[0] == query.HALF or one[1].tuning["gpus"] < 4]  # four in half precision alone
    parts = [made_up_dcgan.tables(name, chosen=chosen) for name, chosen in {"a": few, "b": cases, "c": cases}.items()]
    together = {name: {"samples": pd.concat([one[name]["samples"] for one in parts])} for name in parts[0]}
    machine, count = query.with_most_cards(Study(together, None))
    assert (machine.found.subject, count) == ("b", 4)
    assert query.with_most_cards(Study({}, None))[1] == 0


def test_earlier_and_present_times_stand_side_by_side(found):
    rows = tables.tables(found)["cards"].splitlines()
    row = next(row for row in rows if row.startswith(r"\num{5248}"))
    cells = [cell.split("}")[0].split("{")[-1] for cell in row.split("&")]
    assert cells == ["5248", "1.01", "647", "504", "31.5", "15.7", "7.87", "430", "720", "1.3"]
    titles = [title.strip(" \\") for title in rows[3].split("&")]
    assert titles[:4] == ["Pictures", "2 cards", "4 cards", "8 cards"]
    assert titles[4:] == ["1 card", "2 cards", "4 cards"] * 2
    numbers_of_pictures = [row.split("}")[0] for row in rows if row.startswith(r"\num{")]
    assert numbers_of_pictures == [r"\num{10", r"\num{100", r"\num{1000", r"\num{5248"]


@pytest.mark.slow
def test_ways_of_the_most_cards_stand_below_each_other(found):
    """In the made-up study half precision lacks two cards."""
    text = tables.tables(found)["most_cards"]
    ways = {row.split(" & ")[0]: row for row in text.splitlines() if row.startswith(tuple(tables.WAYS))}
    assert list(ways) == list(tables.WAYS)
    shares = [row.split(" & ")[-1] for row in ways.values()]
    assert [share.split("}")[0] for share in shares] == [rf"\qty{{{one}" for one in (100, 80, 50, 100, 25, 25)]
    assert ways["threads, half precision, a graph each"].split(" & ")[2] == "--"
    assert "& 4 cards & efficiency on 4" in text
    two = changed(drop=lambda case: 4 in (case.tuning.get("gpus"), case.tuning.get("ranks")))
    assert "no measurement" in tables.tables(two)["most_cards"]
    alone = changed(drop=lambda case: 2 in (case.tuning.get("gpus"), case.tuning.get("ranks")))
    assert "& 1 card & 4 cards & efficiency" in tables.tables(alone)["most_cards"]


def test_layers_are_rates_of_exact_products(found):
    rows = [
        Case("tconv", "cuda_implicit", complete("tconv", {"images": 640, "h": h, "c": c, "k": k}), {}, "warm")
        for h, c, k in layout.layers(512)
    ]
    chosen = [(query.LAYERS[h.sizes["h"] == 32], h, cost(h.sizes).flops / 4e13) for h in rows]
    text = tables.tables(made_up_dcgan.study(chosen=chosen))["layers"]
    assert text.count("40.0") == 4
    assert "no measurement" in tables.tables(found)["layers"]
    toy = Case("tconv", "cuda_implicit", complete("tconv", {"images": 640, "h": 4, "c": 17, "k": 3}), {}, "warm")
    small = made_up_dcgan.study(chosen=[(query.LAYERS[0], toy, 1.0)])
    assert "no measurement" in tables.tables(small)["layers"]


def test_timelines_are_of_every_machine_that_was_traced():
    rows = {"lane": "card", "name": "layer 1", "start": 0.0, "end": 1.0, "process": 0}
    traces = pd.DataFrame(
        [
            {"machine": name, "variant": "cuda", "case": line.tuning["split"], **line.tuning} | rows
            for name, lines in {"a": (2,), "b": (2, 3, 4)}.items()
            for line in map(rungs.split, lines)
        ]
    )
    found = query.traces_of(traces, splits.WAYS)
    assert list(found) == ["a: 2 + 2", "b: 2 + 2", "b: 3 + 1", "b: 4 + 0"]
    assert {name for one in found.values() for name in one["machine"]} == {"a", "b"}
    assert query.traces_of(pd.DataFrame(), splits.WAYS) == {}


def test_figures_show_the_machines_of_the_chapter():
    """Toy sizes decide nothing where another machine has the full one, and are shown where none has."""
    toy = study_tables("a", channels=64)
    both = {
        name: {"samples": pd.concat([toy[name]["samples"], rows["samples"]])}
        for name, rows in study_tables("b").items()
    }
    assert query.shown(both) == ["b"]
    assert query.shown(toy) == ["a"]
    assert query.shown({}) == []


@pytest.mark.parametrize("figure", [waterfall, timeline])
def test_a_machine_with_host_and_card_comes_before_one_with_a_card(figure):
    card, both = study_tables("a"), made_up_dcgan.tables("b")
    asked = {}
    for name in figure.EXPERIMENTS:
        found = [one[name]["samples"] for one in (card, both) if name in one]
        asked[name] = {"samples": pd.concat(found)}
    assert query.shown(asked) == ["b"]


def test_the_timeline_is_of_the_chapters_card():
    asked = {name: dict(one) for name, one in made_up_dcgan.tables("b").items() if name in timeline.EXPERIMENTS}
    rows = {"lane": "copy", "name": "1", "start": 0.0, "end": 1.0, "process": 0, "variant": "home", "case": "one"}
    line = next(iter(timeline.WAYS.values()))
    stated = {name: value for name, value in line.tuning.items() if value is not None}
    asked["dcgan_home"]["traces"] = pd.DataFrame([{"machine": name} | rows | stated for name in ("a", "b")])
    shown = " ".join(words(draw("dcgan_timeline", asked)))
    assert "b: copies after each batch" in shown
    assert "a: copies" not in shown


def study_tables(machine, channels=512):
    """The tables of the generator on the card, with so many channels."""
    chosen = []
    for name, case, seconds in made_up_dcgan.cases():
        if name == query.CARD:
            sizes = case.sizes | {"channels": channels}
            chosen.append((name, Case(case.workload, case.variant, sizes, case.tuning, case.cache), seconds))
    return made_up_dcgan.tables(machine, chosen=chosen)


def test_toy_sizes_decide_nothing():
    toys = []
    for name, case, seconds in made_up_dcgan.cases():
        sizes = case.sizes | ({"channels": 64} if case.workload == "dcgan" else {"k": 17})
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
    for text in (
        "host, loops, 1 thread",
        "host, parity, 1 thread",
        "host, parity, 2 threads",
        "host, BLAS, 2 threads",
        "pytorch, 2 threads",
        "cuda, 2 + 2",
        "cuda, half",
        "home, TF32",
        "home, TF32, copy engine",
        "pytorch_home, half",
        "512 channels",
    ):
        assert text in shown, text


def test_a_rung_on_all_threads_is_drawn_once_where_there_is_one_thread():
    one = changed(drop=lambda case: case.tuning.get("threads") == 2)
    asked = {name: one.tables[name] for name in waterfall.EXPERIMENTS}
    shown = words(draw("dcgan_waterfall", asked))
    assert shown.count("host, parity, 1 thread") == 1
    assert "host, BLAS, 1 thread" in shown
