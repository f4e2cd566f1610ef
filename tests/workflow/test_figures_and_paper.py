"""The inputs of figures, numbers, tables and documents."""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from ladder.report import chapters, figures
from ladder.store import TABLES
from ladder.workflow import paper
from ladder.workflow.ceilings import Ceilings
from ladder.workflow.figures import Figures
from ladder.workflow.paper import Paper
from small_plans import experiment, read_plan

BLAS = {"blas": {"threads": 1}}
# The constants of the four figures that replace the project's, where they differ from the defaults.
FIGURE_CONSTANTS = {
    "lines": {"EXPERIMENTS": ("one",)},
    "peaks": {"EXPERIMENTS": ("one", "two"), "USES_CEILINGS": True},
    "digits": {"USES_DATA": True},
    "pictures": {"USES_ARTEFACTS": ("a.npz",)},
}
LABELS = {"TITLE": "A title", "CATEGORY": "A group"}
# By default on MNIST, which is downloaded; the source `digits` is made here.
TRAINING = {"layers": "784-7-10", "images": 40, "batch": 20, "epochs": 1, "rate": 0.5, "dtype": "float64"}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def four_figures(monkeypatch):
    """Four figures, which show tables, tables and ceilings, data (in `mlp`), and artefacts."""
    defaults = figures.CONSTANTS | LABELS
    monkeypatch.setattr(figures, "names", lambda: list(FIGURE_CONSTANTS))
    monkeypatch.setattr(figures, "constants", lambda name: defaults | FIGURE_CONSTANTS[name])
    monkeypatch.setattr(figures, "workload", lambda name: "mlp" if name == "digits" else "net")
    monkeypatch.setattr("ladder.catalogue.datasets.artefacts", lambda workload: {"a.npz": None})
    monkeypatch.setattr("ladder.catalogue.datasets.is_artefact", lambda name: name == "net/a.npz")


def figures_of(experiments, **changes):
    """The Figures of a study with these experiments; `changes` are to its configuration."""
    study = read_plan(experiments, **changes)
    return Figures(study, Ceilings(study))


def figure_wildcards(figure):
    """The wildcards of a figure's job."""
    return SimpleNamespace(figure=figure)


def test_a_figure_is_drawn_if_its_experiments_data_and_artefacts_are_available():
    assert figures_of({"one": experiment(BLAS)}).names == ["lines", "pictures"]
    training = experiment({"host": {"product": "blas", "threads": 1}}, "mlp", TRAINING | {"source": "digits"})
    figures_of_plan = figures_of({"one": experiment(BLAS), "two": training})
    assert figures_of_plan.names == list(FIGURE_CONSTANTS)
    digits = figure_wildcards("digits")
    assert figures_of_plan.data_option(digits) == "--data=results/data/digits"
    folders = [Path(path).parent.name for path in figures_of_plan.data_and_artefacts(digits)]
    assert folders == ["digits"] * 4  # images and labels, to train and to test


def test_without_measurements_data_are_not_downloaded_for_a_figure():
    training = {"two": experiment({"host": {"product": "blas", "threads": 1}}, "mlp", TRAINING)}
    assert "digits" in figures_of(training).names
    assert "digits" not in figures_of(training, measure=False).names


def test_a_figure_reads_the_tables_ceilings_and_artefacts_that_it_states():
    figures_of_plan = figures_of({"one": experiment(BLAS), "two": experiment(BLAS), "ceiling": experiment(BLAS)})
    lines, peaks, pictures = map(figure_wildcards, ("lines", "peaks", "pictures"))
    assert figures_of_plan.tables(lines) == [f"results/tables/one/{table}.csv" for table in TABLES]
    options_of_both = ["--tables=results/tables/one", "--tables=results/tables/two"]
    assert figures_of_plan.table_options(peaks) == options_of_both
    assert (figures_of_plan.roofs(lines), figures_of_plan.roofs_option(lines)) == ([], [])
    assert figures_of_plan.roofs_option(peaks) == ["--roofs=results/roofs.json"]
    assert figures_of_plan.artefact_options(pictures) == ["--artefact=a.npz=results/data/net/a.npz"]
    assert figures_of_plan.data_option(lines) == ""
    assert (figures_of_plan.category(lines), figures_of_plan.labels(lines)) == ("A group", {"figure": "A title"})
    assert set(figures_of_plan.files) >= {f"results/figures/lines.{suffix}" for suffix in figures.FORMATS}


