# Publishing happens when asked for, never by itself: the rule has no output that another could want.


rule publish:
    input:
        plans=expand("results/plans/{experiment}.json", experiment=EXPERIMENTS),
        records=records_of(EXPERIMENTS),
        ceilings=expand("results/ceilings/{machine}.json", machine=MACHINES),
    log:
        "results/logs/publish.log",
    conda:
        ENVIRONMENT
    params:
        machines=MACHINES,
    shell:
        "for machine in {params.machines:q}; do "
        f"{PYTHON} -m ladder publish {{input.plans}} --machine $machine --ceilings results/ceilings/$machine.json"
        " --out results/published/$machine || exit 1; done 2> >(tee {log} >&2)"
