# Every case is a job of its own. A timed job takes all cores, so that nothing runs beside it; on a GPU, it takes the card.


STAMPS = {stamp_of(one.case): sources.fingerprint(one.case) for one in PLAN}


# What measurements depend on besides their cases, as files. As parameters of `measure` they would go unnoticed while the
# ceilings are measured anew: Snakemake doesn't compare the parameters of a job downstream of one that is to run, not even
# where `ancient` keeps it from running. A file per problem, so that configurations with other sizes keep their own.
rule stamp:
    output:
        "results/stamps/{name}.txt",
    log:
        "results/logs/stamps/{name}.log",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: STAMPS[f"results/stamps/{wildcards.name}.txt"],
        protocol=json.dumps(CONFIG["protocol"]),
    shell:
        "printf '%s\n' {params.sources:q} {params.protocol:q} > {output:q} 2> {log:q}"


if CONFIG["measure"]:

    rule measure:
        input:
            stamp=lambda wildcards: stamp_of(case_of(wildcards)),
            data=lambda wildcards: ancient(data_of(case_of(wildcards))),
            reference=lambda wildcards: reference_of(case_of(wildcards)),
            ceilings=lambda wildcards: ceilings_of(case_of(wildcards)),
            binaries=lambda wildcards: binaries_of(case_of(wildcards), CARD),
            compiled=lambda wildcards: compiled_of(case_of(wildcards)),
        output:
            f"results/records/{MACHINE}/{{workload}}/{{variant}}/{{case}}.json",
        log:
            f"results/logs/measure/{MACHINE}/{{workload}}/{{variant}}/{{case}}.log",
        conda:
            ENVIRONMENT
        threads: lambda wildcards: 1 if is_on_card(wildcards) else CORES
        resources:
            timing=lambda wildcards: 0 if is_on_card(wildcards) else 1,
            gpu=lambda wildcards: workloads.cards(case_of(wildcards)),
            # One rank needs no launcher.
            mpi=lambda wildcards: LAUNCHER if case_of(wildcards).ranks > 1 else "",
            tasks=lambda wildcards: case_of(wildcards).ranks,
            runtime=30,
            mem_mb=8000,
        params:
            protocol=json.dumps(CONFIG["protocol"]),
            reference=lambda wildcards, input: (f"--reference={input.reference}" if input.reference else ""),
            ceilings=lambda wildcards, input: f"--ceilings={input.ceilings}" if input.ceilings else "",
            launcher=lambda wildcards, resources: f"--launcher={resources.mpi}" if resources.mpi else "",
        shell:
            ladder(
                "measure {wildcards.workload} {wildcards.variant} {wildcards.case:q}"
                f" --out {{output:q}} --machine {MACHINE} --granted {{threads}}"
                " --protocol {params.protocol:q} {params.reference:q} {params.ceilings:q} {params.launcher:q}"
                " 2> >(tee {log:q} >&2)"
            )


rule ceilings:
    input:
        records=records_of(CEILING_EXPERIMENTS),
    output:
        f"results/ceilings/{MACHINE}.json",
    log:
        f"results/logs/ceilings/{MACHINE}.log",
    conda:
        ENVIRONMENT
    params:
        margin=CONFIG["ceiling_margin"],
    shell:
        ladder("ceilings {input.records:q} --margin {params.margin} --out {output} 2> {log}")


rule machine:
    output:
        f"results/machines/{MACHINE}.json",
    log:
        f"results/logs/machines/{MACHINE}.log",
    conda:
        ENVIRONMENT
    shell:
        ladder("describe --out {output} 2> {log}")
