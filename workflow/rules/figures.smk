# A figure reads the tables of its experiments, and is redrawn when they or its own code change.

FIGURES = [figure for figure in drawings.drawable(EXPERIMENTS) if figure_inputs(figure) is not None]
FIGURE_FILES = expand("results/figures/{figure}.{format}", figure=FIGURES, format=drawings.FORMATS)


# The ceilings of all machines, from all of their measurements.
rule roofs:
    input:
        tables=expand("results/tables/{experiment}/{table}.csv", experiment=CEILING_EXPERIMENTS, table=TABLES),
        published=expand("results/published/{machine}/samples.csv.gz", machine=PUBLISHED),
    output:
        "results/roofs.json",
    log:
        "results/logs/roofs.log",
    conda:
        ENVIRONMENT
    params:
        sources=sources.of("ladder.verbs.roofs"),
        tables=expand("results/tables/{experiment}", experiment=CEILING_EXPERIMENTS),
        published=expand("--published=results/published/{machine}", machine=PUBLISHED),
    shell:
        ladder("roofs {params.tables:q} {params.published:q} --out {output} 2> >(tee {log} >&2)")


rule figure:
    input:
        tables=lambda wildcards: expand("{folder}/{table}.csv", folder=tables_of(wildcards.figure), table=TABLES),
        ceilings=lambda wildcards: ceilings_for(wildcards.figure),
        shown=lambda wildcards: figure_inputs(wildcards.figure),
    output:
        update("results/figures/{figure}.pdf"),
        update("results/figures/{figure}.png"),
        report(
            update("results/figures/{figure}.svg"),
            caption="../report/figure.rst",
            category=lambda wildcards: figure_constants(wildcards.figure)["CATEGORY"],
            labels=lambda wildcards: {"figure": figure_constants(wildcards.figure)["TITLE"]},
        ),
    log:
        "results/logs/figures/{figure}.log",
    wildcard_constraints:
        figure="|".join(FIGURES) or "none",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: drawings.fingerprint(wildcards.figure),
        caption=lambda wildcards: drawings.caption(wildcards.figure),
        tables=lambda wildcards: [f"--tables={folder}" for folder in tables_of(wildcards.figure)],
        ceilings=lambda wildcards: [f"--ceilings={path}" for path in ceilings_for(wildcards.figure)],
        data=lambda wildcards: f"--data=results/data/{name}" if (name := figure_data(wildcards.figure)) else "",
        artefacts=lambda wildcards: [
            f"--artefact={name}={path}" for name, path in figure_artefacts(wildcards.figure).items()
        ],
    shell:
        ladder(
            "figure {wildcards.figure} --out results/figures/{wildcards.figure}"
            " {params.tables:q} {params.ceilings:q} {params.data:q} {params.artefacts:q} 2> >(tee {log} >&2)"
        )
