# Ahead-of-time compilation: CUDA kernels, each with a report and on machines without a GPU too, C sources, and Numba's
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
        sources=builds.kernel_fingerprint,
    shell:
        ladder(
            "build {wildcards.architecture} {wildcards.workload} {wildcards.variant} {wildcards.constants:q}"
            " 2> >(tee {log:q} >&2)"
        )


# For this machine's CPU and compiler, which the folder's name identifies. Nodes of a cluster may have others: there the
# measurement compiles missing libraries itself, untimed.
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
        sources=builds.library_fingerprint,
    shell:
        ladder("build host {wildcards.workload} {wildcards.variant} {wildcards.constants:q} 2> >(tee {log:q} >&2)")


# One job compiles for all sizes and threads of its kind of problem. It has neither sources nor parameters: notes of
# other code have other names, and if such a job ran although no measurement needs it, Snakemake would not compare the
# parameters of any job downstream. Its note isn't in the cache either: if one measurement missed it there, all others
# that have read it would run again.
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
