# A figure reads the tables of its experiments, and is drawn anew when they or its own code change.

# The data set of the study's trainings: without measuring it is shown where it is there already, but not fetched.
DATA_FILES = next(filter(None, (data_of(one.case) for one in PLAN)), [])
FIGURES = drawings.drawable(
    EXPERIMENTS,
    data=DATA_FILES and (CONFIG["measure"] or all(Path(file).exists() for file in DATA_FILES)),
)
FIGURE_FILES = expand("results/figures/{figure}.{format}", figure=FIGURES, format=drawings.FORMATS)


rule figure:
    input:
        tables=lambda wildcards: expand("{folder}/{table}.csv", folder=tables_of(wildcards.figure), table=TABLES),
        ceilings=lambda wildcards: ceilings_for(wildcards.figure).values(),
        data=lambda wildcards: (DATA_FILES if drawings.constants(wildcards.figure)["USES_DATA"] else []),
    output:
        "results/figures/{figure}.pdf",
        "results/figures/{figure}.png",
        report(
            "results/figures/{figure}.svg",
            caption="../report/figure.rst",
            category=lambda wildcards: drawings.constants(wildcards.figure)["CATEGORY"],
            labels=lambda wildcards: {"figure": drawings.constants(wildcards.figure)["TITLE"]},
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
        ceilings=lambda wildcards: [
            f"--ceilings={name}={path}" for name, path in ceilings_for(wildcards.figure).items()
        ],
        data=lambda wildcards, input: (f"--data={Path(input.data[0]).parent}" if input.data else ""),
    shell:
        ladder(
            "figure {wildcards.figure} --out results/figures/{wildcards.figure}"
            " {params.tables:q} {params.ceilings:q} {params.data:q} 2> >(tee {log} >&2)"
        )
