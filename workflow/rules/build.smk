# Ahead-of-time compilation: CUDA kernels (even without a GPU) and C sources, each with a report, and Numba's functions.


rule kernel:
    output:
        binary="results/build/{architecture}/{workload}/{variant}/{constants}.cubin",
        report="results/build/{architecture}/{workload}/{variant}/{constants}.json",
    log:
        "results/logs/build/{architecture}/{workload}/{variant}/{constants}.log",
    wildcard_constraints:
        architecture="sm_[^/]+",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=builds.kernel_fingerprint,
    shell:
        ladder(
            "build {wildcards.architecture} {wildcards.workload} {wildcards.variant} {wildcards.constants:q}"
            " 2> >(tee {log:q} >&2)"
        )


# The folder's name, `host-...`, identifies this machine's CPU and compiler. Nodes of a cluster and containers may have
# others: a measurement there compiles missing libraries itself, untimed.
rule library:
    output:
        library="results/build/{host}/{workload}/{variant}/{constants}.so",
        report="results/build/{host}/{workload}/{variant}/{constants}.json",
    log:
        "results/logs/build/{host}/{workload}/{variant}/{constants}.log",
    wildcard_constraints:
        host="host-[^/]+",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=builds.library_fingerprint,
    shell:
        ladder("build host {wildcards.workload} {wildcards.variant} {wildcards.constants:q} 2> >(tee {log:q} >&2)")


# One job compiles for all sizes and threads of its kind of problem. The rule has no `sources` among its parameters: the
# note's path has the fingerprint of the code, and after a change of parameters Snakemake would run jobs that no
# measurement needs, and not compare the parameters of jobs downstream. The note isn't in Numba's cache either: if it
# were removed there and written again, all measurements that have read it would run again.
rule precompile:
    output:
        "results/compiled/{fingerprint}/{workload}/{variant}/{case}.json",
    log:
        "results/logs/compiled/{fingerprint}/{workload}/{variant}/{case}.log",
    # Before measurements, because compiling takes long, and the measurements that need it wait.
    priority: 2
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        case=builds.slug_of_note,
    shell:
        ladder(
            "precompile {wildcards.workload} {wildcards.variant} {params.case:q} --out {output:q}"
            " 2> >(tee {log:q} >&2)"
        )
