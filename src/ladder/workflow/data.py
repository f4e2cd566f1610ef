"""The files of data, artefacts and references that jobs read."""

from pathlib import Path

from snakemake.io import ancient

from ladder.catalogue import datasets, published, traits
from ladder.records.case import Case
from ladder.workflow.mistakes import end_run_on_mistake


def ancient_if_exists(path, files):
    """The input files of a job that writes a path: `ancient` if the path exists, so that newer inputs don't trigger it.

    Inputs of a missing path aren't `ancient`: if an `ancient` input is to be rebuilt, Snakemake overlooks the jobs that
    depend on it, although their output is missing (Snakemake's issue 4166).
    """
    return ancient(files) if files and Path(path).exists() else files


def of_case(path, case):
    """The data that a case reads, as inputs of a job that writes a path.

    Downloaded data never change, so their dates don't count; an artefact may change.
    """
    name, files = datasets.name_of(case.workload, case.sizes), datasets.files_of(case.workload, case.sizes)
    return files if name and datasets.is_artefact(name) else ancient_if_exists(path, files)


def path_of(name):
    """The path of data."""
    return f"{datasets.FOLDER}/{name}"


def is_available(name):
    """Whether data exist, or are an artefact that is published or can be built from available data."""
    if all(Path(file).exists() for file in datasets.files(name)):
        return True
    if not datasets.is_artefact(name):
        return False
    workload, _, file = name.partition("/")
    origin = datasets.artefacts(workload)[file]
    return bool(published.checksum_of(workload, file) or origin is None or is_available(origin))


def published_checksum(wildcards):
    """The checksum of a published artefact, which is unpacked instead of built; None for other artefacts."""
    return published.checksum_of(wildcards.workload, wildcards.artefact)


def origin_of(wildcards):
    """The name of the data that an artefact is built from; None without data, or for a published artefact."""
    return None if published_checksum(wildcards) else datasets.artefacts(wildcards.workload).get(wildcards.artefact)


def files_of_origin(wildcards):
    """The files that an artefact is built from."""
    name = origin_of(wildcards)
    return datasets.files(name) if name else []


def origin_option(wildcards):
    """The option that names the data that an artefact is built from; empty without data."""
    name = origin_of(wildcards)
    return f"--data={path_of(name)}" if name else ""


def artefact_fingerprint(wildcards):
    """The checksum of a published artefact, or the fingerprint of the code that builds it."""
    return published_checksum(wildcards) or datasets.fingerprint(wildcards.workload)


def reference_path(workload, slug):
    """The file of a workload's reference, by the slug of its sizes."""
    return f"results/references/{workload}/{slug}.npz"


def reference_of(case):
    """The file of a case's reference; [] if the reference is computed inside the job."""
    slug = traits.reference_slug(case)
    return [] if slug is None else reference_path(case.workload, slug)


@end_run_on_mistake()
def reference_case(wildcards):
    """The case of a reference's workload and sizes; ends the run for sizes that can't be read."""
    return Case.parse(wildcards.workload, "reference", f"{wildcards.sizes},cache=cold")


def of_reference(wildcards):
    """The data that a reference is computed from."""
    return of_case(reference_path(wildcards.workload, wildcards.sizes), reference_case(wildcards))


def reference_option(wildcards):
    """The option that names the data of a reference; empty without data."""
    case = reference_case(wildcards)
    name = datasets.name_of(case.workload, case.sizes)
    return f"--data {path_of(name)}" if name else ""
