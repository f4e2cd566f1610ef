# The page of results, and the documents beside it, so that the folder can be published as it is.


rule site:
    input:
        tables=PAPER.table_files,
        machine_descriptions=PAPER.machine_descriptions,
        roofs=CEILINGS.roofs,
        pictures=PAGE.pictures,
    output:
        report(
            update(page.FILE),
            caption="../report/site.rst",
            category="Page of results",
            labels={"page": "Ladders, verdicts and every case"},
        ),
    log:
        "results/logs/site.log",
    localrule: IS_ON_CLUSTER
    conda:
        ENVIRONMENT
    params:
        sources=lambda wildcards: page.fingerprint(),
        study=PAPER.study_arguments,
        options=PAGE.options,
    shell:
        ladder("site {params.study:q} {params.options:q} --out {output} 2> >(tee {log} >&2)")


rule site_document:
    input:
        "results/{document}.pdf",
    output:
        f"{page.FOLDER}/{{document}}.pdf",
    log:
        "results/logs/site_{document}.log",
    wildcard_constraints:
        document="|".join(paper.DOCUMENTS),
    localrule: True
    conda:
        ENVIRONMENT
    shell:
        "cp {input} {output} 2> {log}"
