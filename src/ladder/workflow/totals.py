"""The totals of a run on a cluster, printed before its jobs: their number, nodes, GPUs and hours, by kind of nodes."""

import json
from collections import Counter
from dataclasses import dataclass

from ladder.errors import LadderError, pluralize
from ladder.planning import slurm
from ladder.planning.targets import KINDS
from ladder.workflow.study_plan import case_of, is_measurement

MAX_REASONS = 3  # for skipping cases; further ones are counted


@dataclass(frozen=True)
class Job:
    """What a job requests of the cluster: nodes, GPUs in total, maximum hours, and its share of each node."""

    nodes: int
    gpus: int
    hours: float
    share: float = 1.0

    @property
    def node_hours(self):
        """The maximum node-hours; a share of a node counts as that share."""
        return self.nodes * self.share * self.hours

    @property
    def gpu_hours(self):
        """The maximum GPU-hours."""
        return self.gpus * self.hours


def summary(plan, jobs, max_jobs=None):
    """The lines that announce Snakemake's jobs on a StudyPlan's cluster, of which at most `max_jobs` run at a time."""
    by_kind = {kind: [] for kind in KINDS}
    for job in jobs:
        if kind := job.resources.get("kind"):  # the jobs on nodes
            by_kind[kind].append(demand(job, plan.targets[kind]))
    lines = [kind_line(kind, group, plan.targets[kind]) for kind, group in by_kind.items() if group]
    all_jobs = [job for group in by_kind.values() for job in group]
    measurements = [job for job in jobs if is_measurement(job)]
    sampling = sampling_hours(plan, measurements)
    is_mixed = 0 < len(measurements) < len(all_jobs)
    head = (
        f"ladder: {pluralize(len(all_jobs), 'job')} for the cluster"
        f"{f', {len(measurements)} of them measurements' * is_mixed}, "
        f"at most {hours(all_jobs)} by their time limits"
        f"{f'; the protocols plan {sampling:.3g} h of sampling' * bool(sampling)}{':' if lines else '.'}"
    )
    if all_jobs and max_jobs:
        lines.append(wall_line(all_jobs, max_jobs))
    skipped = skipped_line(plan) if measurements or not all_jobs else []
    return [head, *lines, *skipped, *missing_packages_line(measurements)]


def demand(job, target):
    """The Job of one of Snakemake's jobs on a Target."""
    resources = job.resources
    nodes, gpus = resources.get("nodes"), int((resources.get("gres") or "0").rpartition(":")[2])
    is_shared = "--exclusive=user" in resources.get("slurm_extra").split()
    share = gpus / target.gpus if is_shared else 1.0
    return Job(nodes, nodes * gpus, resources.get("runtime") / 60, share)


def kind_line(kind, jobs, target):
    """The line of one kind of nodes."""
    parts = [f"{pluralize(len(jobs), 'job')} on {span([job.nodes for job in jobs], 'node')} each"]
    if any(job.gpus for job in jobs):
        parts[0] += f" with {span([job.gpus for job in jobs], 'GPU')}"
    parts.append(f"at most {hours(jobs)}")
    if target.gpus > 1 and (one_gpu_jobs := [job for job in jobs if job.gpus == 1]):
        shared = sum(job.share < 1 for job in one_gpu_jobs)
        advice = (
            f"of which {shared} share nodes"
            if target.can_share_nodes
            else "whole nodes all the same: see the key `share`"
        )
        parts.append(f"{len(one_gpu_jobs)} on 1 GPU of {target.gpus}, {advice}")
    return f"  {kind}: {'; '.join(parts)}."


def wall_line(jobs, max_jobs):
    """The line on the maximum wall time, if every job lasts as long as its limit.

    For more than `max_jobs` jobs it is R. Graham's bound (Bounds on Multiprocessing Timing Anomalies, 1969).
    """
    max_jobs = min(max_jobs, len(jobs))
    sum_of_hours, longest = sum(job.hours for job in jobs), max(job.hours for job in jobs)
    wall = sum_of_hours / max_jobs + longest * (1 - 1 / max_jobs) if max_jobs < len(jobs) else longest
    return f"  With {pluralize(max_jobs, 'job')} at a time at most {wall:.3g} h, without waiting in the queue."


def span(counts, noun):
    """The smallest and the largest of some counts, with their noun."""
    low, high = min(counts), max(counts)
    return pluralize(high, noun) if low == high else f"{low} to {pluralize(high, noun)}"


def hours(jobs):
    """The node-hours and GPU-hours of jobs in words."""
    gpu_hours = sum(job.gpu_hours for job in jobs)
    return f"{sum(job.node_hours for job in jobs):.4g} node-hours" + f" and {gpu_hours:.4g} GPU-hours" * bool(gpu_hours)


def sampling_hours(plan, jobs):
    """The hours after which the protocols of these measurements end their sampling: the sum of `cap`."""
    return sum(json.loads(plan.protocols[case_of(job.wildcards).key])["cap"] for job in jobs) / 3600


def skipped_line(plan):
    """A list of the line on skipped cases; empty without any."""
    reasons = Counter({item.case.key: str(item.skip_reason) for item in plan.cases if item.skip_reason}.values())
    if not reasons:
        return []
    texts = [f"{count} ({reason})" for reason, count in reasons.most_common(MAX_REASONS)]
    others = reasons.total() - sum(count for _, count in reasons.most_common(MAX_REASONS))
    rest = [f"{others} for other reasons, which `ladder list --cluster` prints"] * bool(others)
    count = pluralize(reasons.total(), "case")
    return [f"ladder: {count} of the whole plan can't run on these nodes: {', '.join([*texts, *rest])}."]


def missing_packages_line(jobs):
    """A list of the line on packages without which the run of these measurements will be refused; empty without any."""
    try:
        slurm.require_packages([case_of(job.wildcards) for job in jobs])
    except LadderError as error:
        return [f"ladder: This run will be refused. {error}"]
    return []
