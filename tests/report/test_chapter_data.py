"""Mistakes in a chapter's data are refused before any measurement, each with a sentence that names file and line."""

import re
import shutil
import sys

import pytest
import yaml

from chapter import CHAPTERS
from conftest import ROOT, TESTS
from ladder.catalogue import locations, sources
from ladder.errors import LadderError
from ladder.planning import configuration
from ladder.report import chapter_conditions, chapter_data, chapters, study_attributes, texts, unmeasured_sources
from ladder.workflow import invocation

# The chapter of the example of a user's workload, a x + y, whose `lines.py` names the experiment `axpy_threads`.
AXPY = TESTS / "workloads/example/axpy/paper"
EXPERIMENTS = {
    "axpy_threads": {"workload": "axpy", "sizes": {"elements": 1000}},
    "mlp_threads": {"workload": "mlp"},
    "dropped": None,
}


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """The folder of the chapter of a user's workload: a copy for each test, whose modules are imported afresh."""
    folder = shutil.copytree(TESTS / "workloads/example", tmp_path / "own")
    monkeypatch.setenv("LADDER_VARIANTS", str(folder))

    def clear_caches():
        sources.clear_caches()
        for name in [name for name in sys.modules if name.startswith("ladder.workloads.axpy")]:
            del sys.modules[name]

    clear_caches()
    yield folder / "axpy/paper"
    clear_caches()


