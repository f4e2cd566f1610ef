# The study, from configuration to paper. `snakemake -n` lists what would run, `snakemake` runs it.
import sys

# Snakemake searches this folder first, where a user's `random.py` would replace that of Python.
sys.path[:] = [folder for folder in sys.path if folder != workflow.basedir]

from pathlib import Path

from ladder.planning.configuration import shipped
from snakemake.utils import min_version

min_version("9.0")


# The project's own configuration if the folder named by `--directory` has none.
configfile: shipped(Path(workflow.basedir))


# The front page of Snakemake's report.
report: "workflow/report/study.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/site.smk"
include: "workflow/rules/publish.smk"


if workflow.is_main_process:
    invocation.check_targets(workflow, STUDY.experiments, FIGURES)


# Only the main process calls these handlers, not the Snakemake that runs a job on a cluster's node.
onstart:
    RUN.start()


onsuccess:
    RUN.end()


onerror:
    RUN.fail()


localrules:
    all,
    kernels,
    stamp,
    figures,
    paper,
    measurements,
    site_document,


# On a cluster, nodes run the jobs that measure or describe a machine; these here are too short for a Slurm job.
if STUDY.site:

    localrules:
        ceilings,
        collect,
        digits,
        figure,
        kernel,
        library,
        mnist,
        numbers,
        overview,
        precompile,
        publish,
        reference,
        roofs,
        sensitivity,
        site,
        table,
        tables,
        typeset,


rule kernels:
    input:
        BUILDS.binaries,


rule all:
    default_target: True
    input:
        paper.DOCUMENT_FILES,
        page.FILE,
        page.DOCUMENTS,
        "results/report.zip",
        "results/ro-crate-metadata.json",


rule paper:
    input:
        paper.DOCUMENT_FILES,


rule figures:
    input:
        FIGURES.files,


# The records are listed too, because Snakemake doesn't rebuild missing inputs of an existing table.
rule measurements:
    input:
        "results/table.csv",
        STUDY.records(STUDY.experiments),
