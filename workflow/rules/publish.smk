# Publishing happens when asked for, never by itself: the rule has no output that another could want.


rule publish:
    input:
        plans=expand("results/plans/{experiment}.json", experiment=EXPERIMENTS),
        records=records_of(EXPERIMENTS),
        # Without them Snakemake would not publish in a run that makes these alone; see `once`. To make missing ones
        # would have all measured anew that has read them.
        ceilings=[path for path in OWN_CEILINGS if Path(path).exists()],
    log:
        "results/logs/publish.log",
    conda:
        ENVIRONMENT
    params:
        machines=[
            f"--machine={name}"
            for name in [name for name in MACHINES if any(one.machine == name and not one.left_out for one in PLAN)]
            or MACHINES
        ],
        keep="--keep" if CONFIG["keep_published"] else "",
    shell:
        ladder("publish {input.plans} {params.machines:q} --into results/published {params.keep} 2> >(tee {log} >&2)")
