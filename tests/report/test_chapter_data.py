"""Names in a chapter's data that nothing has: each is a sentence with file and nearest name, before any measurement."""

import re
import shutil
import sys

import pytest
import yaml

from chapter import CHAPTERS
from conftest import ROOT, TESTS
from ladder.catalogue import sources
from ladder.errors import LadderError
from ladder.planning import configuration
from ladder.report import chapter_data, chapters, texts, unmeasured_sources
from ladder.workflow import invocation

AXPY = TESTS / "workloads/own/axpy/paper"
EXPERIMENTS = {
    "axpy_threads": {"workload": "axpy", "sizes": {"elements": 1000}},
    "mlp_threads": {"workload": "mlp"},
    "dropped": None,
}


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """The folder of the chapter of a user's workload, imported anew."""
    folder = shutil.copytree(TESTS / "workloads/own", tmp_path / "own")
    monkeypatch.setenv("LADDER_VARIANTS", str(folder))

    def forget():
        sources.forget()
        for name in [name for name in sys.modules if name.startswith("ladder.workloads.axpy")]:
            del sys.modules[name]

    forget()
    yield folder / "axpy/paper"
    forget()


def change(path, old, new):
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
    chapter_data.require_users(EXPERIMENTS)
    chapter_data.require_users({"mlp_threads": {"workload": "mlp"}})  # the experiment is in another configuration


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (
            "__init__.py",
            '"blue", "o"',
            '"bleu", "o"',
            "LOOKS in {paper}/__init__.py shows 'vectorised' in 'bleu', which is not a colour: choose blue, orange, "
            "green, red, pink, brown, rose, grey, yellow, sky or indigo.",
        ),
        (
            "__init__.py",
            '"blue", "o", ""',
            '"blue", "o"',
            "LOOKS in {paper}/__init__.py shows 'vectorised' as ('two passes', 'blue', 'o'): give it a label, a "
            "colour, a marker and dashes.",
        ),
        (
            "__init__.py",
            '"parallel":',
            '"paralel":',
            "LOOKS in {paper}/__init__.py shows 'paralel', which is not a variant of axpy. Did you mean 'parallel'?",
        ),
        (
            "claims.py",
            '"own"',
            '"rungs"',
            "CLAIMS in {paper}/claims.py has the group 'rungs', which no table shows: the groups are `earlier` (what "
            "an earlier study claimed) and `own` (claims of our own).",
        ),
        (
            "claims.py",
            '"parallel")',
            '"paralel")',
            "The claim 'one-pass' in {paper}/claims.py names the line 'paralel', which the chapter lacks. Did you mean "
            "'parallel'?",
        ),
        (
            "claims.py",
            '"vectorised", "parallel")',
            '"vectorised")',
            "The claim 'one-pass' in {paper}/claims.py compares nothing: give it `slower` and `faster`, the keys of "
            "two lines.",
        ),
        (
            "claims.py",
            '"vectorised", "parallel")',
            '"vectorised", select("parallel", "sum"))',
            "The claim 'one-pass' in {paper}/claims.py names the source 'sum', which the chapter lacks. Did you mean "
            "'sums'?",
        ),
        (
            "claims.py",
            '"vectorised", "parallel")',
            '"vectorised", "parallel", cause=Cause("threads", "parallel", "one"))',
            "The claim 'one-pass' in {paper}/claims.py names the line 'one', which the chapter lacks.",
        ),
        (
            "lines.py",
            '{}, "sums"',
            '{}, "sum"',
            "The line 'vectorised' in {paper}/lines.py names the source 'sum', which the chapter lacks. Did you mean "
            "'sums'?",
        ),
        (
            "lines.py",
            'Needs(("sums",))',
            'Needs(("sms",))',
            "The machine 'host' in {paper}/lines.py names the source 'sms', which the chapter lacks. Did you mean "
            "'sums'?",
        ),
        (
            "lines.py",
            'Source("host"',
            'Source("hots"',
            "The source 'sums' in {paper}/lines.py names the machine 'hots', which the chapter lacks. Did you mean "
            "'host'?",
        ),
        (
            "lines.py",
            "LINES =",
            'FIGURE = ["naive"]\nLINES =',
            "TABLE or FIGURE in {paper}/lines.py names the line 'naive', which the chapter lacks.",
        ),
        (
            "lines.py",
            "axpy_threads",
            "axpy_thread",
            "The source 'sums' in {paper}/lines.py names the experiment 'axpy_thread', which the configuration lacks. "
            "Did you mean 'axpy_threads'?",
        ),
        (
            "lines.py",
            'Line("parallel"',
            'Line("paralel"',
            "The line 'parallel' in {paper}/lines.py names the variant 'paralel': no variant of axpy is called so. Did "
            "you mean 'parallel'?",
        ),
        (
            "lines.py",
            "SOURCES = {",
            "SOURCES = unknown or {",
            "The import of {paper}/lines.py stopped with NameError: name 'unknown' is not defined (line 5 of "
            "{paper}/lines.py). See docs/contracts.md.",
        ),
        (
            "../vectorised.py",
            "DEVICE =",
            "PEER = True\nDEVICE =",
            "RUNGS of axpy lacks `peer: ` before the idea of 'vectorised', but {folder}/vectorised.py has `PEER = "
            "True`: a peer has both.",
        ),
        (
            "../__init__.py",
            '"two passes',
            '"peer: two passes',
            "RUNGS of axpy has `peer: ` before the idea of 'vectorised', but {folder}/vectorised.py lacks `PEER = "
            "True`: a peer has both.",
        ),
    ],
)
def test_a_name_that_nothing_has_ends_the_run_when_it_is_planned(file, old, new, sentence, paper):
    change(paper / file, old, new)
    change(paper / "claims.py", "import Claim", "import Cause, Claim, select")
    with pytest.raises(SystemExit) as error:
        invocation.require_chapters(EXPERIMENTS)
    place = re.compile(r"line \d+ of (?=/)")
    expected = sentence.format(paper=paper, folder=paper.parent)
    assert place.sub("", str(error.value)) == f"ladder: {place.sub('', expected)}"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("__init__.py", '"parallel":', '"paralel":'),
        ("__init__.py", "LOOKS = {", 'LOOKS = {\n    "paralel": ("one pass", "bleu", "s", ""),\n    '),
        ("claims.py", '"parallel")', '"paralel")'),
        ("claims.py", '"own"', '"rungs"'),
        ("lines.py", '{"threads": MAX}, "sums"', '{"threads": MAX}, "sum"'),
        ("lines.py", 'Line("parallel"', 'Line("paralel"'),
        ("lines.py", 'Source("host"', 'Source("hots"'),
        ("lines.py", "axpy_threads", "axpy_thread"),
        ("lines.py", 'Needs(("sums",))', 'Needs(("sms",))'),
        ("text.tex", 'rate("parallel")', 'rate("paralel")'),
        ("text.tex", "were not measured", '<<plaec("parallel")>>'),
        ("text.tex", "<% endmeasured %>", "<% measured %>A<% endmeasured %>"),
    ],
)
def test_a_mistake_in_a_chapter_names_its_line(file, old, new, paper):
    path = paper / file
    change(path, old, new)
    line = path.read_text().partition(new.strip())[0].count("\n") + 1 + new.strip().count("\n")
    with pytest.raises(SystemExit) as error:
        invocation.require_chapters(EXPERIMENTS)
    assert f"line {line} of {path}" in str(error.value) or f"{path}:{line}:" in str(error.value), error.value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('<<rate("paralel")>>', "There is no line 'paralel'. Did you mean 'parallel'?"),
        ('<% measured %><<place("parallel")>><<rate("paralel")>><% endmeasured %>', "There is no line 'paralel'."),
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
        chapter_data.require_users(EXPERIMENTS)
    assert str(error.value).startswith(f"{path}:")