def replace_text(path, old, new):
    """Replace a text of a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("workload", [name for name, chapter in CHAPTERS.items() if chapter.has_lines])
def test_every_chapter_of_the_project_is_accepted(workload):
    chapter_data.require(CHAPTERS[workload])


@pytest.mark.parametrize("workload", CHAPTERS)
def test_the_looks_of_every_chapter_are_accepted(workload):
    chapter_data.require_looks(CHAPTERS[workload])


def test_a_users_chapter_is_accepted(paper):
    chapter_data.require_user_chapters(EXPERIMENTS)
    # The experiment may be in another configuration.
    chapter_data.require_user_chapters({"mlp_threads": {"workload": "mlp"}})


# A mistake is made by replacing a text of a file; `sentence` is the error, in which `place` is the line of the mistake.
@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (
            "__init__.py",
            '"blue", "o"',
            '"bleu", "o"',
            "LOOKS in {place} shows 'vectorised' in 'bleu', which is not a colour: choose blue, orange, "
            "green, red, pink, brown, rose, grey, yellow, sky, indigo, olive, wine, teal, purple or salmon.",
        ),
        (
            "__init__.py",
            '"blue", "o", ""',
            '"blue", "o"',
            "LOOKS in {place} shows 'vectorised' as ('two passes', 'blue', 'o'): give it a label, a "
            "colour, a marker and dashes.",
        ),
        (
            "__init__.py",
            '"parallel":',
            '"paralel":',
            "LOOKS in {place} shows 'paralel', which is not a variant of axpy. Did you mean 'parallel'?",
        ),
        (
            "__init__.py",
            "LOOKS = {",
            'LOOKS = {\n    "paralel": ("one pass", "bleu", "s", ""),\n    ',
            "LOOKS in {place} shows 'paralel' in 'bleu', which is not a colour: choose blue, orange, green, red, pink, "
            "brown, rose, grey, yellow, sky, indigo, olive, wine, teal, purple or salmon.",
        ),
        (
            "claims.py",
            '"own"',
            '"rungs"',
            "CLAIMS in {place} has the group 'rungs', which no table shows: the groups are `earlier` (what "
            "an earlier study claimed) and `own` (claims of our own).",
        ),
        (
            "claims.py",
            '"parallel")',
            '"paralel")',
            "The claim 'one-pass' in {place} names the line 'paralel', which the chapter lacks. Did you mean "
            "'parallel'?",
        ),
        (
            "claims.py",
            '"vectorised", "parallel")',
            '"vectorised")',
            "The claim 'one-pass' in {place} compares nothing: give it `slower` and `faster`, each a line's key or a "
            "Selection (`faster` may be FLOOR), or a function `ratio`.",
        ),
        (
            "claims.py",
            '"vectorised", "parallel")',
            '"vectorised", select("parallel", "sum"))',
            "The claim 'one-pass' in {place} names the source 'sum', which the chapter lacks. Did you mean 'sums'?",
        ),
        (
            "claims.py",
            '"vectorised", "parallel")',
            '"vectorised", "parallel", cause=Cause("threads", "parallel", "one"))',
            "The claim 'one-pass' in {place} names the line 'one', which the chapter lacks.",
        ),
        (
            "lines.py",
            '{}, "sums"',
            '{}, "sum"',
            "The line 'vectorised' in {place} names the source 'sum', which the chapter lacks. Did you mean 'sums'?",
        ),
        (
            "lines.py",
            'Needs(("sums",))',
            'Needs(("sms",))',
            "The machine 'host' in {place} names the source 'sms', which the chapter lacks. Did you mean 'sums'?",
        ),
        (
            "lines.py",
            'Source("host"',
            'Source("hots"',
            "The source 'sums' in {place} names the machine 'hots', which the chapter lacks. Did you mean 'host'?",
        ),
        (
            "lines.py",
            "LINES =",
            'FIGURE = ["naive"]\nLINES =',
            "TABLE or FIGURE in {path} names the line 'naive', which the chapter lacks.",
        ),
        (
            "lines.py",
            "axpy_threads",
            "axpy_thread",
            "The source 'sums' in {place} names the experiment 'axpy_thread', which the configuration lacks. "
            "Did you mean 'axpy_threads'?",
        ),
        (
            "lines.py",
            'Line("parallel"',
            'Line("paralel"',
            "The line 'parallel' in {place} names the variant 'paralel': no variant of axpy is called so. Did "
            "you mean 'parallel'?",
        ),
        (
            "lines.py",
            "SOURCES = {",
            "SOURCES = unknown or {",
            "Line 5 of {paper}/lines.py uses 'unknown', which is not defined.",
        ),
        (
            "lines.py",
            "SOURCES = {",
            "SOURCES = (1 / 0) or {",
            "The import of {paper}/lines.py stopped with ZeroDivisionError: division by zero (line 5 of "
            "{paper}/lines.py). See docs/contracts.md.",
        ),
        (
            "lines.py",
            "import MAX",
            "import MAXIMUM, MAX",
            "Line 3 of {paper}/lines.py imports 'MAXIMUM' from ladder.report.telling.lines, but "
            f"{chapter_data.__file__.removesuffix('chapter_data.py')}telling/lines.py doesn't define it.",
        ),
        (
            "waterfall.py",
            "draw = waterfall_of",
            "draw = waterfall_off",
            "Line 10 of {paper}/waterfall.py uses 'waterfall_off', which is not defined. Did you mean 'waterfall_of'?",
        ),
        (
            "lines.py",
            "elements=1000",
            "element=1000",
            "The source 'sums' in {place} selects by 'element', which is neither a size nor a tuning of a "
            "case of its experiments. Did you mean 'elements'?",
        ),
        (
            "lines.py",
            '{"threads": MAX}',
            '{"thread": MAX}',
            "The line 'parallel' in {place} selects by 'thread', which is neither a size nor a tuning of a "
            "case of its experiments. Did you mean 'threads'?",
        ),
        (
            "lines.py",
            'Needs(("sums",))',
            '("sums",)',
            "`MACHINES` in {place} must be a mapping of keys to `Needs`s, as in `{{key: Needs(...)}}`. See "
            "docs/contracts.md.",
        ),
        (
            "claims.py",
            '[Claim("one-pass", "`parallel` over `vectorised`", "vectorised", "parallel")]',
            'Claim("one-pass", "one pass", "vectorised", "parallel")',
            '`CLAIMS` in {place} must be a mapping of groups to lists of `Claim`s, as in `{{"own": '
            "[Claim(...)]}}`. See docs/contracts.md.",
        ),
        (
            "claims.py",
            '"parallel")]',
            '"parallel"), Claim("one-pass", "again", "vectorised", "parallel")]',
            "The claim 'one-pass' in {place} shares its key with another one: texts couldn't tell them apart.",
        ),
        (
            "claims.py",
            '"parallel")]',
            '"parallel", 3, 2)]',
            "The claim 'one-pass' in {place} has the bounds min=3 and max=2, which no ratio meets: they must "
            "be numbers, and `min` at most `max`.",
        ),
        (
            "claims.py",
            '"parallel")]',
            '"parallel", mn=2)]',
            "The import of {paper}/claims.py stopped with TypeError: Claim.__init__() got an unexpected keyword "
            "argument 'mn' ({place}). Did you mean 'min'? See docs/contracts.md.",
        ),
        (
            "waterfall.py",
            '("axpy_threads",)',
            '("axpy_threads")',
            "`EXPERIMENTS` in {place} is 'axpy_threads': it must be names in a tuple, such as "
            '`("first",)`; a tuple of one name ends with a comma. See docs/contracts.md.',
        ),
        (
            "__init__.py",
            "ORDER = 90",
            'ORDER = 90\nTABLES = ("square",)',
            "`TABLES` in {place} names 'square', but there is no {paper}/tables.py: write it, with "
            "`square(study)`. See docs/contracts.md.",
        ),
        (
            "text.tex",
            "studyfigure{axpy_waterfall}",
            "studyfigure{axpy_waterfal}",
            "{paper}/text.tex:9: there is no figure 'axpy_waterfal'. Did you mean 'axpy_waterfall' or 'mlp_waterfall'?",
        ),
        (
            "text.tex",
            "studytable{axpy_ladder}",
            "studytable{axpy_lader}",
            "{paper}/text.tex:8: there is no table 'axpy_lader'. Did you mean 'axpy_ladder' or 'mlp_ladder'?",
        ),
        (
            "../vectorised.py",
            "DEVICE =",
            "PEER = True\nDEVICE =",
            "RUNGS in line 13 of {folder}/__init__.py lacks `peer: ` before the idea of 'vectorised', but "
            "{folder}/vectorised.py has `PEER = True`: a peer has both. See docs/contracts.md.",
        ),
        (
            "../__init__.py",
            '"two passes',
            '"peer: two passes',
            "RUNGS in line 13 of {folder}/__init__.py has `peer: ` before the idea of 'vectorised', but "
            "{folder}/vectorised.py lacks `PEER = True`: a peer has both. See docs/contracts.md.",
        ),
    ],
)
def test_a_mistake_in_a_chapters_data_ends_the_run_when_it_is_planned(file, old, new, sentence, paper):
    path = paper / file
    replace_text(path, old, new)
    line = path.read_text().partition(new.strip())[0].count("\n") + 1 + new.strip().count("\n")
    replace_text(paper / "claims.py", "import Claim", "import Cause, Claim, select")
    with pytest.raises(SystemExit) as error:
        invocation.require_chapters(EXPERIMENTS)
    places = {"place": f"line {line} of {path}", "path": path, "paper": paper, "folder": paper.parent}
    assert str(error.value) == f"ladder: {sentence.format(**places)}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('<<rate("paralel")>>', "There is no line 'paralel'. Did you mean 'parallel'?"),
        ('<% measured %><<time("parallel")>><<rate("paralel")>><% endmeasured %>', "There is no line 'paralel'."),
        ('<% measured %><% otherwise %><<rate("paralel")>><% endmeasured %>', "There is no line 'paralel'."),
        ('<<speedup("vectorised", "paralel")>>', "There is no line 'paralel'."),
        ('<<rat("parallel")>>', "there is no 'rat' for texts to ask for. Did you mean 'rate'"),
        ('<<machine("hots")>>', "There is no machine 'hots'. Did you mean 'host'?"),
        ('<<size("sums", "element")>>', "named 'element'. Did you mean 'elements'?"),
        ('<<verdict("one-pas")>>', "There is no claim 'one-pas'. Did you mean 'one-pass'?"),
        ("<<lines.UNITS>>", "There is no name 'UNITS'. Did you mean 'UNIT'?"),
        ("<% measured %>", "Unexpected end of template."),
    ],
)
def test_an_unknown_name_anywhere_in_a_text_is_refused_when_planning(text, sentence, paper):
    path = paper / "text.tex"
    path.write_text(f"First.\n{text}\n")
    with pytest.raises(LadderError, match=re.escape(sentence)) as error:
        chapter_data.require_user_chapters(EXPERIMENTS)
    assert str(error.value).startswith(f"{path}:2: ")


def test_texts_of_values_that_a_plan_lacks_are_accepted(paper):
    (paper / "text.tex").write_text(
        '<<result("machines")>> <<gemm.speedup("serial", "openmp")>> <<claimed_ratio("one-pass")>> '
        '<% if median("parallel") > 2 %>A<% endif %> <<median("parallel") + 1>>'
    )
    chapter_data.require_user_chapters(EXPERIMENTS)


# A table and a figure that misspell `find` and `machines`.
TABLE = "def square(study):\n    return study.fnd('parallel')\n"
FIGURE = 'TITLE = "T"\nCATEGORY = "C"\nCAPTION = "C"\n\n\ndef draw(given):\n    return given.machnes\n'


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "tables.py",
            TABLE,
            "Line 2 of {path} uses study.fnd, which the study of a chapter lacks. Did you mean 'find'",
        ),
        ("figure.py", FIGURE, "Line 7 of {path} uses given.machnes, which the study .* Did you mean 'machine"),
    ],
)
def test_an_unknown_attribute_of_the_study_is_refused_when_planning(name, text, sentence, paper):
    replace_text(paper / "__init__.py", "ORDER = 90", 'ORDER = 90\nTABLES = ("square",)')
    (paper / "tables.py").write_text(TABLE.replace("fnd", "find"))
    chapter_data.require_user_chapters(EXPERIMENTS)
    (paper / name).write_text(text)
    sources.clear_caches()
    with pytest.raises(LadderError, match=sentence.format(path=paper / name)):
        chapter_data.require_user_chapters(EXPERIMENTS)


@pytest.mark.parametrize("workload", [name for name, chapter in CHAPTERS.items() if chapter.has_lines])
def test_every_attribute_of_the_study_that_a_chapter_of_the_project_reads_exists(workload):
    study_attributes.require(CHAPTERS[workload])


@pytest.mark.parametrize("name", ["text.tex", "claims.py"])
def test_a_file_of_a_chapter_in_another_encoding_is_refused(name, paper):
    (paper / name).write_bytes(b"# Stra\xdfe")
    with pytest.raises(LadderError, match=f"{paper / name} isn't text in UTF-8 .*: save it in that encoding"):
        locations.require_utf8_files()


@pytest.mark.parametrize("workload", CHAPTERS)
def test_the_tables_and_figures_in_the_texts_of_every_chapter_exist(workload):
    chapter_data.require_tables_and_figures(CHAPTERS[workload])


@pytest.mark.parametrize("workload", CHAPTERS)
def test_the_texts_of_every_chapter_are_accepted(workload):
    texts.require_names(CHAPTERS[workload])


def test_lines_and_sources_of_every_chapter_belong_to_the_configuration():
    experiments = configuration.load([ROOT / "config/config.yaml"])["experiments"]
    for chapter in (chapter for chapter in CHAPTERS.values() if chapter.has_lines):
        chapter_data.require_experiments(chapter, experiments)
        chapter_data.require_variants(chapter, experiments)
        chapter_conditions.require(chapter, experiments)
        for name, source in chapter_data.module(chapter, "lines").SOURCES.items():
            assert unmeasured_sources.reason(chapter, name, source, experiments) is None, name


def test_a_source_without_a_case_of_its_sizes_is_reported_but_accepted(paper, capsys):
    sizes = {"elements": [10, 100], "dtype": "float64"}
    experiments = {"axpy_threads": {"workload": "axpy", "sizes": sizes}}
    invocation.require_chapters(experiments)
    assert capsys.readouterr().err == (
        f"ladder: The source 'sums' in line 5 of {paper}/lines.py asks for elements=1000, which no case of "
        "axpy_threads has, only 10 and 100: the chapter will say that nothing was measured.\n"
    )
    sizes["elements"] = [10, 1000]
    invocation.require_chapters(experiments)
    assert not capsys.readouterr().err


def test_claims_of_an_unknown_group_are_refused_in_a_report_too(paper):
    from ladder.store.study import Study

    replace_text(paper / "claims.py", '"own"', '"ours"')
    with pytest.raises(LadderError, match=r"CLAIMS in .*claims\.py has the group 'ours'"):
        chapters.verdicts(Study({}, None))


def test_the_page_on_chapters_writes_the_example_file_by_file():
    """A test of the workflow measures, draws and typesets it, at another size."""
    page = (ROOT / "docs/how-to/chapter.md").read_text(encoding="utf-8")
    files_on_page = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page, re.DOTALL))
    files = {path.name: path.read_text(encoding="utf-8") for path in AXPY.glob("*.*")}
    assert files_on_page == files | {"lines.py": files["lines.py"].replace("elements=1000)", "elements=1000000)")}
    config, claims = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert "`claims: [axpy_claims.yaml]`" in page
    for page_config in ({"experiments": config["experiments"]}, claims):
        validated = configuration.validate(page_config)
        assert validated["experiments"]["axpy_threads"]["sizes"] == {"elements": 1000000}
