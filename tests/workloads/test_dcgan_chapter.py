"""What the paper says of the generator, of times made up by rule."""

import pandas as pd
import pytest

import made_up
import made_up_dcgan
from drawings import draw, words
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import chapters, texts
from ladder.report.study import NO_ROWS, Study, middle
from ladder.report.telling import chapter_study, functions, ladder, traces
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import MAX, select
from ladder.statistics.claims import Ratio
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.paper import cards, lines, splits, tables, timeline, waterfall
from ladder.workloads.dcgan.paper.lines import IMAGES, LINES
from ladder.workloads.tconv import cost


@pytest.fixture(scope="module")
def found():
    return made_up_dcgan.study()


@pytest.fixture(scope="module")
def study(found):
    return of(found)


@pytest.fixture(scope="module")
def ask(study):
    return functions.of_chapter(study)


def of(found):
    """The chapter's study."""
    return chapter_study.of_chapter("dcgan", found)


def changed(drop=lambda case: False, factor=lambda case: 1.0, machine=made_up_dcgan.MACHINE):
    """A study without some cases, and with the times of others changed."""
    cases = [one for one in made_up_dcgan.cases() if not drop(one[1])]
    chosen = [(name, case, seconds * factor(case)) for name, case, seconds in cases]
    return made_up_dcgan.study(machine, chosen=chosen)


def on_card(case):
    return case.variant not in ("host", "pytorch")


def count(case):
    return case.tuning.get("gpus", case.tuning.get("ranks"))


def answers(found):
    return {one.key: one.answer.verdict for group in chapter_claims.verdicts(of(found)).values() for one in group}


def text_of(found):
    """The chapter's text, rendered, as one line."""
    one = next(one for one in chapters.chapters() if one.workload == "dcgan")
    return " ".join(texts.rendered_chapter(one, found)["text"].split())


def test_a_text_without_measurements_says_so_and_has_no_gaps(found):
    text = text_of(Study({}, None))
    for lack in ("full network was not measured", "host was not measured", "Several GPUs were not measured"):
        assert lack in text
    for told in (text, text_of(changed(drop=on_card)), text_of(found)):
        assert not any(sign in told for sign in ("nomeasurement", "no measurement", "<<", "<%", "None"))
    assert "were not measured" not in text_of(made_up.both(found, made_up_dcgan.study("other", chosen=layers())))


def test_a_sentence_goes_with_its_own_measurement_alone():
    text = text_of(changed(drop=lambda case: case.tuning.get("epilogue") == "folded" or case.variant == "mpi_home"))
    assert "norms folded" not in text
    assert "Launched as one graph" in text
    assert "MPI ranks have" not in text
    assert "With one graph per GPU, the efficiency" in text


def test_a_picture_takes_what_was_measured(ask):
    assert ask["time"]("loops", 3).startswith(r"\qty{100")
    assert ask["picture_rate"]("mixed") == r"\num{670}"
    assert ask["speedup"]("loops", "parity") == r"\num{5.0}\,$\times$"
    assert ask["speedup"]("peer-home", "home") == r"\num{2.0}\,$\times$"
    assert ask["picture_energy"]("window") == r"\qty{5.0}{\milli\joule}"
    assert ask["count"]("home", "batch") == r"\num{512}"
    assert ask["fact"]("flops") == r"\qty{274}{MFLOP}"
    assert ask["fact"]("zeros") == r"\num{4.7}\,$\times$"  # 1299 MFLOP with zeros inserted
    assert ask["phase_share"]("window", "layer 1").startswith(r"\qty{3")


def test_every_line_of_the_ladder_is_one_case(study):
    for key, seconds in made_up_dcgan.PICTURE.items():
        threads = 2 if LINES[key].tuning.get("threads") == MAX else 1
        assert middle(study.rows(key)) == pytest.approx(seconds / threads, rel=0.02), key
    assert set(made_up_dcgan.PICTURE) == {*lines.FIGURE}


