# Every case is a job of its own. A timed job takes all cores, so that nothing runs beside it.


if CONFIG["measure"]:

    rule measure:
        input:
            data=lambda wildcards: ancient(data_of(case_of(wildcards))),
            reference=lambda wildcards: reference_of(case_of(wildcards)),
            ceilings=lambda wildcards: ceilings_of(case_of(wildcards)),
        output:
            f"results/records/{MACHINE}/{{workload}}/{{variant}}/{{case}}.json",
        log:
            f"results/logs/measure/{MACHINE}/{{workload}}/{{variant}}/{{case}}.log",
        conda:
            ENVIRONMENT
        threads: CORES
        resources:
            timing=1,
            runtime=30,
            mem_mb=8000,
        params:
            sources=lambda wildcards: sources.fingerprint(case_of(wildcards)),
            protocol=json.dumps(CONFIG["protocol"]),
            reference=lambda wildcards, input: (f"--reference={input.reference}" if input.reference else ""),
            ceilings=lambda wildcards, input: f"--ceilings={input.ceilings}" if input.ceilings else "",
        shell:
            ladder(
                "measure {wildcards.workload} {wildcards.variant} {wildcards.case:q}"
                f" --out {{output:q}} --machine {MACHINE} --granted {{threads}}"
                " --protocol {params.protocol:q} {params.reference:q} {params.ceilings:q}"
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