def test_texts_of_values_that_a_plan_lacks_are_accepted(paper):
    (paper / "text.tex").write_text(
        '<<result("machines")>> <<gemm.speedup("serial", "openmp")>> <<claimed_ratio("one-pass")>> '
        '<% if median("parallel") > 2 %>A<% endif %> <<median("parallel") + 1>>'
    )
    chapter_data.require_users(EXPERIMENTS)


@pytest.mark.parametrize("workload", CHAPTERS)
def test_the_texts_of_every_chapter_are_accepted(workload):
    texts.require_names(CHAPTERS[workload])


def test_lines_and_sources_of_every_chapter_belong_to_the_configuration():
    experiments = configuration.load([ROOT / "config/config.yaml"])["experiments"]
    for chapter in (chapter for chapter in CHAPTERS.values() if chapter.has_lines):
        chapter_data.require_experiments(chapter, experiments)
        chapter_data.require_variants(chapter, experiments)
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

    change(paper / "claims.py", '"own"', '"ours"')
    with pytest.raises(LadderError, match=r"CLAIMS in .*claims\.py has the group 'ours'"):
        chapters.verdicts(Study({}, None))


def test_the_page_on_chapters_writes_the_example_file_by_file():
    """A test of the workflow measures, draws and typesets it, at another size."""
    page = (ROOT / "docs/how-to/chapter.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page, re.DOTALL))
    files = {path.name: path.read_text(encoding="utf-8") for path in AXPY.glob("*.*")}
    assert written == files | {"lines.py": files["lines.py"].replace("elements=1000)", "elements=1000000)")}
    config, claims = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert config["claims"] == ["axpy_claims.yaml"]
    for page_config in ({"experiments": config["experiments"]}, claims):
        validated = configuration.validate(page_config)
        assert validated["experiments"]["axpy_threads"]["sizes"] == {"elements": 1000000}