def test_claims_are_decided_by_what_they_are_about(found):
    there = answers(found)
    refuted = {"two-cards", "four-cards", "ceiling"}  # starts of 0.4, 0.7 and 1.3 s; `cuda_tiled` sets the ceiling
    assert {key for key, verdict in there.items() if verdict == "refuted"} == refuted
    assert {verdict for key, verdict in there.items() if key not in refuted} == {"confirmed"}
    slower = answers(changed(factor=lambda case: 3.0 if case.variant == "home" else 1.0))
    assert {slower[key] for key in ("peer/home", "home/float32", "home/tf32", "home/float16")} == {"refuted"}
    assert set(answers(Study({}, None)).values()) == {"not tested"}
    unknown = made_up_dcgan.study()
    for one in unknown.tables.values():
        one["samples"] = one["samples"][one["samples"]["phase"] == "total"]
    assert answers(unknown)["home/float16"] == "not tested"  # how long the link takes isn't known
    assert answers(changed(drop=on_card))["parity"] == "not tested"


def test_two_cards_pay_in_a_call_before_they_pay_with_their_start(ask):
    """Of 100 pictures a call takes 1.1 and 1.3 ms, of 200 it takes 1.2 and 0.6; a start 0.4 and 0.7 s."""
    assert ask["pays"]("two", 2).startswith(r"pay from \num{11")
    assert ask["pays"]("two", 2, with_start=True).startswith(r"pay at no number from \num{")
    assert (
        ask["efficiency_on"]("threads", "two", 2) == ask["efficiency_on"]("ranks", "two", 2) == r"\qty{100}{\percent}"
    )


def test_pictures_for_a_screen_stand_beside_those_of_floats(study, ask):
    """Of half precision 0.7 us a picture, where 32 bits take 1.4; as long in TF32. None is a rung of the ladder."""
    assert ask["call_time"](select("screen", math="float16")) == r"\qty{3.67}{\milli\second}"
    half, tf32 = (select("screen", "screen", math=math) for math in ("float16", "tf32"))
    assert ask["speedup"](select("home-brought", "floats"), half) == r"\num{2.0}\,$\times$"
    assert ask["speedup"](select("home-brought-tf32", "floats"), tf32) == r"\num{1.0}\,$\times$"
    assert set(study.frame("card")["pictures"]) == {"float32"}


def test_what_hiding_costs_is_told_apart_from_what_batches_cost(ask):
    """With its copies a picture takes 1.4 us, its kernels 1.12 in the same batches and 1.4 in one."""
    home, at_once = "home-brought-tf32", ask["all_at_once"]("tf32")
    assert ask["time_share"](ask["kernels_in_batches"](), home) == r"\qty{80}{\percent}"
    assert ask["time_share"](at_once, home) == r"\qty{100}{\percent}"
    assert ask["time_share"](at_once, home, at_power_limit=True) == r"\qty{91}{\percent}"


def test_what_epilogues_and_a_graph_gain_is_told_step_by_step(found):
    """A picture takes 9 us with kernels for batch norms, as with these in the weights, then 6, and as a graph 5."""
    text = text_of(found)
    assert r"the generator ties with one with kernels for them within" in text
    assert r"it is \num{1.5}\,$\times$ faster than one with kernels for these" in text
    assert r"as one graph, it is \num{1.2}" in text


@pytest.mark.slow
def test_cards_that_never_pay_are_said_to():
    alone = functions.of_chapter(of(changed(factor=lambda case: 3.0 if case.tuning.get("gpus") == 2 else 1.0)))
    assert alone["pays"]("two", 2) == alone["pays"]("two", 2, with_start=True)
    assert alone["pays"]("two", 2).startswith("pay at no number")
    undecided = [(10, Ratio(1.1, 0.9, 1.3)), (IMAGES, Ratio(0.95, 0.8, 1.1))]
    assert cards.predicate(undecided).startswith(r"are not significantly faster at any number from \num{10}")
    with pytest.raises(NotMeasured):
        cards.predicate([(10, None)])


