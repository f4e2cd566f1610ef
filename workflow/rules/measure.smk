# Every case is a separate job. On the CPU it takes all cores, so that no other job runs, unless its protocol has
# `share_machine`; on a GPU it takes the GPU.


# The fingerprint and the protocol of measurements, in a file: see `ladder.workflow.stamps`.
rule stamp:
    output:
        "results/stamps/{name}.txt",
    log:
        "results/logs/stamps/{name}.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        sources=STAMPS.fingerprint,
        protocol=STAMPS.protocol,
    shell:
        "printf '%s\n' {params.sources:q} {params.protocol:q} > {output:q} 2> {log:q}"


if CONFIG["measure"]:

    rule measure:
        input:
            stamp=MEASUREMENT.stamp,
            data=MEASUREMENT.data,
            reference=MEASUREMENT.reference,
            ceilings=MEASUREMENT.ceilings,
            binaries=MEASUREMENT.binaries,
            libraries=MEASUREMENT.libraries,
            compiled=MEASUREMENT.compilation_note,
        output:
            "results/records/{machine}/{workload}/{variant}/{case}.json",
        log:
            "results/logs/measure/{machine}/{workload}/{variant}/{case}.log",
        wildcard_constraints:
            machine="|".join(STUDY.machines),
        # Measurements come first: short jobs of one core between them would leave the other cores idle.
        priority: 1
        conda:
            ENVIRONMENT
        threads: RESOURCES.threads
        resources:
            **RESOURCES.measuring_resources,
        params:
            case=measurement.slug,
            protocol=MEASUREMENT.protocol,
            reference=lambda wildcards, input: f"--reference={input.reference}" if input.reference else "",
            ceilings=lambda wildcards, input: f"--ceilings={input.ceilings}" if input.ceilings else "",
            launcher=lambda wildcards, resources: f"--launcher={resources.mpi}" if resources.mpi else "",
            granted=RESOURCES.granted_cores,
        shell:
            "exec 2> >(tee {log:q} >&2)\n"
            + on_node(
                "measure {wildcards.workload} {wildcards.variant} {params.case:q}"
                " --out {output:q} --machine {wildcards.machine} --granted {params.granted}"
                " --protocol {params.protocol:q} {params.reference:q} {params.ceilings:q} {params.launcher:q}"
                + (" --prelude" if STUDY.site else "")
            )


rule ceilings:
    input:
        records=CEILINGS.records,
    output:
        "results/ceilings/{machine}.json",
    log:
        "results/logs/ceilings/{machine}.log",
    wildcard_constraints:
        machine="|".join(STUDY.machines),
    localrule: IS_ON_CLUSTER
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
        machine="|".join(STUDY.machines),
    conda:
        ENVIRONMENT
    resources:
        **RESOURCES.describing_resources,
    shell:
        on_node("describe --out {output} 2> {log}")
