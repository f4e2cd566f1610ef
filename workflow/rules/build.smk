# What is compiled ahead of measuring: CUDA kernels, without a GPU too and with a report each, C sources, and Numba's
# functions.


rule kernel:
    output:
        binary="results/build/{architecture}/{workload}/{variant}/{constants}.cubin",
        report="results/build/{architecture}/{workload}/{variant}/{constants}.json",
    log:
        "results/logs/build/{architecture}/{workload}/{variant}/{constants}.log",
    wildcard_constraints:
        architecture="sm_[^/]+",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: said(binaries.fingerprint, wildcards.workload, wildcards.variant),
    shell:
        ladder(
            "build {wildcards.architecture} {wildcards.workload} {wildcards.variant} {wildcards.constants:q}"
            " 2> >(tee {log:q} >&2)"
        )


# For this machine's CPU and compiler, which the folder's name stands for. Nodes of a cluster may have others: there the
# measurement compiles what it doesn't find, outside the clock.
rule library:
    output:
        library="results/build/{host}/{workload}/{variant}/{constants}.so",
        report="results/build/{host}/{workload}/{variant}/{constants}.json",
    log:
        "results/logs/build/{host}/{workload}/{variant}/{constants}.log",
    wildcard_constraints:
        host="host-[^/]+",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: said(libraries.fingerprint, wildcards.workload, wildcards.variant),
    shell:
        ladder("build host {wildcards.workload} {wildcards.variant} {wildcards.constants:q} 2> >(tee {log:q} >&2)")


# One job compiles for all sizes and threads of its kind of problem. It has neither sources nor parameters: notes of
# other code have other names, and if such a job were to run though no measurement needs it, Snakemake would compare the
# parameters of nothing that comes after. Nor does its note lie in the cache: were a note missing that one measurement
# needs, all others that have read it would be made anew with it.
rule precompile:
    output:
        "results/compiled/{fingerprint}/{workload}/{variant}/{case}.json",
    log:
        "results/logs/compiled/{fingerprint}/{workload}/{variant}/{case}.log",
    conda:
        ENVIRONMENT
    shell:
        ladder(
            "precompile {wildcards.workload} {wildcards.variant} {wildcards.case:q} --out {output:q}"
            " 2> >(tee {log:q} >&2)"
        )
