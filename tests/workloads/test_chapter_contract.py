"""What every chapter keeps to, told of made-up measurements: of all, of none, of some, of toys, of several machines."""

import functools
import re
from dataclasses import replace

import pytest

import chapter
import made_up
from chapter import CHAPTERS, whole
from drawings import ceilings, draw, planned, words
from ladder.catalogue.workloads import gpus
from ladder.report import figures
from ladder.report.latex import code
from ladder.report.telling import chapter_study, functions
from ladder.report.telling.chapter_study import NotMeasured
from ladder.store.study import Study
from made_up import MACHINE, Measurement
from made_up import chapters as made

HAVING_LINES = [name for name, one in CHAPTERS.items() if one.has_lines]
WITH_CLAIMS = [name for name, one in CHAPTERS.items() if "verdicts" in one.tables]
# What a text says of several machines, memory nodes or odd measurements alone, so that one machine lacks it.
ODD = {"other_machine", "binding_alone", "slower_broadcast", "beyond"}
GAP = re.compile(r"<<|<%|%>|>>|\b(?:None|nan|inf)\b|no ?measurement|\\(?:num|qty)\{\}| [,.;:]\s|\(\)|\.\s?\.")
NUMBER = re.compile(r"\\(?:num|qty)\{[^}]*\}(?:\{[^}]*\})?")
TALLY = re.compile("confirmed|weaker|refuted|not tested")


def text_of(workload, study):
    """The texts of a chapter, which have no gap."""
    text = chapter.text(workload, study)
    assert [text[max(0, gap.start() - 60) : gap.end()] for gap in GAP.finditer(text)] == []
    return text


def on_gpu(case):
    return gpus(case) > 0


def lacking(workload, study):
    """The text of a chapter, and what of its lines and claims, and of what the text asks for, was not measured."""
    lines, missing = CHAPTERS[workload].study(study), []

    def noting(name, function):
        def ask(*arguments, **options):
            try:
                value = function(*arguments, **options)
            except NotMeasured:
                value = None
            if value is None:
                missing.append((name, arguments))
                raise NotMeasured
            return value

        return ask if callable(function) else function

    every = {name: noting(name, function) for name, function in chapter.asked(workload, study).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "of_chapter", lambda study: every)
        text = text_of(workload, study)
    missing += [key for group in lines.table for key in group if lines.find(key).empty]
    missing += [key for key, verdict in chapter.verdicts(workload, study).items() if verdict == "not tested"]
    return text, [one for one in missing if one != "nodes" and one[0] not in ODD]


@functools.cache
def all_told(workload):
    """The same of everything."""
    return lacking(workload, whole(workload))


@pytest.mark.parametrize("workload", HAVING_LINES)
def test_everything_that_was_measured_is_told(workload):
    text, missing = all_told(workload)
    assert missing == []
    assert code(MACHINE) in text
    assert not re.search("not measured|No machine|No host|No GPU", text)


@pytest.mark.parametrize("workload", HAVING_LINES)
def test_the_configuration_measures_what_lines_claims_and_text_ask_for(workload):
    """On a machine with a GPU, each case as long as any; only what its runs tell beside their times is made up."""
    sources, (_, completed) = CHAPTERS[workload].study(whole(workload)).sources.values(), made.CHAPTERS[workload]
    chosen = [one for name, some in made.measurements(workload).items() if "ceiling" in name for one in some]
    for name in sorted({name for source in sources for name in source.experiments}):
        for case in planned((1, 2, 4, 12, 24))[name]:
            seconds = (1e-3 if case.tuning.get("graph") == "on" else 2e-3) / case.cores
            chosen.append(completed(Measurement(name, case, seconds)))
    assert lacking(workload, made_up.study(chosen, processes=3, samples=1))[1] == []


@pytest.mark.parametrize("workload", CHAPTERS)
def test_a_chapter_of_nothing_says_so(workload):
    nothing = Study({}, None)
    text, tables = text_of(workload, nothing), chapter.tables(workload, nothing)
    assert re.search("not measured|No machine|No host|No GPU", text) or workload not in WITH_CLAIMS
    assert all("no measurement" in table for name, table in tables.items() if name != "verdicts")
    claims = chapter.verdicts(workload, nothing)
    assert tables.get("verdicts", "").count("not tested") == len(claims)


