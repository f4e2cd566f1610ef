# The study, from configuration to paper. `snakemake -n` lists what would run, `snakemake` runs it.
from pathlib import Path

from ladder.planning.configuration import shipped
from snakemake.utils import min_version

min_version("9.0")


# That of the project if `--directory` names a folder without one.
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


# The Snakemake that runs a job on a cluster's node calls none of these.
onstart:
    require_writable()
    require_cluster()
    write_status()


onsuccess:
    print_summary()


onerror:
    age_restored()
    print_summary()


localrules:
    all,
    kernels,
    stamp,
    figures,
    paper,
    measurements,


# On a cluster the nodes measure and describe themselves; everything else is too short to be worth a job.
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


# The records are named too: Snakemake doesn't rebuild the missing inputs of a table that exists.
rule measurements:
    input:
        "results/table.csv",
        records_of(EXPERIMENTS),