def test_four_cards_are_told_of_beside_two(ask):
    """Of 100 pictures two take 1.3 ms and four 2.15, of 200 pictures 0.6 and 0.3."""
    assert ask["most_cards"]() == 4
    for way, share, weak in (("threads", 100, 100), ("ranks", 100, 100), ("graph", 80, 80), ("tapered", 50, None)):
        assert ask["efficiency_on"](way, "most", 4) == rf"\qty{{{share}}}{{\percent}}"
        if weak:
            assert ask["weak_efficiency"](way, "most", 4) == rf"\qty{{{weak}}}{{\percent}}"
    assert ask["pays"]("most", 4).startswith(r"pay from \num{13")
    two = of(changed(drop=lambda case: count(case) == 4))
    with pytest.raises(NotMeasured):
        functions.of_chapter(two)["most_cards"]()
    assert "most_cards" not in text_of(two.study)
    assert "no measurement" in tables.most_cards(two)


def test_the_first_machine_with_most_cards_is_told_of():
    cases = [one for one in made_up_dcgan.cases() if one[0] in (lines.CARDS, lines.HALF)]
    few = [one for one in cases if one[0] == lines.HALF or one[1].tuning["gpus"] < 4]  # four in half precision alone
    parts = [made_up_dcgan.study(name, chosen=chosen) for name, chosen in {"a": few, "b": cases, "c": cases}.items()]
    together = of(made_up.both(made_up.both(*parts[:2]), parts[2]))
    assert together.machine("most").subject == together.machine("four").subject == "b"
    assert together.machine("two").subject == "a"
    assert of(Study({}, None)).machine("most").subject is None


def test_earlier_and_present_times_stand_side_by_side(study):
    rows = tables.cards(study).splitlines()
    row = next(row for row in rows if row.startswith(r"\num{5248}"))
    cells = [cell.split("}")[0].split("{")[-1] for cell in row.split("&")]
    assert cells == ["5248", "1.01", "647", "504", "31.5", "15.7", "7.87", "430", "720", "1.3"]
    titles = [title.strip(" \\") for title in rows[3].split("&")]
    assert titles == ["Pictures", "2 GPUs", "4 GPUs", "8 GPUs"] + ["1 GPU", "2 GPUs", "4 GPUs"] * 2
    pictures = [row.split("}")[0] for row in rows if row.startswith(r"\num{")]
    assert pictures == [r"\num{10", r"\num{100", r"\num{1000", r"\num{5248"]


@pytest.mark.slow
def test_ways_of_the_most_cards_stand_below_each_other(study):
    """In the made-up study half precision lacks two cards."""
    text = tables.most_cards(study)
    ways = {row.split(" & ")[0]: row for row in text.splitlines() if row.startswith(tuple(tables.WAYS))}
    assert list(ways) == list(tables.WAYS)
    shares = [row.split(" & ")[-1] for row in ways.values()]
    assert [share.split("}")[0] for share in shares] == [rf"\qty{{{one}" for one in (100, 80, 50, 100, 25, 25)]
    assert ways["threads, half precision, a graph each"].split(" & ")[2] == "--"
    assert "& 4 GPUs & efficiency on 4" in text
    alone = of(changed(drop=lambda case: count(case) == 2))
    assert "& 1 GPU & 4 GPUs & efficiency" in tables.most_cards(alone)


def layers():
    """Those of the full network, at 40 TFLOP/s: (experiment, case, seconds)."""
    for h, c, k in layout.layers(layout.FULL):
        case = Case("tconv", "cuda_implicit", complete("tconv", {"images": 640, "h": h, "c": c, "k": k}), {}, "warm")
        yield lines.LAYERS[h == 32], case, cost(case.sizes).flops / 4e13


def test_layers_are_rates_of_exact_products(study):
    assert tables.layers(of(made_up_dcgan.study(chosen=[*layers()]))).count("40.0") == 4
    assert "no measurement" in tables.layers(study)
    toy = Case("tconv", "cuda_implicit", complete("tconv", {"images": 640, "h": 4, "c": 17, "k": 3}), {}, "warm")
    small = of(made_up_dcgan.study(chosen=[(lines.LAYERS[0], toy, 1.0)]))
    assert "no measurement" in tables.layers(small)


def traced(machines, ways, experiment):
    """The tables of an experiment with a bar of each way on each machine."""
    rows = []
    for name in machines:
        for way in ways:
            case = made_up_dcgan.case_of(way)
            bar = {"lane": "card", "name": "1", "start": 0.0, "end": 1.0}
            own = {"machine": name, "variant": case.variant, "case": case.slug, **case.tuning} | bar
            rows += [own | {"process": number} for number in (0, 1)]
    return {experiment: {"samples": NO_ROWS, "traces": pd.DataFrame(rows)}}


