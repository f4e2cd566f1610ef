"""`ro-crate-metadata.json` of a build: its workflow, configuration, results and run as a Workflow Run RO-Crate 0.5.

The crate is the folder of results. It is written as plain JSON-LD, without a library, since it is one fixed graph:
https://www.researchobject.org/workflow-run-crate/profiles/workflow_run_crate
"""

import hashlib
import importlib.metadata
import mimetypes
import shutil
from datetime import UTC, datetime
from pathlib import Path

from ladder.errors import LadderError, pluralize
from ladder.machine import revision

FILE = "ro-crate-metadata.json"
WORKFLOW = "workflow"  # the folder of the crate that has the workflow's files
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
CRATE = "https://w3id.org/ro/crate/1.1"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    WORKFLOW_CRATE: ("Workflow RO-Crate", "1.0"),
}
LICENSE = "https://spdx.org/licenses/MIT"
AUTHORS, RUN = "#authors", "#run"
LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
MEDIA_TYPES = {".gz": "application/gzip", ".csv": "text/csv", ".json": "application/json"}


def workflow_files(snakefile):
    """The Snakefile and the files of its rules."""
    return [Path(snakefile), *sorted(Path(snakefile).parent.glob("rules/*.smk"))]


def copy_workflow(snakefile, root):
    """Copy the Snakefile and its rules into the crate; returns the paths of the copies, the Snakefile's first."""
    sources, target = workflow_files(snakefile), Path(root, WORKFLOW)
    copies = [target / source.relative_to(Path(snakefile).parent) for source in sources]
    for source, copy in zip(sources, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    return copies


def document(root, workflow, configuration, results, began=None, ended=None):
    """The crate's metadata as a JSON object.

    `root` is the crate's folder, in which all files are: those of the workflow, the Snakefile first, the configuration,
    and the results, which may be folders. `began` and `ended` are times of the run with a time zone; without `ended` it
    is now. Raises LadderError for a file outside of the folder.
    """
    ended = ended or datetime.now(UTC)
    snakefile_entity, *rules = (file_entity(root, path) for path in workflow)
    configuration_entity = file_entity(root, configuration) | {"exampleOfWork": reference(parameter_id(configuration))}
    outputs = [folder_entity(root, path) if Path(path).is_dir() else file_entity(root, path) for path in results]
    # Besides the configuration, only files at the top level are formal parameters: folders hold the data behind these.
    top_level_files = [entity for entity in outputs if "/" not in entity["@id"]]
    for entity in top_level_files:
        entity["exampleOfWork"] = reference(parameter_id(entity["@id"]))
    parameters = [parameter(entity) for entity in (configuration_entity, *top_level_files)]
    snakefile_entity |= {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "ladder's workflow",
        "description": "Measures numerical kernels in every configuration and writes the paper about them.",
        "programmingLanguage": reference(LANGUAGE),
        "version": revision.format(revision.current()),
        "license": reference(LICENSE),
        "creator": reference(AUTHORS),
        "conformsTo": reference("https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"),
        "hasPart": references(rules),
        "input": reference(parameters[0]["@id"]),
        "output": references(parameters[1:]),
    }
    files = [snakefile_entity, *rules, configuration_entity, *outputs]
    action = run_entity(snakefile_entity, configuration_entity, outputs, began, ended)
    return {
        "@context": CONTEXT,
        "@graph": [*crate_entities(files, snakefile_entity, ended), *files, *parameters, action],
    }


def crate_entities(files, snakefile_entity, ended):
    """The entities of the crate itself: its descriptor, its root, profiles, licence, authors and language."""
    return [
        {
            "@id": FILE,
            "@type": "CreativeWork",
            "about": reference("./"),
            "conformsTo": [reference(CRATE), reference(WORKFLOW_CRATE)],
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": "A build of ladder",
            "description": "A paper about the speed of numerical kernels, with the tables of measurements behind it.",
            "datePublished": ended.isoformat(timespec="seconds"),
            "license": reference(LICENSE),
            "author": reference(AUTHORS),
            "publisher": reference(AUTHORS),
            "conformsTo": [reference(uri) for uri in PROFILES],
            "mainEntity": reference(snakefile_entity["@id"]),
            "hasPart": references(files),
            "mentions": reference(RUN),
        },
        *(
            {"@id": uri, "@type": "CreativeWork", "name": name, "version": version}
            for uri, (name, version) in PROFILES.items()
        ),
        {"@id": LICENSE, "@type": "CreativeWork", "name": "MIT License", "url": LICENSE},
        {"@id": AUTHORS, "@type": "Organization", "name": "the ladder authors"},
        {
            "@id": LANGUAGE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": reference("https://doi.org/10.1093/bioinformatics/bts480"),
            "url": "https://snakemake.github.io",
            "version": importlib.metadata.version("snakemake"),
        },
    ]


def run_entity(snakefile_entity, configuration_entity, outputs, began, ended):
    """The entity of the run: its workflow, its configuration, its results and its times."""
    times = {"startTime": began.isoformat(timespec="seconds")} if began else {}
    return {
        "@id": RUN,
        "@type": "CreateAction",
        "name": "The run that made these results",
        "description": "Measured the cases of the configuration that had no record yet, and wrote the paper.",
        "instrument": reference(snakefile_entity["@id"]),
        "object": reference(configuration_entity["@id"]),
        "result": references(outputs),
        "actionStatus": "http://schema.org/CompletedActionStatus",
        **times,
        "endTime": ended.isoformat(timespec="seconds"),
    }


def identifier(root, path):
    """The identifier of a file or folder in the crate: its relative path. Raises LadderError for any other path."""
    if not Path(path).is_relative_to(root):
        raise LadderError(f"{path} is not in {root}, the folder that the metadata are about: name a path in it.")
    return Path(path).relative_to(root).as_posix()


def folder_entity(root, path):
    """The entity of a folder in the crate, with the number of its files."""
    count = sum(file.is_file() for file in Path(path).rglob("*"))
    name = Path(path).name
    return {
        "@id": identifier(root, path) + "/",
        "@type": "Dataset",
        "name": name,
        "description": pluralize(count, "file"),
    }


def file_entity(root, path):
    """The entity of a file in the crate, with its size and SHA-256."""
    path, entity_id = Path(path), identifier(root, path)
    data = path.read_bytes()
    media_type = MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return {
        "@id": entity_id,
        "@type": "File",
        "name": path.name,
        "encodingFormat": media_type,
        "contentSize": str(len(data)),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def parameter(entity):
    """The formal parameter of the workflow whose value is a file of the crate."""
    return {
        "@id": parameter_id(entity["@id"]),
        "@type": "FormalParameter",
        "additionalType": "File",
        "name": Path(entity["@id"]).stem,
        "conformsTo": reference("https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"),
        "workExample": reference(entity["@id"]),
    }


def parameter_id(path):
    """The identifier of the formal parameter of a file."""
    return f"#parameter-{Path(path).name}"


def references(entities):
    """References to entities; a single one stands without a list, as RO-Crate recommends."""
    links = [reference(entity["@id"]) for entity in entities]
    return links if len(links) != 1 else links[0]


def reference(entity_id):
    """A reference to an entity."""
    return {"@id": entity_id}
