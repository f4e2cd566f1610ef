# The study, from configuration to paper. `snakemake -n` says what would run, `snakemake` runs it.
from pathlib import Path

from ladder.planning.configuration import shipped
from snakemake.utils import min_version

min_version("9.0")


# That of the project, where `--directory` names a folder without one.
configfile: shipped(Path(workflow.basedir))


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/publish.smk"


# The Snakemake that a cluster starts on each node calls none of these.
onstart:
    require_writable()
    require_cluster()
    note_run()


onsuccess:
    tell_run()


onerror:
    age_restored()
    tell_run()


localrules:
    all,
    kernels,
    stamp,
    figures,
    paper,
    measurements,


# On a cluster a node's work is measuring, and telling what it is; all else is too short to be worth a job.
if SITE:

    localrules:
        ceilings,
        collect,
        digits,
        figure,
        kernel,
        library,
        mnist,
        numbers,
        plan,
        precompile,
        publish,
        reference,
        roofs,
        sensitivity,
        table,
        tables,
        typeset,


rule kernels:
    input:
        BINARIES,


rule all:
    default_target: True
    input:
        DOCUMENT_FILES,
        "results/report.zip",


rule paper:
    input:
        DOCUMENT_FILES,


rule figures:
    input:
        FIGURE_FILES,


# The records by name too: of what a table that is there was made, Snakemake makes nothing anew that is missing.
rule measurements:
    input:
        "results/table.csv",
        records_of(EXPERIMENTS),
