"""What every chapter keeps to, told of made-up measurements: of all, of none, of some, of toys, of several machines."""

import contextlib
import functools
import re
from dataclasses import replace

import pytest

import chapter
import made_up
from chapter import CHAPTERS, whole
from ladder.catalogue.traits import gpus
from ladder.report.latex import code
from ladder.report.telling import chapter_study, functions, ladder
from ladder.store.study import Study
from made_up import chapters as made

WITH_CLAIMS = [name for name, one in CHAPTERS.items() if "verdicts" in one.tables]
# What a text says of several machines, memory nodes or odd measurements alone, so that one machine lacks it.
ODD = {"other_machine", "binding_alone", "slower_broadcast", "beyond"}
GAP = re.compile(r"<<|<%|%>|>>|\b(?:None|nan|inf)\b|no ?measurement|\\(?:num|qty)\{\}| [,.;:]\s|\(\)|\.\s?\.")
NUMBER = re.compile(r"\\(?:num|qty)\{[^}]*\}(?:\{[^}]*\})?")
TALLY = re.compile("(as|than) claimed|no effect|without effect|opposite|undecided|not tested")
UNMEASURED = re.compile("not measured|No machine|No host|No GPU")
NOTHING = Study({}, None)


def text_of(workload, study):
    """The texts of a chapter, which have no gap."""
    text = chapter.text(workload, study)
    assert [text[max(0, gap.start() - 60) : gap.end()] for gap in GAP.finditer(text)] == []
    return text


text_of_nothing = functools.cache(lambda workload: text_of(workload, NOTHING))


@functools.cache
def told(workload):
    """The text of a chapter of everything, and what it asked for in vain."""
    missing = []

    def noting(name, function):
        def ask(*arguments, **options):
            with contextlib.suppress(chapter_study.NotMeasured):
                if (value := function(*arguments, **options)) is not None:
                    return value
            missing.append((name, arguments))
            raise chapter_study.NotMeasured

        return ask if callable(function) else function

    every = {name: noting(name, function) for name, function in chapter.text_functions(workload).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "of_chapter", lambda study: every)
        return text_of(workload, whole(workload)), [one for one in missing if one[0] not in ODD]


@pytest.mark.parametrize("workload", made.CHAPTERS)
def test_the_configuration_measures_what_lines_claims_and_text_ask_for(workload):
    (text, missing), study = told(workload), chapter.study(workload)
    assert missing == []
    assert code(made_up.MACHINE) in text
    assert not UNMEASURED.search(text)
    assert [key for key in sum(map(list, study.table), [*study.figure]) if study.find(key).empty] == []
    verdicts = chapter.verdicts(workload, whole(workload)).items()
    assert {key for key, verdict in verdicts if verdict == "not tested"} <= made.UNTESTED


@pytest.mark.parametrize("workload", CHAPTERS)
def test_a_chapter_of_nothing_says_so(workload):
    tables = chapter.tables(workload, NOTHING)
    assert UNMEASURED.search(text_of_nothing(workload)) or workload not in WITH_CLAIMS
    assert all("no measurement" in table for name, table in tables.items() if name != "verdicts")
    assert tables.get("verdicts", "").count("not tested") == len(chapter.verdicts(workload, NOTHING))


@pytest.mark.parametrize("workload", CHAPTERS)
def test_tables_hold_every_claim_and_as_the_waterfall_every_line(workload):
    """A line of the ladder stands once whose case another one has, too."""
    tables = chapter.all_tables(workload)
    assert list(tables) == list(CHAPTERS[workload].tables)
    assert [name for name, table in tables.items() if GAP.search(table.replace("()", ""))] == []
    rows = {name: table.count(" \\\\\n") - 1 for name, table in tables.items()}
    if workload not in WITH_CLAIMS:
        return
    assert rows["verdicts"] == len(chapter.verdicts(workload, whole(workload)))
    study = chapter.study(workload)
    cases = {tuple(study.find(key)[["variant", "case"]].iloc[0]) for keys in study.table for key in keys}
    assert rows["ladder"] == len(cases)
    drawn = [key for keys in ladder.groups_of(study).values() for key, _ in ladder.distinct_cases(study, keys)]
    methods = {ladder.rung(study, key, study.find(key), ()).method for key in drawn}
    lines = map(study.line, study.figure)
    assert [line for line in lines if not {line.variant, line.tuning.get("product")} & methods] == []


