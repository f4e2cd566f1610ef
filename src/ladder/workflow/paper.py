"""The files and the code that the paper, its supplement and the report are made from."""

import hashlib
import json
from pathlib import Path

from ladder.catalogue import imports, literals, locations, published, sources, workloads
from ladder.report import captions, chapters, run_crate, tables
from ladder.store import COUNTERS_FILE, TABLES

DOCUMENTS = ("paper", "supplement")
DOCUMENT_FILES = [f"results/{document}.pdf" for document in DOCUMENTS]


class Paper:
    """The inputs of the documents of a StudyPlan with its Ceilings; `folder` has the paper's `own_templates`.

    `table_files` are the CSV tables of all experiments, `counter_tables` those of published counters, `tables` the
    paper's tables in LaTeX. `templates`, which are
    `own_templates` and those of all chapters, are rendered as the files `texts`; `bibliographies` are read unchanged.
    """

    def __init__(self, plan, ceilings, folder):
        self.folder = Path(folder)
        self.table_folders = [f"results/tables/{name}" for name in plan.experiments]
        self.table_files = [f"{folder}/{table}.csv" for folder in self.table_folders for table in TABLES]
        # Those of the machines that this run measures, and of the published machines.
        self.machine_descriptions = [f"results/machines/{label}.json" for label in plan.measured_machines]
        self.machine_descriptions += [str(published.path_of(f"{label}/machine.json")) for label in plan.published]
        counter_tables = [published.path_of(f"{label}/{COUNTERS_FILE}") for label in plan.published]
        self.counter_tables = [str(path) for path in counter_tables if path.exists()]
        self.study_arguments = [
            *self.table_folders,
            f"--machine={plan.machines[0]}",
            *(f"--description={path}" for path in self.machine_descriptions),
            *(f"--roofs={path}" for path in ceilings.roofs),
        ]
        self.tables = [f"results/tex/{name}.tex" for name in tables.names()]
        self.own_templates = [str(path) for path in sorted(self.folder.glob("*.tex"))]
        self.templates = [*self.own_templates, *map(str, chapters.files(*chapters.TEMPLATE_FILES))]
        names = [*(Path(path).name for path in self.own_templates), *chapters.templates()]
        self.texts = [f"results/texts/{name}" for name in names]
        bibliographies = [*sorted(self.folder.glob("*.bib")), *chapters.files("references.bib")]
        self.bibliographies = [str(path) for path in bibliographies]

    def templates_digest(self):
        """A digest of the templates' contents. After a return to an older commit, their dates don't show the change."""
        return digest_of(self.templates)


def digest_of(paths):
    """A short digest of the contents of files."""
    return hashlib.sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()[:16]


def code_fingerprint(verb):
    """The fingerprint of the code of a verb about the study, of all chapters and of `descriptive_constants`."""
    modules = [f"ladder.workloads.{workload}.paper.{verb}" for workload in workloads.names()]
    for chapter in chapters.chapters():
        modules += chapters.data_modules(chapter.workload, chapter.folder, chapters.DATA_MODULES)
    code = sources.digest(f"ladder.verbs.{verb}", *filter(imports.module_path, modules))
    return f"{code} {hashlib.sha256(json.dumps(descriptive_constants()).encode()).hexdigest()[:16]}"


def descriptive_constants():
    """The DESCRIPTIVE_CONSTANTS of all workloads, which no fingerprint of code has, {workload: {name: value}}."""
    constants = {workload: literals.read(locations.problem_path(workload)) for workload in workloads.names()}
    return {
        workload: {name: values[name] for name in sorted(imports.DESCRIPTIVE_CONSTANTS & values.keys())}
        for workload, values in constants.items()
    }


def crate_fingerprint(snakefile):
    """A digest of what the metadata of a build are made from besides their inputs: code, and the workflow's files."""
    return sources.digest("ladder.verbs.crate") + digest_of(run_crate.workflow_files(snakefile))


def chapters_fingerprint():
    """A digest of what the paper reads from chapters: their order, titles, texts and captions."""
    texts = json.dumps(chapters.texts() | captions.text())
    return hashlib.sha256(texts.encode()).hexdigest()[:16]
