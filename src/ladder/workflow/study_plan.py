"""The plan of the study: where its cases run, which of them this run measures, and the records that they leave."""

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path

from ladder.catalogue import locations, published
from ladder.errors import LadderError
from ladder.planning import configuration, plan, targets
from ladder.records import record
from ladder.records.case import Case
from ladder.records.files import require_utf8
from ladder.workflow import deployment
from ladder.workflow.mistakes import end_run_on_mistake, stop


@dataclass(frozen=True)
class StudyPlan:
    """The plan from which the inputs, resources and commands of all rules follow.

    `config` is the validated configuration, `site` the validated description of the cluster (None: cases run on this
    machine), `targets` {kind: Target}, `every_case` the plan, a list of PlannedCase, `cases` the same plan that skips
    what this run doesn't measure, `published` the names of the published folders, `root` the project's folder, and
    `image` that of the container in which jobs run, or None.
    """

    config: dict
    site: dict | None
    targets: dict
    every_case: list
    cases: list
    published: list
    root: Path
    image: str | None

    @functools.cached_property
    def experiments(self):
        """The names of all experiments."""
        return list(self.config["experiments"])

    @functools.cached_property
    def machines(self):
        """The labels of the machines that cases run on; the one that the paper is about comes first."""
        return targets.labels(self.targets)

    @functools.cached_property
    def measured_machines(self):
        """The labels of the machines on which this run measures cases."""
        labels = {item.machine for item in self.cases if not item.skip_reason}
        return [label for label in self.machines if label in labels]

    @functools.cached_property
    def protocols(self):
        """The measuring protocol of every case as JSON, by the case's key."""
        return {item.case.key: json.dumps(item.protocol) for item in self.cases}

    def target_of(self, case):
        """The Target on which a case runs."""
        return targets.target_of(self.targets, case)

    def target_of_label(self, label):
        """The first Target with a machine's label; several targets may have the same one."""
        return next(target for target in self.targets.values() if target.label == label)

    def records(self, experiments, machines=None):
        """The paths of the records of the experiments' cases on these machines, by default on all."""
        machines = self.machines if machines is None else machines
        items = [item for item in self.cases if item.experiment in experiments and item.machine in machines]
        labels = {item.case.key: item.machine for item in items if not item.skip_reason}
        return [record.path_of(labels[key], key) for key in plan.shuffle_keys(labels)]

    def planned_case(self, wildcards):
        """The case of a record's path; ends the run if it isn't in the plan."""
        key = "/".join([wildcards.workload, wildcards.variant, record.restore_commas(wildcards.case)])
        if key not in self.protocols:
            stop(
                f"{key} is not a case of this configuration: `python -m ladder list` prints its cases; add other "
                "configurations with --configfile."
            )
        return case_of(wildcards)

    def document(self, wildcards):
        """The text of the file of an experiment's plan."""
        return json.dumps(plan.document(self.cases, wildcards.experiment), indent=1) + "\n"

    def digest(self, wildcards):
        """A digest of the plan of an experiment."""
        return plan.document(self.cases, wildcards.experiment)["digest"]


def is_measurement(job):
    """Whether one of Snakemake's jobs measures a case. Its rule, `measure`, may have another name in a module."""
    return any(Path(path).is_relative_to(record.RECORDS) for path in job.output)


def case_of(wildcards):
    """The case of a job's wildcards."""
    return parse_case(wildcards.workload, wildcards.variant, wildcards.case)


@functools.cache
def parse_case(workload, variant, path):
    """The case of a record's path; cached, because many functions parse the same wildcards."""
    return Case.parse(workload, variant, record.restore_commas(path))


@end_run_on_mistake("can't be used")
def read(config, workflow, root):
    """The StudyPlan of a configuration, which this completes, and of Snakemake's workflow in the project's folder.

    Ends the run at a user's mistake.
    """
    require_utf8(str(root), os.getcwd())  # noqa: PTH109
    if not {"{", "}"}.isdisjoint(str(root)):  # Snakemake takes them for wildcards in the paths of environments
        raise LadderError(f"{root} has a brace in its name, which Snakemake can't handle: rename it.")
    config = configuration.validate(config)
    deployment.require_usable(workflow, config)
    locations.set_variant_folders(config["variant_folders"])
    published.set_project(root)
    # A cluster's profile sets the resource `on_cluster`, the only sign of a cluster that a dry run has too.
    is_on_cluster = "on_cluster" in (workflow.resource_settings.default_resources or ())
    site = targets.site() if is_on_cluster else None
    # At most the cores that Snakemake may use.
    targets_by_kind = targets.of_cluster(site) if site else targets.this_machine(config, workflow.cores)
    every_case = plan.plan(config, targets_by_kind)
    cases = every_case if config["measure"] else plan.skip_unmeasured(every_case)
    published_names, image = plan.published_names(config["published"]), deployment.image(workflow, config)
    return StudyPlan(config, site, targets_by_kind, every_case, cases, published_names, Path(root), image)
