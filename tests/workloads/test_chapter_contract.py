"""Rules that every chapter keeps, on made-up measurements: complete, none, partial, toys, of several machines."""

import contextlib
import functools
import re
from dataclasses import replace

import pytest

import chapter
import made_up
from chapter import CHAPTERS, full_study
from ladder.catalogue.traits import gpus
from ladder.report.latex import code
from ladder.report.telling import chapter_study, functions
from ladder.report.telling import ladder as ladders
from ladder.store.study import Study
from made_up import chapters as made_chapters

WITH_CLAIMS = [name for name, files in CHAPTERS.items() if "verdicts" in files.tables]
# Functions that have a value only with several machines or memory nodes, or with unusual results.
CONDITIONAL = {"other_machine", "binding_speedup", "broadcast_slowdown", "phases_over_call", "verdict_machine"}
# What a missing value leaves in a text: a tag, None, an empty number, or punctuation after nothing.
GAP = re.compile(r"<<|<%|%>|>>|\b(?:None|nan|inf)\b|no ?measurement|\\(?:num|qty)\{\}| [,.;:]\s|\(\)|\.\s?\.")
NUMBER = re.compile(r"\\(?:num|qty)\{[^}]*\}(?:\{[^}]*\})?")
VERDICT_WORDS = re.compile("(as|than) claimed|no effect|without effect|opposite|undecided|not tested")
UNMEASURED = re.compile("not measured|No machine|No host|No GPU")
EMPTY_STUDY = Study({}, None)


def gapless_text(workload, study):
    """The text of a chapter; asserts that it has no gap."""
    text = chapter.text(workload, study)
    assert [text[max(0, gap.start() - 60) : gap.end()] for gap in GAP.finditer(text)] == []
    return text


empty_text = functools.cache(lambda workload: gapless_text(workload, EMPTY_STUDY))


@functools.cache
def text_and_missing(workload):
    """The text of a chapter for a study of all its cases, and the calls in it that had no measurement."""
    missing = []

    def record_missing(name, function):
        def call(*arguments, **options):
            with contextlib.suppress(chapter_study.NotMeasured):
                if (value := function(*arguments, **options)) is not None:
                    return value
            missing.append((name, arguments))
            raise chapter_study.NotMeasured

        return call if callable(function) else function

    recording = {name: record_missing(name, value) for name, value in chapter.text_functions(workload).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "template_names", lambda study: recording)
        return gapless_text(workload, full_study(workload)), [call for call in missing if call[0] not in CONDITIONAL]


@pytest.mark.parametrize("workload", made_chapters.WORKLOADS)
def test_the_configuration_measures_everything_that_lines_claims_and_text_need(workload):
    (text, missing), study = text_and_missing(workload), chapter.study(workload)
    assert missing == []
    assert code(made_up.MACHINE) in text
    assert not UNMEASURED.search(text)
    assert [key for key in sum(map(list, study.table), [*study.figure]) if study.find(key).empty] == []
    verdicts = chapter.verdicts(workload, full_study(workload)).items()
    assert {key for key, verdict in verdicts if verdict == "not tested"} <= made_chapters.UNTESTED_CLAIMS


@pytest.mark.parametrize("workload", CHAPTERS)
def test_a_chapter_without_measurements_says_so(workload):
    tables = chapter.tables(workload, EMPTY_STUDY)
    assert UNMEASURED.search(empty_text(workload)) or workload not in WITH_CLAIMS
    assert all("no measurement" in table for name, table in tables.items() if name != "verdicts")
    assert tables.get("verdicts", "").count("not tested") == len(chapter.verdicts(workload, EMPTY_STUDY))


@pytest.mark.parametrize("workload", CHAPTERS)
def test_tables_have_a_row_for_each_claim_and_each_case_of_a_line(workload):
    """Lines with the same case share a row, in the waterfall too."""
    tables = chapter.all_tables(workload)
    assert list(tables) == list(CHAPTERS[workload].tables)
    assert [name for name, table in tables.items() if GAP.search(table.replace("()", ""))] == []
    rows = {name: table.count(" \\\\\n") - 1 for name, table in tables.items()}
    if workload not in WITH_CLAIMS:
        return
    assert rows["verdicts"] == len(chapter.verdicts(workload, full_study(workload)))
    study = chapter.study(workload)
    cases = {tuple(study.find(key)[["variant", "case"]].iloc[0]) for keys in study.table for key in keys}
    assert rows["ladder"] == len(cases)
    drawn = [key for keys in ladders.lines_by_panel(study).values() for key, _ in ladders.distinct_cases(study, keys)]
    methods = {ladders.rung(study, key, study.find(key), ()).method for key in drawn}
    lines = map(study.line, study.figure)
    assert [line for line in lines if not {line.variant, line.tuning.get("product")} & methods] == []


