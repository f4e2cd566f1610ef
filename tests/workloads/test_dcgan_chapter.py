"""What the paper says of the generator beside what every chapter does, of made-up times."""

from dataclasses import replace

import pandas as pd
import pytest

import chapter
import made_up
from drawings import draw, words
from ladder.report.telling import amortisation, chapter_study, ladder, traces
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import MAX
from ladder.statistics.claims import Ratio
from ladder.store.study import NO_ROWS, Study, middle
from ladder.workloads.dcgan.paper import lines, splits, tables, timeline, waterfall
from ladder.workloads.dcgan.paper.lines import FIGURE, IMAGES, LINES, TABLE
from made_up import MACHINE
from made_up import chapters as made

EVERY = made.whole("dcgan")
SEVERAL = (lines.CARDS, lines.HALF)


@pytest.fixture(scope="module")
def study():
    return chapter_study.of_chapter("dcgan", EVERY)


def count(case):
    return case.tuning.get("gpus", case.tuning.get("ranks"))


def test_a_sentence_goes_with_its_own_measurement_alone():
    fewer = made.study("dcgan", drop=lambda case: case.tuning.get("epilogue") == "folded" or case.variant == "mpi_home")
    text = chapter.text("dcgan", fewer)
    assert not any(words in text for words in ("norms folded", "MPI ranks have"))
    assert all(words in text for words in ("Launched as one graph", "With one graph per GPU, the efficiency"))


def test_every_line_of_the_ladder_is_one_case(study):
    for key, seconds in made.PICTURE.items():
        threads = 2 if LINES[key].tuning.get("threads") == MAX else 1
        assert middle(study.rows(key)) == pytest.approx(seconds / threads, rel=0.02), key
    assert set(made.PICTURE) == {*FIGURE}


def test_without_phases_nothing_is_said_of_the_link():
    unknown = made.study("dcgan", change=lambda one: replace(one, phases={}))
    assert chapter.verdicts("dcgan", unknown, "home/float16") == {"home/float16": "not tested"}


def test_pictures_for_a_screen_are_no_rungs(study):
    assert set(study.frame("card")["pictures"]) == {"float32"}


def test_what_epilogues_and_a_graph_gain_is_told_step_by_step():
    """A picture takes 9 us with kernels for batch norms, as with these in the weights, then 6, and as a graph 5."""
    text = chapter.text("dcgan")
    assert r"the generator ties with one that runs them as kernels within" in text
    assert r"it is \num{1.5}\,$\times$ faster than one that runs these as kernels" in text
    assert r"as one graph, it is \num{1.2}" in text


def test_gpus_that_never_pay_are_said_to():
    slow = made.study("dcgan", factor=lambda case: 3.0 if case.tuning.get("gpus") == 2 else 1.0)
    pays = chapter.asked("dcgan", slow)["pays"]
    assert pays("two", 2) == pays("two", 2, with_start=True)
    assert pays("two", 2).startswith("pay off at no number")
    undecided = [(10, Ratio(1.1, 0.9, 1.3)), (IMAGES, Ratio(0.95, 0.8, 1.1))]
    words = "from {} on", "everywhere", "nowhere", "undecided from {first} on"
    assert amortisation.crossing(undecided, *words) == r"undecided from \num{10} on"
    assert amortisation.crossing([(10, None)], *words) is None


def test_two_gpus_alone_are_not_the_most():
    two = made.study("dcgan", drop=lambda case: count(case) == 4)
    with pytest.raises(NotMeasured):
        chapter.asked("dcgan", two)["most_cards"]()
    assert "no measurement" in chapter.tables("dcgan", two)["most_cards"]


def test_the_first_machine_with_most_gpus_is_told_of():
    def of(name, has_four):
        """Of some GPUs alone, of four in half precision if no others have four."""

        def change(one):
            is_shown = one.experiment in SEVERAL and (has_four or one.experiment == lines.HALF or count(one.case) < 4)
            return one if is_shown else None

        return made.study("dcgan", change=change, machine=name)

    several = made_up.both(made_up.both(of("a", False), of("b", True)), of("c", True))
    machines = chapter.machines("dcgan", several)
    assert (machines["two"], machines["four"], machines["most"]) == ("a", "b", "b")


def test_earlier_and_present_times_stand_side_by_side():
    rows = chapter.tables("dcgan")["cards"].splitlines()
    row = next(row for row in rows if row.startswith(r"\num{5248}"))
    cells = [cell.split("}")[0].split("{")[-1] for cell in row.split("&")]
    assert cells == ["5248", "1.01", "647", "504", "31.5", "15.7", "7.87", "430", "720", "1.3"]
    titles = [title.strip(" \\") for title in rows[3].split("&")]
    assert titles == ["Pictures", "2 GPUs", "4 GPUs", "8 GPUs"] + ["1 GPU", "2 GPUs", "4 GPUs"] * 2
    pictures = [row.split("}")[0] for row in rows if row.startswith(r"\num{")]
    assert pictures == [r"\num{10", r"\num{100", r"\num{1000", r"\num{5248"]


