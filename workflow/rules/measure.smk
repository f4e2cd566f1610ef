# Every case is a job of its own. A timed job takes all cores, so that nothing runs beside it; on a GPU, it takes the card.


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
        sources=lambda wildcards: fingerprints()[f"results/stamps/{wildcards.name}.txt"],
        protocol=lambda wildcards: stamped_protocols()[f"results/stamps/{wildcards.name}.txt"],
    shell:
        "printf '%s\n' {params.sources:q} {params.protocol:q} > {output:q} 2> {log:q}"


if CONFIG["measure"]:

    rule measure:
        input:
            stamp=lambda wildcards: stamp_of(planned(wildcards)),
            data=lambda wildcards: data_for(record_of(wildcards), case_of(wildcards)),
            reference=lambda wildcards: reference_of(case_of(wildcards)),
            ceilings=lambda wildcards: once(record_of(wildcards), ceilings_of(case_of(wildcards))),
            binaries=lambda wildcards: binaries_of(case_of(wildcards), MEASURED_ARCHITECTURES),
            libraries=lambda wildcards: libraries_of(case_of(wildcards)),
            compiled=lambda wildcards: once(record_of(wildcards), compiled_of(case_of(wildcards))),
        output:
            "results/records/{machine}/{workload}/{variant}/{case}.json",
        log:
            "results/logs/measure/{machine}/{workload}/{variant}/{case}.log",
        wildcard_constraints:
            machine="|".join(MACHINES),
        # Short jobs of one core in between would leave the other cores waiting; later they run side by side.
        priority: 1
        conda:
            ENVIRONMENT
        threads: threads_of
        resources:
            **RESOURCES,
        params:
            case=lambda wildcards: case_of(wildcards).slug,
            protocol=lambda wildcards: protocols()[case_of(wildcards).key],
            reference=lambda wildcards, input: (f"--reference={input.reference}" if input.reference else ""),
            ceilings=lambda wildcards, input: f"--ceilings={input.ceilings}" if input.ceilings else "",
            launcher=lambda wildcards, resources: f"--launcher={resources.mpi}" if resources.mpi else "",
            granted=granted,
        shell:
            "exec 2> >(tee {log:q} >&2)\n"
            + on_node(
                "measure {wildcards.workload} {wildcards.variant} {params.case:q}"
                " --out {output:q} --machine {wildcards.machine} --granted {params.granted}"
                " --protocol {params.protocol:q} {params.reference:q} {params.ceilings:q} {params.launcher:q}"
                + (" --prelude" if SITE else "")
            )


rule ceilings:
    input:
        records=lambda wildcards: records_of(CEILING_EXPERIMENTS, [wildcards.machine]),
    output:
        "results/ceilings/{machine}.json",
    log:
        "results/logs/ceilings/{machine}.log",
    wildcard_constraints:
        machine="|".join(MACHINES),
    conda:
        ENVIRONMENT
    params:
        margin=CONFIG["ceiling_margin"],
    shell:
        ladder("ceilings {input.records:q} --margin {params.margin} --out {output} 2> {log}")


rule machine:
    output:
        "results/machines/{machine}.json",
    log:
        "results/logs/machines/{machine}.log",
    wildcard_constraints:
        machine="|".join(MACHINES),
    conda:
        ENVIRONMENT
    resources:
        **DESCRIBED,
    shell:
        on_node("describe --out {output} 2> {log}")
