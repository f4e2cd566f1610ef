# The data sets, as the same four IDX files, and the references of the trainings.
from ladder import data


rule mnist:
    output:
        expand("results/data/mnist/{file}", file=data.FILES),
    params:
        mirrors=lambda wildcards: [
            f"--mirror={mirror}"
            for mirror in [CONFIG["mnist_mirror"], *CONFIG["mirrors"]]
            if mirror
        ],
    log:
        "results/logs/mnist.log",
    retries: 1
    resources:
        runtime=30,
    shell:
        ladder("data mnist --out results/data/mnist {params.mirrors:q} 2> >(tee {log} >&2)")


rule digits:
    output:
        expand("results/data/digits/{file}", file=data.FILES),
    log:
        "results/logs/digits.log",
    shell:
        ladder("data digits --out results/data/digits 2> {log}")


rule reference:
    input:
        lambda wildcards: data_of(reference_case(wildcards)),
    output:
        "results/references/{workload}/{sizes}.npz",
    params:
        sources=lambda wildcards: sources.reference_fingerprint(wildcards.workload),
        data=lambda wildcards: Path(data_of(reference_case(wildcards))[0]).parent,
    log:
        "results/logs/reference/{workload}/{sizes}.log",
    threads: CORES
    shell:
        ladder(
            "reference {wildcards.workload} {wildcards.sizes:q}"
            " --data {params.data} --out {output:q} 2> {log:q}"
        )
