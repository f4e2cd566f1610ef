# The claims' experiment: cases in turns, in a campaign of their own, which is published once all are measured.
CLAIMS = Claims(STUDY, BUILDS)
BLOCK_RESOURCES = BlockResources(STUDY, CLAIMS)


rule claims:
    input:
        lambda wildcards: CLAIMS.publication_notes,
    localrule: True


rule campaign:
    output:
        "results/campaigns/{campaign}/campaign.json",
    log:
        "results/logs/campaigns/{campaign}/campaign.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        about=lambda wildcards: json.dumps(CLAIMS.campaign_identity),
    shell:
        ladder("campaign {wildcards.campaign} {params.about:q} 2> {log:q}")


rule turns:
    input:
        "results/campaigns/{campaign}/campaign.json",
        CLAIMS.inputs,
    output:
        "results/campaigns/{campaign}/blocks/{block}.json",
    log:
        "results/logs/campaigns/{campaign}/{block}.log",
    conda:
        ENVIRONMENT
    threads: BLOCK_RESOURCES.threads
    resources:
        **BLOCK_RESOURCES.measuring_resources,
    params:
        cases=CLAIMS.keys,
        machine=CLAIMS.machine,
        protocol=CLAIMS.protocol,
        sources=CLAIMS.fingerprint,
        launcher=lambda wildcards, resources: f"--launcher={resources.mpi}" if resources.mpi else "",
        granted=BLOCK_RESOURCES.granted_cores,
    shell:
        "exec 2> >(tee {log:q} >&2)\n"
        + on_node(
            "turns {params.cases:q} --campaign {wildcards.campaign} --machine {params.machine} --out {output:q}"
            " --granted {params.granted} --protocol {params.protocol:q} {params.launcher:q}"
            + (" --prelude" if STUDY.site else "")
        )


rule publish_campaign:
    input:
        "results/campaigns/{campaign}/campaign.json",
        CLAIMS.notes,
    # Not the published files: those of other campaigns would be outputs of this rule too, and be rebuilt.
    output:
        "results/campaigns/{campaign}/published.json",
    log:
        "results/logs/campaigns/{campaign}/publish.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        experiments=CLAIMS.experiments,
        margin=CONFIG["ceiling_margin"],
    shell:
        ladder(
            "publish_campaign {wildcards.campaign} {params.experiments:q} --margin {params.margin} --out {output:q}"
            " 2> >(tee {log:q} >&2)"
        )
