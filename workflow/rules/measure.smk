# Every case is a separate job. A timed job takes all cores, so that nothing runs beside it; on a GPU, it takes the GPU.


# The code and protocol of measurements, as files. As parameters of `measure` their changes would be missed while the
# ceilings are measured again: Snakemake doesn't compare the parameters of a job downstream of one that is to run, even if
# `ancient` keeps it from running. There is one file per problem, so that configurations with other sizes keep theirs.
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
            stamp=lambda wildcards: stamp_of(planned_case(wildcards)),
            data=lambda wildcards: data_for(record_of(wildcards), case_of(wildcards)),
            reference=lambda wildcards: reference_of(case_of(wildcards)),
            ceilings=lambda wildcards: ancient_if_exists(record_of(wildcards), ceilings_of(case_of(wildcards))),
            binaries=lambda wildcards: binaries_of(case_of(wildcards), MEASURED_ARCHITECTURES),
            libraries=lambda wildcards: libraries_of(case_of(wildcards)),
            compiled=lambda wildcards: ancient_if_exists(record_of(wildcards), compiled_of(case_of(wildcards))),
        output:
            "results/records/{machine}/{workload}/{variant}/{case}.json",
        log:
            "results/logs/measure/{machine}/{workload}/{variant}/{case}.log",
        wildcard_constraints:
            machine="|".join(MACHINES),
        # Short jobs of one core in between would leave the other cores idle; later they run in parallel.
        priority: 1
        conda:
            ENVIRONMENT
        threads: threads_of
        resources:
            **MEASURE_RESOURCES,
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
        **DESCRIBE_RESOURCES,
    shell:
        on_node("describe --out {output} 2> {log}")