# Without `descent_kernels_large` the text tells of another largest matrix of elementary kernels.
EXPERIMENTS = {name: [one for one in made.experiments(name) if "_large" not in one] for name in WITH_CLAIMS}
HALVES = [(name, every[1::2]) for name, every in EXPERIMENTS.items()]
EACH = [pytest.param(name, [one], marks=pytest.mark.slow) for name, every in EXPERIMENTS.items() for one in every]


@pytest.mark.parametrize(("workload", "experiments"), HALVES + EACH)
def test_without_some_experiments_no_other_number_is_told(workload, experiments):
    text = text_of(workload, made.study(workload, change=lambda one: None if one.experiment in experiments else one))
    sentences = [part for part in re.split(r"(?<=[.;:]) ", text) if not TALLY.search(part)]
    assert {number for part in sentences for number in NUMBER.findall(part)} <= {*NUMBER.findall(told(workload)[0])}


def test_what_is_not_measured_takes_no_other_sentence_along():
    fewer = text_of("mlp", made.study("mlp", drop=lambda case: case.variant in ("cuda_columns", "numpy_loop")))
    assert not any(name in fewer for name in (r"cuda\_columns", "numpy"))
    lost = [one for one in re.split(r"(?<=[.;:]) ", told("mlp")[0]) if one not in fewer]
    assert [one for one in lost if not any(word in one for word in ("columns", "numpy", "claimed"))] == []
    assert len(lost) == 4  # with the tally of our claims, and what is faster than `cuda_columns`


@pytest.mark.parametrize("workload", WITH_CLAIMS)
def test_toy_sizes_decide_nothing_and_are_not_told(workload):
    """The same cases, an eighth as large."""

    def toy(one):
        names = {"n", "m", "k", "c", "images", "channels"} & {*one.case.sizes}
        case = replace(one.case, sizes=one.case.sizes | {name: one.case.sizes[name] // 8 + 3 for name in names})
        return None if one.experiment == "mlp_accuracy" else replace(one, case=case)  # of which any sizes are told

    toys = made.study(workload, change=toy)
    assert {*chapter.verdicts(workload, toys).values()} == {"not tested"}
    assert {*chapter.machines(workload, toys).values()} == {None}
    assert text_of(workload, toys) == text_of_nothing(workload)


@pytest.mark.parametrize("workload", made.CHAPTERS)
def test_a_chapter_speaks_of_one_machine_if_one_has_host_and_gpu(workload):
    """Else of one with each, and of none with a GPU if there is none."""
    host, drops = made.study(workload, drop=gpus, machine="here"), (None, lambda case: not gpus(case))
    every, gpu = (made.study(workload, drop=drop, machine="there (published)") for drop in drops)
    studies = host, made_up.both(host, every).of("here"), made_up.both(host, gpu).of("here")
    alone, together, apart = (chapter.machines(workload, study) for study in studies)
    roles = {"host", "gpu"} & {*alone}
    assert {together[role] for role in roles} == {"there (published)"}
    assert (alone["host"], alone.get("gpu")) == ("here", None)
    assert len(roles) < 2 or [apart[role] for role in ("host", "gpu")] == ["here", "there (published)"]
    if workload == "gemv":  # other chapters tell of two machines below
        text = text_of(workload, studies[2])
        assert [name for name in ("here", "there (published)") if code(name) not in text] == []


def test_a_machine_with_more_threads_is_told_beside_the_chapters():
    """On 48 threads as long as on 12 of the chapter's, and on 96 as on 2."""

    def wider(one):
        threads = {1: 1, 2: 96, 12: 48}.get(one.case.tuning.get("threads"))
        return threads and replace(one, case=replace(one.case, tuning=one.case.tuning | {"threads": threads}))

    wide = made.study("backprop", drop=gpus, change=wider, machine="wide")
    text = text_of("backprop", made_up.both(whole("backprop"), wide))
    words = r"efficiency of \code{tuned} is \qty{2.1}{"
    assert [one for one in (code("wide"), words) if one in told("backprop")[0] or one not in text] == []