@pytest.mark.parametrize("workload", CHAPTERS)
def test_tables_hold_every_line_and_claim(workload):
    tables = chapter.tables(workload)
    assert list(tables) == list(CHAPTERS[workload].tables)
    for name, table in tables.items():
        assert "no measurement" not in table, name
        assert not GAP.search(table.replace("()", "")), name
    if workload in WITH_CLAIMS:
        assert tables["verdicts"].count(" \\\\\n") == 1 + len(chapter.verdicts(workload, whole(workload)))


def without(workload, experiments):
    """The text of a chapter without some experiments; its numbers are those of the text with all."""
    text = text_of(workload, made.study(workload, change=lambda one: None if one.experiment in experiments else one))
    sentences = [part for part in re.split(r"(?<=[.;:]) ", text) if not TALLY.search(part)]
    assert {number for part in sentences for number in NUMBER.findall(part)} <= {*NUMBER.findall(all_told(workload)[0])}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("workload", WITH_CLAIMS)
def test_without_every_second_experiment_no_other_number_is_told(workload, first):
    without(workload, list(made.measurements(workload))[first::2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "experiment"), [(name, one) for name in WITH_CLAIMS for one in made.measurements(name)]
)
def test_without_an_experiment_no_other_number_is_told(workload, experiment):
    without(workload, [experiment])


@pytest.mark.parametrize("workload", WITH_CLAIMS)
def test_toy_sizes_decide_nothing_and_are_not_told(workload):
    """The same cases, an eighth as large."""

    def toy(one):
        sizes = {
            name: one.case.sizes[name] // 8 + 3 for name in "n m k c images channels".split() if name in one.case.sizes
        }
        case = replace(one.case, sizes=one.case.sizes | sizes)
        return None if one.experiment == "mlp_accuracy" else replace(one, case=case)  # of which any sizes are told

    toys = made.study(workload, change=toy)
    assert {*chapter.verdicts(workload, toys).values()} == {"not tested"}
    assert {*chapter.machines(workload, toys).values()} == {None}
    assert text_of(workload, toys) == text_of(workload, Study({}, None))


@pytest.mark.parametrize("workload", HAVING_LINES)
def test_a_chapter_speaks_of_one_machine_if_one_has_host_and_gpu(workload):
    """Else of one with each, and says so."""
    host = made.study(workload, drop=on_gpu, machine="here")
    every, gpu = (
        made.study(workload, drop=drop, machine="there (published)") for drop in (None, lambda case: not on_gpu(case))
    )
    together, apart = (chapter.machines(workload, made_up.both(host, other).of("here")) for other in (every, gpu))
    roles = {"host", "card"} & {*together}
    assert {together[role] for role in roles} == {"there (published)"}
    alone = chapter.machines(workload, host)
    assert (alone["host"], alone.get("card")) == ("here", None)
    if len(roles) == 2:
        assert [apart[role] for role in ("host", "card")] == ["here", "there (published)"]
    if len(roles) == 2 and workload in WITH_CLAIMS:
        text = text_of(workload, made_up.both(host, gpu).of("here"))
        assert {name for name in ("here", "there (published)") if code(name) not in text} == set()


@pytest.mark.parametrize("workload", WITH_CLAIMS)
def test_the_waterfall_shows_every_rung(workload):
    name, study = f"{workload}_waterfall", whole(workload)
    asked = {one: study.tables[one] for one in figures.constants(name)["EXPERIMENTS"]}
    shown = {re.split("[ ,]", text)[0] for text in words(draw(name, asked, ceilings((MACHINE,))))}
    lines = chapter_study.module(workload, "lines")
    rungs = [lines.LINES[key] for key in getattr(lines, "FIGURE", lines.LINES)]
    assert [rung for rung in rungs if not {rung.variant, rung.tuning.get("product")} & shown] == []
