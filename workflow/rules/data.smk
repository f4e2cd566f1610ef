# The data that cases read, the artefacts that workloads build, and the references that aren't computed inside the job that measures.


rule mnist:
    output:
        datasets.files("mnist"),
    log:
        "results/logs/mnist.log",
    retries: 1
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    resources:
        runtime=30,
    params:
        mirrors=lambda wildcards: [
            f"--mirror={mirror}" for mirror in [CONFIG["mnist_mirror"], *CONFIG["mirrors"]] if mirror
        ],
    shell:
        ladder("data mnist --out results/data/mnist {params.mirrors:q} 2> >(tee {log} >&2)")


rule digits:
    output:
        datasets.files("digits"),
    log:
        "results/logs/digits.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    shell:
        ladder("data digits --out results/data/digits 2> {log}")


# Building an artefact takes all cores, so that no case is timed meanwhile; unpacking one does not.
rule artefact:
    input:
        data.files_of_origin,
    output:
        "results/data/{workload}/{artefact}",
    log:
        "results/logs/artefacts/{workload}/{artefact}.log",
    wildcard_constraints:
        workload="|".join(workloads.names()),
        artefact="[^/]+",
    conda:
        ENVIRONMENT
    threads: lambda wildcards: 1 if data.published_checksum(wildcards) else STUDY.targets["cpu"].cores
    params:
        sources=data.artefact_fingerprint,
        unpack=lambda wildcards: "--unpack" if data.published_checksum(wildcards) else "",
        data=data.origin_option,
    shell:
        ladder(
            "artefact {wildcards.workload} {wildcards.artefact:q} {params.data:q} {params.unpack:q} --out {output:q}"
            " 2> >(tee {log:q} >&2)"
        )


rule reference:
    input:
        data.of_reference,
    output:
        "results/references/{workload}/{sizes}.npz",
    log:
        "results/logs/reference/{workload}/{sizes}.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    threads: STUDY.targets["cpu"].cores
    params:
        sources=lambda wildcards: sources.reference_fingerprint(wildcards.workload),
        data=data.reference_option,
    shell:
        ladder("reference {wildcards.workload} {wildcards.sizes:q} {params.data} --out {output:q} 2> {log:q}")
