# Publishing happens when asked for, never by itself: the rule has no output that another could want.


rule publish:
    input:
        plans=expand("results/plans/{experiment}.json", experiment=EXPERIMENTS),
        records=records_of(EXPERIMENTS),
        ceilings=f"results/ceilings/{MACHINE}.json",
    log:
        "results/logs/publish.log",
    conda:
        ENVIRONMENT
    params:
        folder=f"results/published/{MACHINE}",
    shell:
        ladder("publish {input.plans} --ceilings {input.ceilings} --out {params.folder} 2> >(tee {log} >&2)")
