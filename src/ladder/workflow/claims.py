"""The experiment behind the verdicts on claims: its cases in blocks that are measured in turns, in one campaign."""

import functools
import hashlib
import json
from dataclasses import replace

from ladder.catalogue import datasets, sources, traits
from ladder.machine import identity, nvidia, revision
from ladder.planning import configuration, plan
from ladder.records import campaigns
from ladder.workflow import data
from ladder.workflow.mistakes import end_run_on_mistake, stop


class Claims:
    """The claims' experiment of a StudyPlan with its Builds: what the files in the configuration's `claims` ask for.

    `campaign` is the name of the campaign that is continued or begun, and `blocks` are lists of cases by name.
    """

    def __init__(self, study, builds):
        self.study = study
        self.builds = builds

    @functools.cached_property
    @end_run_on_mistake("can't be used")
    def plan(self):
        """The StudyPlan of the claims, without cases that can't run here."""
        config = configuration.for_claims(self.study.config)
        cases = [item for item in plan.plan(config, self.study.targets) if not item.skip_reason]
        return replace(self.study, config=config, every_case=cases, cases=cases)

    @functools.cached_property
    def campaign_identity(self):
        """The facts that must be the same in a campaign that is continued."""
        source = revision.current()
        gpus = sorted(identity.digest(gpu["uuid"]) for gpu in nvidia.gpus())
        return {"machine": self.study.machines[0], "host": identity.host_digest(), "gpus": gpus} | source

    @functools.cached_property
    @end_run_on_mistake()
    def campaign(self):
        """The name of the campaign."""
        return campaigns.name_to_continue(self.campaign_identity)

    @functools.cached_property
    def blocks(self):
        """{name: [PlannedCase]}: a block per group of a machine's experiments that share cases, directly or not.

        A `member` of a group is a (machine, experiment).
        """
        groups = []  # of ([member], {(machine, key): PlannedCase})
        for item in self.plan.cases:
            member, key = (item.machine, item.experiment), (item.machine, item.case.key)
            connected = [group for group in groups if member in group[0] or key in group[1]]
            groups = [group for group in groups if group not in connected]
            members = [other for group in connected for other in group[0]]
            cases = {other: planned for group in connected for other, planned in group[1].items()}
            groups.append(([*members, *([] if member in members else [member])], cases | {key: cases.get(key, item)}))
        has_several_machines = len(self.study.machines) > 1
        return {block_name(*members[0], has_several_machines): list(cases.values()) for members, cases in groups}

    @property
    def publication_notes(self):
        """The file that ends the campaign, in a list: the note that it is published; empty without cases."""
        return [f"{campaigns.FOLDER}/{self.campaign}/published.json"] if self.plan.cases else []

    def experiments(self, wildcards):
        """The experiments of each case as JSON."""
        return json.dumps(plan.experiments_of(self.plan.cases))

    def notes(self, wildcards):
        """The files which note that all cases of a block have been measured."""
        return [f"{campaigns.FOLDER}/{wildcards.campaign}/blocks/{name}.json" for name in self.blocks]

    def items(self, wildcards):
        """The PlannedCases of a block; ends the run for an unknown one."""
        if wildcards.block not in self.blocks:
            stop(f"The claims have no block {wildcards.block}. They have: {', '.join(self.blocks)}.")
        return self.blocks[wildcards.block]

    def cases(self, wildcards):
        """The cases of a block."""
        return [item.case for item in self.items(wildcards)]

    def largest_case(self, wildcards):
        """The case of a block that needs the most GPUs and cores, for the resources of its job."""
        return max(self.cases(wildcards), key=lambda case: (traits.gpus(case), case.ranks, case.cores))

    def keys(self, wildcards):
        """The keys of a block's cases."""
        return [case.key for case in self.cases(wildcards)]

    def machine(self, wildcards):
        """The label of the machine on which a block runs."""
        return self.items(wildcards)[0].machine

    def inputs(self, wildcards):
        """The data, references, binaries and libraries of a block."""
        cases = self.cases(wildcards)
        paths = [path for case in cases for path in datasets.files_of(case.workload, case.sizes)]
        paths += [path for case in cases for path in [data.reference_of(case)] if path]
        paths += [path for case in cases for path in self.builds.binaries_of(case) + self.builds.libraries_of(case)]
        return sorted(set(paths))

    def protocol(self, wildcards):
        """The protocol of a block as JSON; it is the same for all of its cases."""
        protocols = {json.dumps(item.protocol) for item in self.items(wildcards)}
        if len(protocols) > 1:
            stop(f"The experiments of the block {wildcards.block} share cases: give them the same protocol.")
        return protocols.pop()

    def fingerprint(self, wildcards):
        """A digest of the code behind a block."""
        fingerprints = [sources.fingerprint(item.case) for item in self.items(wildcards)]
        return hashlib.sha256(" ".join(fingerprints).encode()).hexdigest()[:16]


def block_name(machine, experiment, with_machine):
    """The name of a block, after its first experiment, with the machine if there are several."""
    return f"{experiment}-{machine}" if with_machine else experiment
