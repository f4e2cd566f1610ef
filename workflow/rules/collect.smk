# Records and published measurements become tidy tables.
from ladder.report import TABLES

PUBLISHED_TABLES = expand("results/published/{machine}/{table}.csv.gz", machine=PUBLISHED, table=TABLES)
# Early publications have no traces.
PUBLISHED_TABLES = [path for path in PUBLISHED_TABLES if Path(path).exists() or Path(path).name != "traces.csv.gz"]


rule plan:
    output:
        "results/plans/{experiment}.json",
    log:
        "results/logs/plan/{experiment}.log",
    conda:
        ENVIRONMENT
    params:
        plan=lambda wildcards: plan.pack(PLAN, wildcards.experiment),
    shell:
        "printf %s {params.plan} | base64 --decode | gunzip > {output} 2> {log}"


# One job for each experiment that has cases here, so that a new record updates only its own tables; one for all others.
MEASURED = [name for name in EXPERIMENTS if CONFIG["measure"] and records_of([name])]
OTHERS = [name for name in EXPERIMENTS if name not in MEASURED]


rule collect:
    input:
        plans="results/plans/{experiment}.json",
        records=lambda wildcards: records_of([wildcards.experiment]),
        published=PUBLISHED_TABLES,
    output:
        update(expand("results/tables/{{experiment}}/{table}.csv", table=TABLES)),
    log:
        "results/logs/collect/{experiment}.log",
    wildcard_constraints:
        experiment="|".join(MEASURED) or "(?!)",
    conda:
        ENVIRONMENT
    params:
        published=[f"--published=results/published/{name}" for name in PUBLISHED],
    shell:
        ladder("collect {input.plans} --out results/tables {params.published:q} 2> {log}")


if OTHERS:

    use rule collect as collect_others with:
        input:
            plans=expand("results/plans/{experiment}.json", experiment=OTHERS),
            records=records_of(OTHERS),
            published=PUBLISHED_TABLES,
        output:
            update(expand("results/tables/{experiment}/{table}.csv", experiment=OTHERS, table=TABLES)),
        log:
            "results/logs/collect/others.log",


rule table:
    input:
        expand("results/tables/{experiment}/samples.csv", experiment=EXPERIMENTS),
    output:
        update("results/table.csv"),
    log:
        "results/logs/table.log",
    conda:
        ENVIRONMENT
    params:
        folders=[f"results/tables/{name}" for name in EXPERIMENTS],
    shell:
        ladder("table {params.folders} --out {output} 2> {log}")