# Experiments without which the text rightly reports other sizes as the smallest or the largest ones.
WITH_ENDS_OF_RANGES = {"dcgan_few", "descent_kernels_large", "descent_large"}
EXPERIMENTS = {
    key: [name for name in made_chapters.experiments(key) if name not in WITH_ENDS_OF_RANGES] for key in WITH_CLAIMS
}
EVERY_SECOND_EXPERIMENT = [(workload, names[1::2]) for workload, names in EXPERIMENTS.items()]
SINGLE_EXPERIMENTS = [
    pytest.param(key, [name], marks=pytest.mark.exhaustive) for key, names in EXPERIMENTS.items() for name in names
]


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "experiments"), EVERY_SECOND_EXPERIMENT + SINGLE_EXPERIMENTS)
def test_dropping_experiments_adds_no_new_number(workload, experiments):
    study = made_chapters.study(
        workload, change=lambda measurement: None if measurement.experiment in experiments else measurement
    )
    text = gapless_text(workload, study)
    sentences = [part for part in re.split(r"(?<=[.;:]) ", text) if not VERDICT_WORDS.search(part)]
    complete, _ = text_and_missing(workload)
    assert {number for part in sentences for number in NUMBER.findall(part)} <= {*NUMBER.findall(complete)}


def test_missing_cases_remove_only_their_own_sentences():
    study = made_chapters.study("mlp", drop=lambda case: case.variant in ("cuda_columns", "numpy_loop"))
    text = gapless_text("mlp", study)
    assert not any(name in text for name in (r"cuda\_columns", "numpy"))
    lost = [part for part in re.split(r"(?<=[.;:]) ", text_and_missing("mlp")[0]) if part not in text]
    assert [part for part in lost if not any(word in part for word in ("columns", "numpy", "claimed"))] == []
    assert len(lost) == 4  # two of the variants, the tally of our claims, and what is faster than `cuda_columns`


@pytest.mark.parametrize("workload", WITH_CLAIMS)
def test_toy_sizes_decide_nothing_and_are_not_reported(workload):
    """The same cases, about an eighth as large; of trainings, the text reports the accuracy at any size."""

    def toy(measurement):
        sizes = measurement.case.sizes
        names = {"n", "m", "k", "c", "images", "channels"} & {*sizes}
        case = replace(measurement.case, sizes=sizes | {name: sizes[name] // 8 + 3 for name in names})
        return None if measurement.experiment == "mlp_accuracy" else replace(measurement, case=case)

    toys = made_chapters.study(workload, change=toy)
    assert {*chapter.verdicts(workload, toys).values()} == {"not tested"}
    assert {*chapter.machines(workload, toys).values()} == {None}
    assert gapless_text(workload, toys) == empty_text(workload)


@pytest.mark.parametrize("workload", made_chapters.WORKLOADS)
def test_a_chapter_speaks_of_one_machine_if_one_has_host_and_gpu(workload):
    """Otherwise it names one machine for the host and one for the GPU; without a GPU, only the host's."""
    host, drops = made_chapters.study(workload, drop=gpus, machine="here"), (None, lambda case: not gpus(case))
    combined, gpu = (made_chapters.study(workload, drop=drop, machine="there (published)") for drop in drops)
    studies = host, made_up.merge(host, combined).for_machine("here"), made_up.merge(host, gpu).for_machine("here")
    host_only, together, separate = (chapter.machines(workload, study) for study in studies)
    roles = {"host", "ladder", "gpu"} & {*host_only}
    assert {together[role] for role in roles} == {"there (published)"}
    assert (host_only.get("host", host_only.get("ladder")), host_only.get("gpu")) == ("here", None)
    assert len(roles) < 2 or [separate[role] for role in ("host", "gpu")] == ["here", "there (published)"]
    if workload == "gemv":  # other chapters name the second machine only where they need it
        text = gapless_text(workload, studies[2])
        assert [name for name in ("here", "there (published)") if code(name) not in text] == []


def test_a_machine_with_more_threads_is_named_beside_the_chapters():
    """Its times on 48 threads are the chapter's on 12, and those on 96 threads the chapter's on 2."""

    def on_more_threads(measurement):
        case = measurement.case
        threads = {1: 1, 2: 96, 12: 48}.get(case.tuning.get("threads"))
        return threads and replace(measurement, case=replace(case, tuning=case.tuning | {"threads": threads}))

    wide = made_chapters.study("backprop", drop=gpus, change=on_more_threads, machine="wide")
    text = gapless_text("backprop", made_up.merge(full_study("backprop"), wide))
    words = r"efficiency of \code{tuned} is \qty{2.1}{"  # 2 / 96, in per cent: a speed-up of 2, on 96 threads
    assert [part for part in (code("wide"), words) if part in text_and_missing("backprop")[0] or part not in text] == []
