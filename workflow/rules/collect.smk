# Tidy tables from records and published measurements.
PUBLISHED_FOLDERS = [published.path_of(name) for name in STUDY.published]
PUBLISHED_TABLES = expand("{folder}/{table}.csv.gz", folder=PUBLISHED_FOLDERS, table=TABLES)
# Early publications have no traces.
PUBLISHED_TABLES = [path for path in PUBLISHED_TABLES if Path(path).exists() or Path(path).name != "traces.csv.gz"]


# Snakemake itself writes the plan, because an argument of a command is limited to 128 KiB. The template is `ancient`,
# since in a fresh clone it is newer than every plan.
rule plan:
    input:
        ancient(os.path.relpath(ROOT / "workflow/templates/plan.json")),
    output:
        "results/plans/{experiment}.json",
    log:
        "results/logs/plan/{experiment}.log",
    params:
        digest=STUDY.digest,
        # Snakemake doesn't compare a function of the output. If it did, it would print both texts as a job's reason.
        document=lambda wildcards, output: STUDY.document(wildcards),
    template_engine:
        "jinja2"


# One job for each experiment that measures cases, so that a record updates only its own tables; one job for the others.
MEASURED_EXPERIMENTS = [name for name in STUDY.experiments if CONFIG["measure"] and STUDY.records([name])]
OTHER_EXPERIMENTS = [name for name in STUDY.experiments if name not in MEASURED_EXPERIMENTS]


rule collect:
    input:
        plans="results/plans/{experiment}.json",
        records=lambda wildcards: STUDY.records([wildcards.experiment]),
        published=PUBLISHED_TABLES,
    output:
        update(expand("results/tables/{{experiment}}/{table}.csv", table=TABLES)),
    log:
        "results/logs/collect/{experiment}.log",
    wildcard_constraints:
        experiment="|".join(MEASURED_EXPERIMENTS) or "(?!)",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: sources.digest("ladder.verbs.collect"),
        published=[f"--published={folder}" for folder in PUBLISHED_FOLDERS],
    shell:
        ladder("collect {input.plans} --out results/tables {params.published:q} 2> {log}")


if OTHER_EXPERIMENTS:

    use rule collect as collect_others with:
        input:
            plans=expand("results/plans/{experiment}.json", experiment=OTHER_EXPERIMENTS),
            records=STUDY.records(OTHER_EXPERIMENTS),
            published=PUBLISHED_TABLES,
        output:
            update(expand("results/tables/{experiment}/{table}.csv", experiment=OTHER_EXPERIMENTS, table=TABLES)),
        log:
            "results/logs/collect/others.log",


rule table:
    input:
        expand("results/tables/{experiment}/samples.csv", experiment=STUDY.experiments),
    output:
        update("results/table.csv"),
    log:
        "results/logs/table.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: sources.digest("ladder.verbs.table"),
        folders=expand("results/tables/{experiment}", experiment=STUDY.experiments),
    shell:
        ladder("table {params.folders} --out {output} 2> {log}")
