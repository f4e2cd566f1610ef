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
from ladder.report import chapter_data, chapters
from ladder.workflow import invocation

AXPY = TESTS / "workloads/own/axpy/paper"
EXPERIMENTS = {"axpy_threads": {"workload": "axpy"}, "mlp_threads": {"workload": "mlp"}, "dropped": None}


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
            "an earlier study claimed) and `own` (questions of ours).",
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
    assert str(error.value) == f"ladder: {sentence.format(paper=paper, folder=paper.parent)}"


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
    for experiments in (config["experiments"], claims["experiments"]):
        validated = configuration.validate({"experiments": experiments})
        assert validated["experiments"]["axpy_threads"]["sizes"] == {"elements": 1000000}
