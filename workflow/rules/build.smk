# Kernels are compiled ahead of all measurements, on machines without a GPU too; a report of each lies beside it.


rule kernel:
    output:
        binary="results/build/{architecture}/{workload}/{variant}/{constants}.cubin",
        report="results/build/{architecture}/{workload}/{variant}/{constants}.json",
    log:
        "results/logs/build/{architecture}/{workload}/{variant}/{constants}.log",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: build.fingerprint(wildcards.workload, wildcards.variant),
    shell:
        ladder(
            "build {wildcards.architecture} {wildcards.workload} {wildcards.variant} {wildcards.constants:q}"
            " 2> >(tee {log:q} >&2)"
        )
