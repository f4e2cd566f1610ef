# A figure reads the tables of its experiments, and is drawn anew when they or its own code change.


def data_shown(figure):
    """The name of the data that a figure shows, those of its workload's first case with any; empty without one."""
    if not stated(figure)["USES_DATA"]:
        return ""
    workload = drawings.workload(figure)
    cases = (one.case for one in PLAN if one.case.workload == workload)
    return next(filter(None, (datasets.name_of(case.workload, case.sizes) for case in cases)), "")


def artefacts_shown(figure):
    """The artefacts that a figure shows: {file: path}."""
    workload = drawings.workload(figure)
    return {name: path for name in stated(figure)["USES_ARTEFACTS"] for path in datasets.files(f"{workload}/{name}")}


@functools.cache
def shown(figure):
    """The files of data and artefacts that a figure shows; None where they aren't there and nothing is measured."""
    name = data_shown(figure)
    if stated(figure)["USES_DATA"] and not name:
        return None
    files = [*(datasets.files(name) if name else []), *artefacts_shown(figure).values()]
    return files if CONFIG["measure"] or all(Path(file).exists() for file in files) else None


FIGURES = [figure for figure in drawings.drawable(EXPERIMENTS) if shown(figure) is not None]
FIGURE_FILES = expand("results/figures/{figure}.{format}", figure=FIGURES, format=drawings.FORMATS)


rule figure:
    input:
        tables=lambda wildcards: expand("{folder}/{table}.csv", folder=tables_of(wildcards.figure), table=TABLES),
        ceilings=lambda wildcards: ceilings_for(wildcards.figure).values(),
        shown=lambda wildcards: shown(wildcards.figure),
    output:
        "results/figures/{figure}.pdf",
        "results/figures/{figure}.png",
        report(
            "results/figures/{figure}.svg",
            caption="../report/figure.rst",
            category=lambda wildcards: stated(wildcards.figure)["CATEGORY"],
            labels=lambda wildcards: {"figure": stated(wildcards.figure)["TITLE"]},
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
        data=lambda wildcards: f"--data=results/data/{name}" if (name := data_shown(wildcards.figure)) else "",
        artefacts=lambda wildcards: [
            f"--artefact={name}={path}" for name, path in artefacts_shown(wildcards.figure).items()
        ],
    shell:
        ladder(
            "figure {wildcards.figure} --out results/figures/{wildcards.figure}"
            " {params.tables:q} {params.ceilings:q} {params.data:q} {params.artefacts:q} 2> >(tee {log} >&2)"
        )
