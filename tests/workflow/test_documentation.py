"""The documents agree with the code: keys, defaults, commands, files, and an example that is run."""

import gzip
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image

from conftest import PROTOCOL, ROOT
from ladder.__main__ import parser
from ladder.catalogue import workloads
from ladder.harness.comparison import parse_key
from ladder.planning.configuration import SCHEMA_FILE
from ladder.records import record
from ladder.report.figures import names as figures

QUIET = re.compile(r"snakemake[^`#\n]* -q((?: [a-z]\w*)+)")  # the words after -q: what Snakemake shall not print
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "config/README.md"]
DOCUMENTS += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
MAX_LINES = {"README.md": 110, "ARCHITECTURE.md": 120}
SCHEMA = json.loads(SCHEMA_FILE.read_text())["properties"]
SECTIONS = {
    "## Keys": SCHEMA,
    "### `protocol`": SCHEMA["protocol"]["properties"],
    "### `experiments`": SCHEMA["experiments"]["additionalProperties"]["properties"],
}
FOLDERS = ("src", "config", "workflow", "benchmarks", "tests", "paper", "docs", "profiles", ".ci", "results/published")
EXAMPLE = "src/ladder/workloads/gemm/matmul.py"
WRITTEN_BY_READERS = {EXAMPLE, "src/ladder/workloads/gemm/mine.py"}
# A path of one machine, and hosts of packages, which no file names. In pieces, because this file is searched, too.
FORBIDDEN = [r"(?<![\w.])/" + r"work\b(?!-)", "pypi" + r"\.org", "python" + "hosted", r"deb\.debian" + r"\.org"]


def load_script(name):
    """The module of a script of the workflow."""
    specification = importlib.util.spec_from_file_location(name, ROOT / f"workflow/scripts/{name}.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


readme, documents = load_script("readme"), load_script("documents")


def text(name):
    """The text of a document."""
    return (ROOT / name).read_text()


def code_blocks(name, language):
    """The code blocks of a language in a document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text(name), re.MULTILINE | re.DOTALL)


def code(name):
    """The code of a document: its blocks, and its inline code, whose lines may be wrapped."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text(name), re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```$", "", text(name), flags=re.MULTILINE | re.DOTALL)
    return [*blocks, *(" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose))]


def matches_of(pattern, name):
    """The matches of a pattern in a document's code."""
    return {match for piece in code(name) for match in re.findall(pattern, piece, re.MULTILINE)}


def table(heading):
    """The rows of the first table below a heading of config/README.md, by the key in their first cell."""
    section = text("config/README.md").split(f"\n{heading}\n")[1].split("\n#")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_key_is_explained_with_its_default_and_no_other(heading):
    rows = table(heading)
    assert set(rows) == set(SECTIONS[heading])
    for key, rule in SECTIONS[heading].items():
        default, meaning, *_ = rows[key]
        assert len(meaning.split()) >= 3, key
        if "default" in rule and key != "protocol":  # whose own keys have a table
            assert yaml.safe_load(default.strip("`")) == rule["default"], key


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_exist(name):
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE))
    assert matches_of(r"^(?:.*\s)?make ([a-z]+)", name) <= targets
    for verb in matches_of(r"(?:-m |^)ladder ([a-z]+)", name):
        with pytest.raises(SystemExit) as end:
            parser().parse_args([verb, "--help"])
        assert end.value.code == 0, verb
    rules = set(re.findall(r"^rule (\w+):", "".join(text(path) for path in workflow_files()), re.MULTILINE))
    assert matches_of(r"snakemake ([a-z]+)(?!\S)", name) <= rules
    assert matches_of(r"snakemake results/figures/(\w+)", name) <= set(figures())


def workflow_files():
    return ["workflow/Snakefile", *(str(path.relative_to(ROOT)) for path in (ROOT / "workflow/rules").glob("*.smk"))]


