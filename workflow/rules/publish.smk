# Publishing must be requested: the rule has no output that another rule could need.


rule publish:
    input:
        plans=expand("results/plans/{experiment}.json", experiment=STUDY.experiments),
        records=STUDY.records(STUDY.experiments),
        # Without this input, Snakemake wouldn't publish in a run that rebuilds ceilings: see `data.ancient_if_exists`.
        # Only existing ceilings are listed: rebuilding missing ones would repeat all measurements that have read them.
        ceilings=[path for path in CEILINGS.files if Path(path).exists()],
    log:
        "results/logs/publish.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        machines=[f"--machine={name}" for name in STUDY.measured_machines or STUDY.machines],
        keep="--keep" if CONFIG["keep_published"] else "",
    shell:
        ladder("publish {input.plans} {params.machines:q} --into results/published {params.keep} 2> >(tee {log} >&2)")
