# Numbers and tables become LaTeX, LaTeX becomes the paper and its supplement, and everything becomes one report.

from ladder.report import captions, chapters, tables

TABLE_FOLDERS = [f"results/tables/{name}" for name in EXPERIMENTS]
TABLE_FILES = expand("{folder}/{table}.csv", folder=TABLE_FOLDERS, table=TABLES)
# The resources of each kernel that the study could run on a GPU. A paper without new measurements builds none.
KERNEL_REPORTS = [str(Path(path).with_suffix(".json")) for path in BINARIES]
KERNEL_REPORTS = [path for path in KERNEL_REPORTS if CONFIG["measure"] or Path(path).exists()]
# The descriptions of the machines: this one if it has measurements, and the published ones.
DESCRIPTIONS = [f"results/machines/{label}.json" for label in MACHINES if records_of(EXPERIMENTS, [label])]
DESCRIPTIONS += expand("results/published/{machine}/machine.json", machine=PUBLISHED)
PAPER_TABLES = expand("results/tex/{table}.tex", table=tables.names())
DOCUMENTS = ["paper", "supplement"]
DOCUMENT_FILES = expand("results/{document}.pdf", document=DOCUMENTS)
# With `--directory` results lie elsewhere, and the paper stays here.
PAPER = os.path.relpath(Path(workflow.basedir, "paper"))
# Texts are templates, which are rendered to a folder; bibliographies are read unchanged.
PAPER_TEMPLATES = [str(path) for path in sorted(Path(PAPER).glob("*.tex"))]
TEMPLATES = [*PAPER_TEMPLATES, *map(str, chapters.files(*chapters.TEMPLATES))]
TEXT_NAMES = [*(Path(path).name for path in PAPER_TEMPLATES), *chapters.templates()]
TEXT_FILES = expand("results/texts/{name}", name=TEXT_NAMES)
BIBLIOGRAPHIES = [*sorted(Path(PAPER).glob("*.bib")), *chapters.files("references.bib")]
BIBLIOGRAPHIES = [str(path) for path in BIBLIOGRAPHIES]


rule numbers:
    input:
        tables=TABLE_FILES,
        descriptions=DESCRIPTIONS,
        # If only these are rebuilt, Snakemake would overlook what depends on records; see `ancient_if_exists`.
        ceilings=MEASURED_CEILINGS,
        roofs=ROOFS,
        templates=TEMPLATES,
    output:
        TEXT_FILES,
        numbers="results/numbers.tex",
    log:
        "results/logs/numbers.log",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: code_of("numbers"),
        study=study_arguments(),
        protocol=json.dumps(CONFIG["protocol"]),
        margin=CONFIG["ceiling_margin"],
        templates=[f"--template={path}" for path in PAPER_TEMPLATES],
        # By content too, so that a template from an older commit, with an older date, counts.
        texts=digest_of(TEMPLATES),
    shell:
        ladder(
            "numbers {params.study:q} --protocol {params.protocol:q} --margin {params.margin}"
            " {params.templates:q} --texts results/texts --out {output.numbers} 2> >(tee {log} >&2)"
        )


# The largest error that each check would miss; it needs no measurement.
rule sensitivity:
    input:
        sorted({path for case in sensitivity_cases() for path in data_of(case)}),
    output:
        "results/sensitivity.csv",
    log:
        "results/logs/sensitivity.log",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: sensitivity_code(),
        cases=[case.key for case in sensitivity_cases()],
    shell:
        ladder("sensitivity {params.cases:q} --out {output} 2> >(tee {log} >&2)")


rule tables:
    input:
        tables=TABLE_FILES,
        descriptions=DESCRIPTIONS,
        ceilings=MEASURED_CEILINGS,
        roofs=ROOFS,
        kernels=KERNEL_REPORTS,
        sensitivity="results/sensitivity.csv",
    output:
        [update(path) for path in PAPER_TABLES],
        verdicts=update("results/tables/verdicts.csv"),
        html=report(
            update("results/validation.html"),
            caption="../report/validation.rst",
            category="Validation",
            labels={"table": "Every comparison with a reference"},
        ),
    log:
        "results/logs/tables.log",
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: code_of("tables"),
        study=study_arguments(),
        kernels=[f"--kernel={path}" for path in KERNEL_REPORTS],
    shell:
        ladder(
            "tables {params.study:q} {params.kernels:q} --sensitivity {input.sensitivity}"
            " --out results/tex --html {output.html} --verdicts {output.verdicts} 2> >(tee {log} >&2)"
        )


rule typeset:
    input:
        sources=[f"{PAPER}/{{document}}.tex", *BIBLIOGRAPHIES],
        texts=TEXT_FILES,
        tables=PAPER_TABLES,
        figures=[file for file in FIGURE_FILES if file.endswith(".pdf")],
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
        document="|".join(DOCUMENTS),
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: code_of("paper"),
        chapters=lambda wildcards: chapters_fingerprint(),
    shell:
        ladder(
            "paper {input.sources[0]:q} {input.tables} {input.figures}"
            " --texts results/texts --out {output} 2> >(tee {log} >&2)"
        )


# These run where Snakemake itself runs: the report reads Snakemake's metadata of its jobs.
localrules:
    configuration,
    report,


rule configuration:
    output:
        "results/configuration.json",
    log:
        "results/logs/configuration.log",
    conda:
        ENVIRONMENT
    params:
        # From all files and the command line, so that the report is built with the same configuration.
        text=json.dumps(config, indent=1),
    shell:
        "printf '%s\\n' {params.text:q} > {output} 2> {log}"


rule report:
    input:
        configuration="results/configuration.json",
        shown=[*DOCUMENT_FILES, "results/validation.html", *FIGURE_FILES],
    output:
        update("results/report.zip"),
    log:
        "results/logs/report.log",
    conda:
        ENVIRONMENT
    params:
        snakefile=os.path.relpath(workflow.main_snakefile),
        cores=workflow.cores,
        cluster="--default-resources on_cluster=1" if SITE else "",
    shell:
        # A second Snakemake that only reads: no lock, no jobs, and the same plan from the same configuration and cores.
        job("ladder.machine.processes snakemake") + "--snakefile {params.snakefile:q} --nolock --report {output}"
        " --configfile {input.configuration}"
        " --cores {params.cores} {params.cluster} -- {input.shown} 2> {log}"
