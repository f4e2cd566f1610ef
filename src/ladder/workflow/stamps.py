"""Stamps: files with the fingerprint and the protocol of measurements, which Snakemake repeats if their stamp changes.

Parameters of `measure` wouldn't suffice, because Snakemake doesn't compare the parameters of a job downstream of one
that is to run: while ceilings are measured again, it would miss a change. There is one file per problem, variant and
variants that it uses, so that configurations with other sizes keep theirs.
"""

import functools
from dataclasses import replace

from ladder.catalogue import sources, traits
from ladder.records import record

FOLDER = "results/stamps"


def path_of(case):
    """The stamp of a variant's measurements of one problem; of the tunings, only those that name variants matter."""
    code = "-".join([case.workload, case.variant, *(name for _, name in sorted(traits.used_variants(case)))])
    return f"{FOLDER}/{code}/{record.escape_commas(replace(case, tuning={}).slug)}.txt"


class Stamps:
    """The contents of the stamps of a StudyPlan."""

    def __init__(self, plan):
        self.plan = plan

    def fingerprint(self, wildcards):
        """The fingerprint of the code that a stamp stands for."""
        return self.fingerprints[f"{FOLDER}/{wildcards.name}.txt"]

    def protocol(self, wildcards):
        """The protocols of the cases that depend on a stamp, as one text: experiments may have different ones."""
        return self.protocols[f"{FOLDER}/{wildcards.name}.txt"]

    @functools.cached_property
    def fingerprints(self):
        """{stamp: fingerprint}; computed on demand, because a job on a cluster's node doesn't need it."""
        return {path_of(item.case): sources.fingerprint(item.case) for item in self.plan.cases}

    @functools.cached_property
    def protocols(self):
        """{stamp: the distinct protocols of its cases}."""
        texts = {}
        for item in self.plan.cases:
            texts.setdefault(path_of(item.case), set()).add(self.plan.protocols[item.case.key])
        return {stamp: " ".join(sorted(protocols)) for stamp, protocols in texts.items()}