def test_the_commands_of_the_documents_are_seen_by_these_tests():
    """Patterns that find nothing would pass every check."""
    assert {"smoke", "test", "study", "setup"} <= matches_of(r"^(?:.*\s)?make ([a-z]+)", "README.md")
    assert {"list", "compare"} <= matches_of(r"(?:-m |^)ladder ([a-z]+)", "docs/how-to/sweep.md") | matches_of(
        r"(?:-m |^)ladder ([a-z]+)", "docs/how-to/laptop.md"
    )
    assert {"figures", "measurements"} <= matches_of(r"snakemake ([a-z]+)(?!\S)", "docs/how-to/laptop.md")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_named_files_exist(name):
    paths = matches_of(rf"(?<![\w/.<>~-])(?:{'|'.join(FOLDERS)})/[\w./-]*", name)
    missing = {path for path in paths if not (ROOT / path).exists() and path.rstrip(".") not in WRITTEN_BY_READERS}
    assert not missing


def test_documents_that_code_and_messages_name_exist():
    paths = [path for path in ROOT.iterdir() if path.name in ("Makefile", "Snakefile")]
    paths += [
        path for folder in ("src", "workflow", "config", "cluster", "profiles") for path in (ROOT / folder).rglob("*")
    ]
    suffixes = ("", ".py", ".smk", ".sh", ".yaml", ".json", ".cu", ".cuh", ".c", ".h", ".tex", ".txt", ".rst")
    texts = {path: path.read_text() for path in paths if path.is_file() and path.suffix in suffixes}
    named = {(path, name) for path, content in texts.items() for name in re.findall(r"\bdocs/[\w./-]*\w", content)}
    assert len({name for _, name in named}) >= 5
    assert not [f"{path}: {name}" for path, name in named if not (ROOT / name).exists()]


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text(name)):
        if "://" not in link:
            target, _, anchor = link.partition("#")
            path = (ROOT / name).parent / target if target else ROOT / name
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append(link)
    assert not broken


def test_every_document_is_linked_from_another():
    linked = {
        (ROOT / name).parent.joinpath(link.partition("#")[0]).resolve()
        for name in DOCUMENTS
        for link in re.findall(r"\]\(([^)\s]+)\)", text(name))
        if "://" not in link
    }
    unlinked = {ROOT / name for name in DOCUMENTS if name != "README.md"} - linked
    assert not {path for path in unlinked if path.parent not in linked}


@pytest.mark.parametrize("name", MAX_LINES)
def test_overviews_stay_short(name):
    assert text(name).count("\n") <= MAX_LINES[name]


def test_the_readme_says_what_was_published():
    assert readme.update(text("README.md")) == text("README.md"), "README.md is out of date: run `make readme`."


def test_the_readmes_accuracy_is_the_lowest_after_the_last_epoch(tmp_path, monkeypatch):
    machine, experiment = readme.ACCURACY_SOURCE
    curve = "machine,experiment,layers,epochs,epoch,accuracy\n"
    for epoch, accuracy in ((1, 0.5), (2, 0.95), (2, 0.9321)):
        curve += f"{machine},{experiment},784-10,2,{epoch},{accuracy}\n"
    (tmp_path / machine).mkdir()
    (tmp_path / machine / "curves.csv.gz").write_bytes(gzip.compress(curve.encode()))
    monkeypatch.setattr(readme, "PUBLISHED", tmp_path)
    assert "784-10 recognises 93.21 % of MNIST's test images after 2 epochs" in readme.notes()


@pytest.fixture(scope="module")
def picture_digest():
    """The digest of the published rows that the README's picture shows."""
    return readme.digest()


def test_the_readmes_picture_shows_what_was_published(picture_digest):
    with Image.open(readme.PICTURE) as picture:
        assert picture.text[readme.DIGEST] == picture_digest, f"{readme.PICTURE} is out of date: run `make readme`."
    assert readme.PICTURE.stat().st_size < 150_000, "the picture is too large for a page that loads quickly"


def test_the_page_and_the_paper_in_docs_are_up_to_date():
    assert json.loads(documents.NOTE_PATH.read_text()) == documents.note(), "docs/ is out of date: run `make site`."


