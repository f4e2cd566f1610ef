# Publishing happens when asked for, never by itself: the rule has no output that another could want.


rule publish:
    input:
        plans=expand("results/plans/{experiment}.json", experiment=EXPERIMENTS),
        records=records_of(EXPERIMENTS),
        ceilings=expand("results/ceilings/{machine}.json", machine=sorted(CEILING_MACHINES)),
    log:
        "results/logs/publish.log",
    conda:
        ENVIRONMENT
    params:
        machines=[name for name in MACHINES if any(one.machine == name and not one.left_out for one in PLAN)]
        or MACHINES,
        ceilings=sorted(CEILING_MACHINES),
    shell:
        "for machine in {params.machines:q}; do "
        'case " {params.ceilings} " in *" $machine "*) ceilings="--ceilings results/ceilings/$machine.json";; *) ceilings=;; esac; '
        f"{PYTHON} -m ladder publish {{input.plans}} --machine $machine $ceilings --out results/published/$machine"
        " || exit 1; done 2> >(tee {log} >&2)"
