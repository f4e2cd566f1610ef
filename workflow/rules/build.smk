# Kernels are compiled ahead of all measurements, on machines without a GPU too; a report of each lies beside it.
from ladder import build

CARD = [f"sm_{card['capability'].replace('.', '')}" for card in machine.gpus()[:1]]
ARCHITECTURES = sorted({*CONFIG["architectures"], *CARD})


def binaries_of(case, architectures):
    """The binaries that a case needs on these architectures."""
    return [
        str(build.place(architecture, *kernel))
        for architecture in architectures
        for kernel in sorted(build.kernels(case))
    ]


BINARIES = sorted({path for one in EVERYTHING for path in binaries_of(one.case, ARCHITECTURES)})


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
