# Every case is a job of its own. A timed job takes all cores, so that nothing runs beside it.
from ladder.case import Case


def case_of(wildcards):
    return Case.parse(wildcards.workload, wildcards.variant, wildcards.case)


def reference_case(wildcards):
    return Case.parse(wildcards.workload, "reference", wildcards.sizes + ",cache=cold")


def data_of(case):
    """The files of the data set that a case reads."""
    name = workloads.load(case.workload).data_set(case.sizes)
    return expand("results/data/{name}/{file}", name=name, file=data.FILES) if name else []


def reference_of(case):
    """The file of the reference that a case is checked against, where it isn't computed inside the job."""
    sizes = workloads.load(case.workload).reference_sizes(case.sizes)
    if sizes is None:
        return []
    slug = Case(case.workload, "reference", sizes, {}).slug.removesuffix(",cache=cold")
    return f"results/references/{case.workload}/{slug}.npz"


CEILING_EXPERIMENTS = [name for name in EXPERIMENTS if is_ceiling(name)]
CEILING_CASES = {one.case.key for one in PLAN if is_ceiling(one.experiment)}


def ceilings_of(case):
    """The machine's ceilings, for the cases that don't measure them. Newer ceilings make no measurement old."""
    known = CEILING_EXPERIMENTS and case.key not in CEILING_CASES
    return ancient(f"results/ceilings/{MACHINE}.json") if known else []


if CONFIG["measure"]:

    rule measure:
        input:
            data=lambda wildcards: data_of(case_of(wildcards)),
            reference=lambda wildcards: reference_of(case_of(wildcards)),
            ceilings=lambda wildcards: ceilings_of(case_of(wildcards)),
        output:
            f"results/records/{MACHINE}/{{workload}}/{{variant}}/{{case}}.json",
        params:
            sources=lambda wildcards: sources.fingerprint(case_of(wildcards)),
            protocol=json.dumps(CONFIG["protocol"]),
            reference=lambda wildcards, input: (
                f"--reference={input.reference}" if input.reference else ""
            ),
            ceilings=lambda wildcards, input: f"--ceilings={input.ceilings}" if input.ceilings else "",
        log:
            f"results/logs/measure/{MACHINE}/{{workload}}/{{variant}}/{{case}}.log",
        threads: CORES
        resources:
            timing=1,
            runtime=30,
            mem_mb=8000,
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
    params:
        margin=CONFIG["ceiling_margin"],
    log:
        f"results/logs/ceilings/{MACHINE}.log",
    shell:
        ladder("ceilings {input.records:q} --margin {params.margin} --out {output} 2> {log}")


rule machine:
    output:
        f"results/machines/{MACHINE}.json",
    log:
        f"results/logs/machines/{MACHINE}.log",
    shell:
        ladder("describe --out {output} 2> {log}")