def test_timelines_are_of_every_machine_that_was_traced():
    every = traced(("a", "b"), splits.WAYS.values(), lines.SPLITS)
    some = every[lines.SPLITS]["traces"]
    every[lines.SPLITS]["traces"] = some[(some["machine"] == "b") | (some["split"] == 2)]
    titled = traces.of_selections(of(Study(every, None)), lines.SPLITS, splits.WAYS)
    assert list(titled) == ["a: 2 + 2", "b: 2 + 2", "b: 3 + 1", "b: 4 + 0"]
    assert {len(rows) for rows in titled.values()} == {1}  # of one process
    assert traces.of_selections(of(Study({}, None)), lines.SPLITS, splits.WAYS) == {}


def asked(figure, found):
    """The tables that a figure asks for."""
    return {name: dict(found.tables[name]) for name in figure.EXPERIMENTS if name in found.tables}


def test_the_timeline_is_of_the_chapters_card():
    shown = asked(timeline, made_up_dcgan.study("b"))
    shown[lines.HOME] |= {"traces": traced(("a", "b"), timeline.WAYS.values(), lines.HOME)[lines.HOME]["traces"]}
    told = " ".join(words(draw("dcgan_timeline", shown)))
    assert "b: copies after each batch" in told
    assert "a: copies" not in told


@pytest.mark.parametrize("figure", [waterfall, timeline])
def test_a_machine_with_host_and_card_comes_before_one_with_a_card(figure):
    both = made_up.both(made_up_dcgan.study("b"), changed(drop=lambda case: not on_card(case), machine="a"))
    told = of(Study(asked(figure, both), None))
    assert {told.machine(role).subject for role in ("host", "card")} == {"b"}


def test_toy_sizes_decide_nothing():
    toys = []
    for name, case, seconds in made_up_dcgan.cases():
        sizes = case.sizes | ({"channels": 64} if case.workload == "dcgan" else {"k": 17})
        toys.append((name, Case(case.workload, case.variant, sizes, case.tuning, case.cache), seconds))
    small = made_up_dcgan.study(chosen=toys)
    assert set(answers(small).values()) == {"not tested"}
    assert {one.subject for one in of(small).machines.values()} == {None}


def test_the_way_home_is_a_row_for_each_memory(study):
    text = tables.home(study)
    assert all(memory in text for memory in made_up_dcgan.WAYS)
    assert r"\qty{31.5}{\milli\second}" in text  # 5248 pictures, pinned, hidden
    assert "no measurement" in tables.home(of(Study({}, None)))


def test_the_figure_has_every_rung(found):
    shown = words(draw("dcgan_waterfall", asked(waterfall, found)))
    rungs = {"host, loops, 1 thread", "host, parity, 1 thread", "host, parity, 2 threads", "host, BLAS, 2 threads"}
    rungs |= {"pytorch, 2 threads", "cuda, 2 + 2", "cuda, half", "home, TF32", "home, TF32, copy engine"}
    assert rungs | {"pytorch_home, half"} <= set(shown)
    assert "512 channels" in " ".join(shown)


def test_the_table_of_the_ladder_has_no_peers_and_notes_in_prose(study):
    text = ladder.table(study)
    assert r"\texttt{host}, tuned, BLAS, 2 threads &" in text
    assert r"\texttt{home}, float32 &" in text
    assert text.count(r"\texttt{") == len(lines.TABLE[0]) == 15


def test_shares_of_a_rung_stand_in_the_order_of_their_colours(study):
    colours = dict.fromkeys(reversed(lines.PHASES), "red")
    rungs = ladder.rungs_of(study, study.machine("host"), colours)
    assert list(rungs[0].parts) == [phase for phase in colours if phase != "epilogues"]


def test_a_rung_on_all_threads_is_drawn_once_where_there_is_one_thread():
    shown = words(draw("dcgan_waterfall", asked(waterfall, changed(drop=lambda case: case.tuning.get("threads") == 2))))
    assert shown.count("host, parity, 1 thread") == 1
    assert "host, BLAS, 1 thread" in shown