def test_another_measurement_text_or_code_outdates_the_documents(tmp_path, monkeypatch):
    before = documents.inputs_digest()
    for name in ("results/published/new/samples.csv.gz", "paper/paper.tex"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("changed")
    with monkeypatch.context() as patch:
        patch.setattr(documents, "ROOT", tmp_path)
        assert documents.inputs_digest() != before
    monkeypatch.setattr(documents.page, "fingerprint", lambda: "changed")
    assert documents.inputs_digest() != before


def test_another_publication_changes_the_readme(tmp_path, monkeypatch, picture_digest):
    before = text("README.md")
    slower_cases = {result.before[1:] for result in readme.RESULTS}  # (variant, slug)
    with monkeypatch.context() as patch:
        patch.setattr(readme, "processes", lambda folder, _, *case: [[2.0 if case in slower_cases else 1.0]] * 5)
        assert readme.update(before).count("**2.00 ×** [2.00, 2.00]") == len(readme.RESULTS)
    for path in readme.PUBLISHED.glob("**/samples.csv.gz"):
        head, *_ = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        copy = tmp_path / path.relative_to(readme.PUBLISHED)
        copy.parent.mkdir(parents=True)
        copy.write_bytes(gzip.compress(head))
        shutil.copy(path.with_name("machine.json"), copy.parent)
    monkeypatch.setattr(readme, "PUBLISHED", tmp_path)
    assert readme.digest() != picture_digest
    with pytest.raises(LookupError, match=f"No published campaign of {readme.RESULTS[0].machine} has both cases"):
        readme.update(before)


def test_results_on_a_gpu_pool_the_machines_that_the_paper_pools():
    assert readme.pooled_machines("amd-epyc-zen5-2c") == ["amd-epyc-zen5-2c"]
    machines = readme.pooled_machines("nvidia-h200-x2")
    assert {"nvidia-h200", "nvidia-h200-x2"} <= {*machines}
    assert len(machines) == len({*machines})
    assert "nvidia-h100-x2" not in machines


def test_the_cases_compared_in_the_page_on_sweeps_are_written_in_full():
    keys = matches_of(r"\b\w+/\w+/form=\S+", "docs/how-to/sweep.md")
    assert len(keys) == 2
    for case in map(parse_key, keys):
        assert workloads.complete(case.workload, case.sizes) == case.sizes
        assert case.variant in workloads.variants(case.workload)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nn", "tn", "nt"])
def test_the_readmes_example_of_a_variant_can_be_measured(form, tmp_path):
    (module,) = code_blocks("README.md", "python")
    (line,) = code_blocks("README.md", "yaml")
    ((variant, tuning),) = yaml.safe_load(line).items()
    assert variant == Path(EXAMPLE).stem
    assert f"`{EXAMPLE}`" in text("README.md")
    path = tmp_path / "variants/gemm" / Path(EXAMPLE).name
    path.parent.mkdir(parents=True)
    path.write_text(module)
    case = f"form={form},m=17,n=5,k=65,dtype=float32,source=random,seed=1,cache=warm,threads={tuning['threads']}"
    command = [sys.executable, "-m", "ladder", "measure", "gemm", variant, case, "--out", "record.json"]
    process = subprocess.run(
        [*command, "--machine", "here", "--protocol", json.dumps(PROTOCOL)],
        cwd=tmp_path,
        env=os.environ | {"LADDER_VARIANTS": str(tmp_path / "variants"), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stderr
    document = record.read(tmp_path / "record.json")
    assert (document["variant"], document["case"]) == (variant, case)


def test_no_file_names_a_host_of_packages_or_a_path_of_one_machine():
    paths = [path for path in ROOT.iterdir() if path.is_file()]
    paths += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    violations = []
    for path in paths:
        contents = path.read_bytes().decode(errors="replace")
        if "__pycache__" not in path.parts and path.suffix not in (".gz", ".png"):
            violations += [f"{path.relative_to(ROOT)}: {host}" for host in FORBIDDEN if re.search(host, contents)]
    assert len(paths) > 100
    assert not violations


@pytest.mark.parametrize("line", ["cd /" + "work/main", "//pypi" + ".org/simple", "http://deb.debian" + ".org/debian"])
def test_forbidden_names_are_recognised(line):
    assert any(re.search(host, line) for host in FORBIDDEN)
    assert not any(re.search(host, "see workflow/rules, src/ladder/workloads and /workflows") for host in FORBIDDEN)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_target_follows_the_option_q(name):
    """Snakemake would take it for one of the option's words."""
    for words in QUIET.findall((ROOT / name).read_text(encoding="utf-8")):
        assert {*words.split()} <= {"rules", "host", "progress", "reason", "all"}, words