def test_ways_of_the_most_gpus_stand_below_each_other():
    """In the made-up study half precision lacks two GPUs."""
    text = chapter.tables("dcgan")["most_cards"]
    ways = {row.split(" & ")[0]: row for row in text.splitlines() if row.startswith(tuple(tables.WAYS))}
    assert list(ways) == list(tables.WAYS)
    shares = [row.split(" & ")[-1].split("}")[0] for row in ways.values()]
    assert shares == [rf"\qty{{{share}" for share in (100, 80, 50, 100, 25, 25)]
    assert ways["threads, half precision, a graph each"].split(" & ")[2] == "--"
    assert "& 4 GPUs & efficiency on 4" in text
    alone = made.study("dcgan", drop=lambda case: count(case) == 2)
    assert "& 1 GPU & 4 GPUs & efficiency" in chapter.tables("dcgan", alone)["most_cards"]


def test_layers_are_rates_of_exact_products_and_copies_have_a_row_for_each_memory():
    made_tables = chapter.tables("dcgan")
    assert made_tables["layers"].count("40.0") == 4
    assert all(memory in made_tables["home"] for memory in made.WAYS)
    assert r"\qty{31.5}{\milli\second}" in made_tables["home"]  # 5248 pictures, pinned, hidden


def traced(machines, ways, experiment):
    """The tables of an experiment with a bar of each way on each machine."""
    rows = []
    for name, selection in ((name, way) for name in machines for way in ways):
        case = made.of_line("dcgan", selection, 1.0, images=IMAGES).case
        bar = {"lane": "card", "name": "1", "start": 0.0, "end": 1.0}
        own = {"machine": name, "variant": case.variant, "case": case.slug, **case.tuning} | bar
        rows += [own | {"process": number} for number in (0, 1)]
    return {experiment: {"samples": NO_ROWS, "traces": pd.DataFrame(rows)}}


def test_timelines_are_of_every_machine_that_was_traced():
    every = traced(("a", "b"), splits.WAYS.values(), lines.SPLITS)
    some = every[lines.SPLITS]["traces"]
    every[lines.SPLITS]["traces"] = some[(some["machine"] == "b") | (some["split"] == 2)]

    def titled(tables):
        return traces.of_selections(chapter_study.of_chapter("dcgan", Study(tables, None)), lines.SPLITS, splits.WAYS)

    assert list(titled(every)) == ["a: 2 + 2", "b: 2 + 2", "b: 3 + 1", "b: 4 + 0"]
    assert {len(rows) for rows in titled(every).values()} == {1}  # of one process
    assert titled({}) == {}


def asked(figure, study):
    """The tables that a figure asks for."""
    return {name: dict(study.tables[name]) for name in figure.EXPERIMENTS if name in study.tables}


def test_the_timeline_is_of_the_chapters_gpu():
    shown = asked(timeline, EVERY)
    shown[lines.HOME] |= {"traces": traced(("a", MACHINE), timeline.WAYS.values(), lines.HOME)[lines.HOME]["traces"]}
    text = " ".join(words(draw("dcgan_timeline", shown)))
    assert f"{MACHINE}: copies after each batch" in text
    assert " a: copies" not in text


@pytest.mark.parametrize("figure", [waterfall, timeline])
def test_a_machine_with_host_and_gpu_comes_before_one_with_a_gpu(figure):
    gpu = made.study("dcgan", drop=lambda case: case.variant in ("host", "pytorch"), machine="A")
    machines = chapter.machines("dcgan", Study(asked(figure, made_up.both(EVERY, gpu)), None))
    assert (machines["host"], machines["card"]) == (MACHINE, MACHINE)


def test_a_rung_on_all_threads_is_drawn_once_where_there_is_one_thread():
    fewer = made.study("dcgan", drop=lambda case: case.tuning.get("threads") == 2)
    shown = words(draw("dcgan_waterfall", asked(waterfall, fewer)))
    assert shown.count("host, parity, 1 thread") == 1
    rungs = {"host, loops, 1 thread", "host, BLAS, 1 thread", "pytorch, 1 thread", "cuda, 2 + 2", "cuda, half"}
    assert rungs | {"home, TF32", "home, TF32, copy engine", "pytorch_home, half"} <= {*shown}
    assert "512 channels" in " ".join(shown)


def test_the_table_of_the_ladder_has_no_peers_and_notes_in_prose():
    text = chapter.tables("dcgan")["ladder"]
    assert r"\texttt{host}, tuned, BLAS, 2 threads &" in text
    assert r"\texttt{home}, float32 &" in text
    assert text.count(r"\texttt{") == len(TABLE[0]) == 15


def test_shares_of_a_rung_stand_in_the_order_of_their_colours(study):
    colours = dict.fromkeys(reversed(lines.PHASES), "red")
    rung = ladder.rung(study, "loops", study.find("loops"), colours)
    assert list(rung.parts) == [phase for phase in colours if phase != "epilogues"]
