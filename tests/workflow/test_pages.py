"""The documentation as pages: how `make docs` builds them, and the tables that they get from the code."""

import json
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from conftest import ROOT
from ladder.catalogue import contracts, workloads
from ladder.planning.configuration import SCHEMA_FILE
from ladder.store import columns
from ladder.verbs import VERBS

sys.path.insert(0, str(ROOT / "docs"))
from reference_pages import contents, generated, markdown, rules

pytestmark = pytest.mark.xdist_group("test_pages")  # one worker, so that the documentation is built once
PAGES = ("columns", "configuration", "contracts", "rules", "variants", "verbs")
START_PAGE = "docs/README.html"


def first_cells(page):
    """The first cells of all rows of a reference page's tables."""
    return {row.strip("` ") for row in re.findall(r"^\| (.*?) \|", generated.page(page), re.MULTILINE)}


def test_every_reference_page_has_its_table():
    marks = {path.stem: generated.MARK.findall(path.read_text()) for path in (ROOT / "docs/reference").glob("*.md")}
    assert marks == {name: [name] for name in PAGES}


def test_the_page_on_the_configuration_has_every_key_with_its_meaning():
    properties = json.loads(SCHEMA_FILE.read_text())["properties"]
    experiment = properties["experiments"]["additionalProperties"]["properties"]
    assert {*properties, *properties["protocol"]["properties"], *experiment} <= first_cells("configuration")
    assert not re.findall(r"^\| `\w+` \| – ", generated.page("configuration"), re.MULTILINE)
    assert "| `cores` | " in generated.page("configuration")
    assert '| string or integer, at least 1 | `"auto"` |' in generated.page("configuration")


def test_the_page_on_verbs_has_their_arguments_and_examples():
    page = generated.page("verbs")
    assert {f"### `{name}`" for name in VERBS} <= set(page.splitlines())
    assert page.count("## For users") == 1
    run = page.split("### `run`")[1].split("\n### ")[0]
    assert "| `--sweep NAME=V,V` | values of a tuning to try; may be repeated |" in run
    assert "| `--quick` |" in run
    assert "\nladder run gemm/tiled gemm/blas m=512" in run


def test_the_page_on_contracts_has_every_name_and_its_default():
    page = generated.page("contracts")
    assert all(f"`{name}" in page for contract in (contracts.WORKLOAD, contracts.VARIANT) for name in contract.names)
    assert "| `expected(sizes, inputs, precision)` | required, unless there is `check` | – |" in page
    assert "| `STATEFUL` | optional | `False` |" in page


def test_the_page_on_columns_has_every_described_column():
    described_columns = (
        {name for table in columns.TABLES.values() for name in table} | set(columns.CASE) | set(columns.SHARED_MEANINGS)
    )
    assert described_columns <= first_cells("columns")
    assert {"processes", "processes[].samples"} <= first_cells("columns")


def test_the_page_on_variants_has_every_variant():
    assert {variant for name in workloads.names() for variant in workloads.rungs(name)} <= first_cells("variants")


def test_the_page_on_rules_has_those_of_the_workflow():
    text = "".join(path.read_text() for path in rules.files())
    assert set(re.findall(r"^rule (\w+):", text, re.MULTILINE)) <= first_cells("rules")
    assert {name for name, _ in rules.targets()} >= {"all", "paper", "figures", "measurements", "claims", "publish"}
    assert "| `make test` | run the tests," in generated.page("rules")
    assert "| `typeset` | `results/{document}.pdf` |" in generated.page("rules")


@pytest.mark.parametrize(
    ("text", "cell"),
    [("", "–"), (None, "–"), ("a\n b", "a b"), ("a|b", "a\\|b"), ("<a> `<b>`", "&lt;a> `<b>`"), ("`<a>`", "`<a>`")],
)
def test_a_cell_is_one_line_without_html(text, cell):
    assert markdown.cell(text) == cell


def test_contents_are_the_links_of_an_overview():
    text = (
        "[a](a.md) [x](https://x.md)\n## B\n[b\nb](x/b.md#c) [a](a.md)\n## C\nnone\n## D\n- [e](../e.md), [f](f.pdf)\n"
    )
    assert list(contents.sections(text)) == [("", {"a": "a"}), ("D", {"../e": "e"})]
    assert contents.toctree("D", {"../e": "the e"}).splitlines() == [
        "", "```{toctree}", ":hidden:", ":caption: D", "", "The e <../e>", "```",
    ]  # fmt: skip


class Links(HTMLParser):
    """The targets of a page's links, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.add(values.get("id"))
        self.targets += [values[name] for name in ("href", "src") if name in values]


@pytest.fixture(scope="module")
def built_folder(tmp_path_factory):
    """The documentation, built by the Makefile's command."""
    folder = tmp_path_factory.mktemp("documentation")
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    (options,) = re.findall(r"^SPHINX := \S+ (.*)$", makefile, re.MULTILINE)
    assert {"--fail-on-warning", "--nitpicky", "--fresh-env"} <= set(options.split())
    command = [sys.executable, *shlex.split(options), ".", folder]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(built_folder):
    """{address: Links} of all pages that can be reached from the start page; pages of results have only their name."""
    reached_pages, names_to_visit = {}, [START_PAGE]
    while names_to_visit:
        name = names_to_visit.pop()
        if name in reached_pages:
            continue
        is_page = name.endswith(".html") and name != "docs/index.html"
        reached_pages[name] = Links((built_folder / name).read_text() if is_page else "")
        addresses = (urldefrag(urljoin(name, target)).url for target in reached_pages[name].targets)
        names_to_visit += [unquote(address) for address in addresses if ":" not in address and address]
    return reached_pages


@pytest.mark.slow
def test_every_page_is_reached_from_the_start_page(built_folder, pages):
    built_pages = {str(path.relative_to(built_folder)) for path in built_folder.rglob("*.html")} - {
        "index.html",
        "search.html",
    }
    assert built_pages - {"genindex.html"} <= set(pages)
    assert {path.stem for path in (ROOT / "docs/how-to").glob("*.md")} <= {Path(name).stem for name in pages}


@pytest.mark.slow
def test_the_start_page_links_to_the_results(built_folder, pages):
    assert {"docs/index.html", "docs/paper.pdf", "docs/supplement.pdf"} <= set(pages)
    assert (built_folder / "docs/index.html").read_bytes() == (ROOT / "docs/index.html").read_bytes()
    assert f"url={START_PAGE}" in (built_folder / "index.html").read_text()


@pytest.mark.slow
def test_every_anchor_exists(pages):
    broken = [
        (name, target)
        for name, links in pages.items()
        for target in links.targets
        if ":" not in target and (anchor := urldefrag(target).fragment) and name != "search.html"
        and anchor not in pages[unquote(urldefrag(urljoin(name, target)).url) or name].anchors
    ]  # fmt: skip
    assert not broken


@pytest.mark.slow
def test_pages_load_nothing_from_a_network(pages):
    loaded_files = [
        target for links in pages.values() for target in links.targets if re.search(r"\.(css|js|woff2?)\b", target)
    ]
    assert loaded_files
    assert not [target for target in loaded_files if "//" in target]
