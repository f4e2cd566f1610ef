# A figure reads the tables of its experiments, and is drawn anew when they or its own code change.
from ladder import figures as drawings
from ladder.collect import TABLES

# The data set of the study's trainings: without measuring it is shown where it is there already, but not fetched.
DATA_FILES = next(filter(None, (data_of(one.case) for one in PLAN)), [])
FIGURES = drawings.drawable(
    EXPERIMENTS,
    data=DATA_FILES
    and (CONFIG["measure"] or all(Path(file).exists() for file in DATA_FILES)),
)
FIGURE_FILES = expand(
    "results/figures/{figure}.{format}", figure=FIGURES, format=drawings.FORMATS
)


def tables_of(figure):
    """The folders of the tables that a figure reads."""
    return expand(
        "results/tables/{experiment}",
        experiment=drawings.constants(figure)["EXPERIMENTS"],
    )


def ceilings_for(figure):
    """The files of ceilings that a figure reads: {machine: path}, published machines named as in the tables."""
    if not drawings.constants(figure)["USES_CEILINGS"]:
        return {}
    own = (
        {MACHINE: f"results/ceilings/{MACHINE}.json"}
        if records_of(CEILING_EXPERIMENTS)
        else {}
    )
    others = {
        f"{name} (published)": f"results/published/{name}/ceilings.json"
        for name in PUBLISHED
    }
    return own | {name: path for name, path in others.items() if Path(path).exists()}


rule figure:
    input:
        tables=lambda wildcards: expand(
            "{folder}/{table}.csv", folder=tables_of(wildcards.figure), table=TABLES
        ),
        ceilings=lambda wildcards: ceilings_for(wildcards.figure).values(),
        data=lambda wildcards: (
            DATA_FILES if drawings.constants(wildcards.figure)["USES_DATA"] else []
        ),
    output:
        "results/figures/{figure}.pdf",
        "results/figures/{figure}.png",
        report(
            "results/figures/{figure}.svg",
            caption="../report/figure.rst",
            category=lambda wildcards: drawings.constants(wildcards.figure)[
                "CATEGORY"
            ],
            labels=lambda wildcards: {
                "figure": drawings.constants(wildcards.figure)["TITLE"]
            },
        ),
    log:
        "results/logs/figures/{figure}.log",
    wildcard_constraints:
        figure="|".join(FIGURES) or "none",
    params:
        sources=lambda wildcards: drawings.fingerprint(wildcards.figure),
        tables=lambda wildcards: [
            f"--tables={folder}" for folder in tables_of(wildcards.figure)
        ],
        ceilings=lambda wildcards: [
            f"--ceilings={name}={path}"
            for name, path in ceilings_for(wildcards.figure).items()
        ],
        data=lambda wildcards, input: (
            f"--data={Path(input.data[0]).parent}" if input.data else ""
        ),
    shell:
        ladder(
            "figure {wildcards.figure} --out results/figures/{wildcards.figure}"
            " {params.tables:q} {params.ceilings:q} {params.data:q} 2> >(tee {log} >&2)"
        )
