# The data sets, as the same four IDX files, and the references of the trainings.


rule mnist:
    output:
        expand("results/data/mnist/{file}", file=dataset.FILES),
    log:
        "results/logs/mnist.log",
    retries: 1
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
        expand("results/data/digits/{file}", file=dataset.FILES),
    log:
        "results/logs/digits.log",
    conda:
        ENVIRONMENT
    shell:
        ladder("data digits --out results/data/digits 2> {log}")


rule reference:
    input:
        lambda wildcards: once(
            f"results/references/{wildcards.workload}/{wildcards.sizes}.npz", data_of(reference_case(wildcards))
        ),
    output:
        "results/references/{workload}/{sizes}.npz",
    log:
        "results/logs/reference/{workload}/{sizes}.log",
    conda:
        ENVIRONMENT
    threads: PLACES["cpu"].cores
    params:
        sources=lambda wildcards: sources.reference_fingerprint(wildcards.workload),
        data=lambda wildcards: Path(data_of(reference_case(wildcards))[0]).parent,
    shell:
        ladder("reference {wildcards.workload} {wildcards.sizes:q}" " --data {params.data} --out {output:q} 2> {log:q}")
