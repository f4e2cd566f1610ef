# Numbers and tables in LaTeX, the paper and its supplement, and the report, which contains all of them.

SNAKEFILE = os.path.relpath(ROOT / "workflow/Snakefile")
OVERVIEW = [f"results/figures/overview.{suffix}" for suffix in ("pdf", "svg", "png")]


rule numbers:
    input:
        tables=PAPER.table_files,
        machine_descriptions=PAPER.machine_descriptions,
        # The ceilings of each machine, with which its samples are compared. Measurements have them as `ancient` inputs.
        # Snakemake overlooks jobs downstream of an `ancient` input that is to be rebuilt (its issue 4166), so the
        # ceilings are an input here, too.
        ceilings=CEILINGS.files,
        roofs=CEILINGS.roofs,  # the best rates of all machines, to which shares of a ceiling refer
        templates=PAPER.templates,
    output:
        PAPER.texts,
        numbers="results/numbers.tex",
    log:
        "results/logs/numbers.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: paper.code_fingerprint("numbers"),
        study=PAPER.study_arguments,
        protocol=json.dumps(CONFIG["protocol"]),
        margin=CONFIG["ceiling_margin"],
        templates=[f"--template={path}" for path in PAPER.own_templates],
        # Dates aren't enough: after a return to an older commit, a changed template may have an earlier date than the
        # texts. So a digest of the contents counts too.
        texts=PAPER.templates_digest(),
    shell:
        ladder(
            "numbers {params.study:q} --protocol {params.protocol:q} --margin {params.margin}"
            " {params.templates:q} --texts results/texts --out {output.numbers} 2> >(tee {log} >&2)"
        )


rule overview:
    input:
        tables=PAPER.table_files,
        machine_descriptions=PAPER.machine_descriptions,
        roofs=CEILINGS.roofs,
    output:
        update("results/figures/overview.pdf"),
        update("results/figures/overview.png"),
        report(
            update("results/figures/overview.svg"),
            caption="../report/overview.rst",
            category="Overview",
            labels={"figure": "Every rung of every ladder"},
        ),
    log:
        "results/logs/overview.log",
    # The paper waits for it, and for few other jobs.
    priority: 1
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: paper.code_fingerprint("overview"),
        study=PAPER.study_arguments,
    shell:
        ladder("overview {params.study:q} --out results/figures/overview 2> >(tee {log} >&2)")


# The largest error that each check would miss; it needs no measurement.
rule sensitivity:
    input:
        SENSITIVITY.data(),
    output:
        "results/sensitivity.csv",
    log:
        "results/logs/sensitivity.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=SENSITIVITY.fingerprint,
        cases=SENSITIVITY.keys(),
    shell:
        ladder("sensitivity {params.cases:q} --out {output} 2> >(tee {log} >&2)")


rule tables:
    input:
        tables=PAPER.table_files,
        machine_descriptions=PAPER.machine_descriptions,
        ceilings=CEILINGS.files,
        roofs=CEILINGS.roofs,
        kernels=BUILDS.reports,
        counters=PAPER.counter_tables,
        sensitivity="results/sensitivity.csv",
    output:
        [update(path) for path in PAPER.tables],
        verdicts=update("results/tables/verdicts.csv"),
        html=report(
            update("results/validation.html"),
            caption="../report/validation.rst",
            category="Validation",
            labels={"table": "Every comparison with a reference"},
        ),
    log:
        "results/logs/tables.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: paper.code_fingerprint("tables"),
        study=PAPER.study_arguments,
        kernels=[f"--kernel={path}" for path in BUILDS.reports],
        counters=[f"--counters={path}" for path in PAPER.counter_tables],
    shell:
        ladder(
            "tables {params.study:q} {params.kernels:q} {params.counters:q} --sensitivity {input.sensitivity}"
            " --out results/tex --html {output.html} --verdicts {output.verdicts} 2> >(tee {log} >&2)"
        )


rule typeset:
    input:
        sources=[f"{PAPER.folder}/{{document}}.tex", *PAPER.bibliographies],
        texts=PAPER.texts,
        tables=PAPER.tables,
        figures=[file for file in [*FIGURES.files, *OVERVIEW] if file.endswith(".pdf")],
    output:
        report(
            update("results/{document}.pdf"),
            caption="../report/paper.rst",
            category="Paper",
            labels={"document": "{document}"},
        ),
    log:
        "results/logs/{document}.log",
    wildcard_constraints:
        document="|".join(paper.DOCUMENTS),
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: paper.code_fingerprint("paper"),
        chapters=lambda wildcards: paper.chapters_fingerprint(),
    shell:
        ladder(
            "paper {input.sources[0]:q} {input.tables} {input.figures}"
            " --texts results/texts --out {output} 2> >(tee {log} >&2)"
        )


rule configuration:
    output:
        "results/configuration.json",
    log:
        "results/logs/configuration.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        # Merged from all files and the command line, so that the report's Snakemake has the same configuration.
        text=json.dumps(MERGED_CONFIG, indent=1),
    shell:
        "printf '%s\\n' {params.text:q} > {output} 2> {log}"


rule report:
    input:
        configuration="results/configuration.json",
        contents=[*paper.DOCUMENT_FILES, "results/validation.html", page.FILE, *FIGURES.files, *OVERVIEW],
    output:
        update("results/report.zip"),
    log:
        "results/logs/report.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        snakefile=SNAKEFILE,
        cores=workflow.cores,
        # This resource marks a run on a cluster, so the second Snakemake plans the same cases.
        cluster="--default-resources on_cluster=1" if STUDY.site else "",
    shell:
        # A second Snakemake, which only reads: no lock, no jobs, the same plan from the same configuration and cores.
        COMMANDS.module(
            "ladder.machine.processes snakemake --snakefile {params.snakefile:q} --nolock --report {output}"
            " --configfile {input.configuration} --cores {params.cores} {params.cluster} -- {input.contents} 2> {log}"
        )


# What was made, from what, by which commit, for archives: an RO-Crate, for which the workflow's files are copied.
rule crate:
    input:
        configuration="results/configuration.json",
        results=[
            *paper.DOCUMENT_FILES,
            "results/report.zip",
            "results/validation.html",
            "results/tables/verdicts.csv",  # made from all other tables, which are part of the crate, too
        ],
    output:
        metadata="results/ro-crate-metadata.json",
        workflow=directory("results/workflow"),
    log:
        "results/logs/crate.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: paper.crate_fingerprint(SNAKEFILE),
        snakefile=SNAKEFILE,
    shell:
        ladder(
            "crate {input.results:q} results/tables --configuration {input.configuration} --snakefile {params.snakefile:q}"
            " --out {output.metadata} 2> >(tee {log} >&2)"
        )
