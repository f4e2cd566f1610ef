# A figure reads the tables of its experiments, and is redrawn when these tables or its code change.


# The ceilings of all machines: of this one from its ceiling experiments, of published ones from all samples.
rule roofs:
    input:
        tables=expand("results/tables/{experiment}/{table}.csv", experiment=CEILINGS.experiments, table=TABLES),
        published=expand("{folder}/samples.csv.gz", folder=PUBLISHED_FOLDERS),
    output:
        "results/roofs.json",
    log:
        "results/logs/roofs.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=sources.digest("ladder.verbs.roofs"),
        tables=expand("results/tables/{experiment}", experiment=CEILINGS.experiments),
        published=expand("--published={folder}", folder=PUBLISHED_FOLDERS),
    shell:
        ladder("roofs {params.tables:q} {params.published:q} --out {output} 2> >(tee {log} >&2)")


rule figure:
    input:
        tables=FIGURES.tables,
        ceilings=FIGURES.roofs,
        data=FIGURES.data_and_artefacts,
    output:
        update("results/figures/{figure}.pdf"),
        update("results/figures/{figure}.png"),
        report(
            update("results/figures/{figure}.svg"),
            caption="../report/figure.rst",
            category=FIGURES.category,
            labels=FIGURES.labels,
        ),
    log:
        "results/logs/figures/{figure}.log",
    wildcard_constraints:
        figure="|".join(FIGURES.names) or "none",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=figures.fingerprint,
        caption=figures.caption,
        tables=FIGURES.table_options,
        ceilings=FIGURES.roofs_option,
        data=FIGURES.data_option,
        artefacts=FIGURES.artefact_options,
    shell:
        ladder(
            "figure {wildcards.figure} --out results/figures/{wildcards.figure}"
            " {params.tables:q} {params.ceilings:q} {params.data:q} {params.artefacts:q} 2> >(tee {log} >&2)"
        )