def test_a_mistake_in_a_figures_constants_ends_the_run_with_a_sentence(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(figures, "names", lambda: ["none"])
    with pytest.raises(SystemExit, match=r"^ladder: There is no figure 'none'"):
        figures_of({})


def paper_of(experiments, folder="paper", **changes):
    """The Paper of a study with these experiments; `changes` are to its configuration."""
    study = read_plan(experiments, **changes)
    return Paper(study, Ceilings(study), folder)


def test_the_paper_is_made_from_all_experiments_and_the_machines_that_measured():
    inputs = paper_of({"one": experiment(BLAS), "ceiling": experiment(BLAS)})
    assert inputs.table_files == [
        f"results/tables/{name}/{table}.csv" for name in ("one", "ceiling") for table in TABLES
    ]
    assert inputs.machine_descriptions == ["results/machines/here.json"]
    assert inputs.study_arguments == [
        "results/tables/one",
        "results/tables/ceiling",
        "--machine=here",
        "--description=results/machines/here.json",
        "--roofs=results/roofs.json",
    ]
    unmeasured_paper = paper_of({"one": experiment(BLAS)}, measure=False)
    assert unmeasured_paper.study_arguments == ["results/tables/one", "--machine=here"]


def test_published_machines_are_described_by_their_publication():
    path, other_path = (Path(f"results/published/{name}/machine.json") for name in ("moon", "sun"))
    for file in (path, other_path):
        file.parent.mkdir(parents=True)
        file.touch()
    Path(path.parent, "counters.csv.gz").touch()
    inputs = paper_of({"one": experiment(BLAS)}, published=["moon", "sun"], measure=False)
    assert inputs.machine_descriptions == [str(path), str(other_path)]
    assert inputs.counter_tables == ["results/published/moon/counters.csv.gz"]
    assert inputs.study_arguments[-1] == "--roofs=results/roofs.json"


def test_texts_are_rendered_from_the_papers_templates_and_the_chapters():
    Path("paper").mkdir()
    for name in ("paper.tex", "method.tex", "own.bib"):
        Path("paper", name).write_text(name, encoding="utf-8")
    inputs = paper_of({})
    assert inputs.own_templates == ["paper/method.tex", "paper/paper.tex"]
    assert inputs.texts[:2] == ["results/texts/method.tex", "results/texts/paper.tex"]
    assert len(inputs.texts) == len(inputs.templates) == 2 + len(chapters.templates())
    assert inputs.bibliographies[0] == "paper/own.bib"


def test_an_edit_of_a_template_shows_whatever_its_date(monkeypatch):
    monkeypatch.setattr(chapters, "files", lambda *names: [])
    Path("paper").mkdir()
    Path("paper/paper.tex").write_text("text", encoding="utf-8")
    assert paper_of({}).templates_digest() == hashlib.sha256(b"text").hexdigest()[:16]


def test_the_code_of_a_verb_is_its_own_and_that_of_all_chapters(monkeypatch):
    before = paper.code_fingerprint("numbers")
    assert before != paper.code_fingerprint("tables")
    roots = []
    monkeypatch.setattr(paper.sources, "digest", lambda *names: roots.extend(names))
    paper.code_fingerprint("numbers")
    assert roots[0] == "ladder.verbs.numbers"
    chapter_modules = [chapters.data_modules(chapter.workload, chapter.folder) for chapter in chapters.chapters()]
    assert {name for names in chapter_modules for name in names} <= set(roots)


def test_the_code_of_a_verb_changes_with_the_idea_of_a_rung(monkeypatch):
    before, descriptions = paper.code_fingerprint("tables"), paper.descriptive_constants()
    monkeypatch.setattr(paper, "descriptive_constants", lambda: descriptions)
    assert paper.code_fingerprint("tables") == before
    rungs = descriptions["descent"]["RUNGS"] | {"openmp": "another idea"}
    changed_descriptions = descriptions | {"descent": descriptions["descent"] | {"RUNGS": rungs}}
    monkeypatch.setattr(paper, "descriptive_constants", lambda: changed_descriptions)
    assert paper.code_fingerprint("tables") != before


def test_the_fingerprint_of_the_chapters_is_of_their_texts_and_captions(monkeypatch):
    monkeypatch.setattr(paper.captions, "text", dict)
    monkeypatch.setattr(paper.chapters, "texts", lambda: {"a": "x"})
    first = paper.chapters_fingerprint()
    monkeypatch.setattr(paper.captions, "text", lambda: {"captions.tex": "y"})
    assert paper.chapters_fingerprint() != first
