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
class Demand:
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
            by_kind[kind].append(demand_of(job, plan.targets[kind]))
    lines = [kind_line(kind, group, plan.targets[kind]) for kind, group in by_kind.items() if group]
    demands = [demand for group in by_kind.values() for demand in group]
    measurements = [job for job in jobs if is_measurement(job)]
    sampling = sampling_hours(plan, measurements)
    is_mixed = 0 < len(measurements) < len(demands)
    head = (
        f"ladder: {pluralize(len(demands), 'job')} for the cluster"
        f"{f', {len(measurements)} of them measurements' * is_mixed}, "
        f"at most {hours(demands)} by their time limits"
        f"{f'; the protocols plan {sampling:.3g} h of sampling' * bool(sampling)}{':' if lines else '.'}"
    )
    if demands and max_jobs:
        lines.append(wall_line(demands, max_jobs))
    skipped = skipped_line(plan) if measurements or not demands else []
    return [head, *lines, *skipped, *missing_packages_line(measurements)]


def demand_of(job, target):
    """The Demand of one of Snakemake's jobs on a Target."""
    resources = job.resources
    nodes, gpus = resources.get("nodes"), int((resources.get("gres") or "0").rpartition(":")[2])
    # Whether it shares its node with other jobs of this user (targets.resources_of_one_gpu).
    is_shared = "--exclusive=user" in resources.get("slurm_extra").split()
    share = gpus / target.gpus if is_shared else 1.0
    return Demand(nodes, nodes * gpus, resources.get("runtime") / 60, share)


def kind_line(kind, demands, target):
    """The line of one kind of nodes."""
    parts = [f"{pluralize(len(demands), 'job')} on {span([demand.nodes for demand in demands], 'node')} each"]
    if any(demand.gpus for demand in demands):
        parts[0] += f" with {span([demand.gpus for demand in demands], 'GPU')}"
    parts.append(f"at most {hours(demands)}")
    if target.gpus > 1 and (one_gpu_demands := [demand for demand in demands if demand.gpus == 1]):
        shared = sum(demand.share < 1 for demand in one_gpu_demands)
        advice = (
            f"of which {shared} share nodes"
            if target.can_share_nodes
            else "whole nodes all the same: see the key `share`"
        )
        parts.append(f"{len(one_gpu_demands)} on 1 GPU of {target.gpus}, {advice}")
    return f"  {kind}: {'; '.join(parts)}."


def wall_line(demands, max_jobs):
    """The line on the maximum wall time, if every job lasts as long as its limit.

    For more than `max_jobs` jobs it is R. Graham's bound (Bounds on Multiprocessing Timing Anomalies, 1969).
    """
    max_jobs = min(max_jobs, len(demands))
    sum_of_hours, longest = sum(demand.hours for demand in demands), max(demand.hours for demand in demands)
    wall = sum_of_hours / max_jobs + longest * (1 - 1 / max_jobs) if max_jobs < len(demands) else longest
    return f"  With {pluralize(max_jobs, 'job')} at a time at most {wall:.3g} h, without waiting in the queue."


def span(counts, noun):
    """The smallest and the largest of some counts, with their noun."""
    low, high = min(counts), max(counts)
    return pluralize(high, noun) if low == high else f"{low} to {pluralize(high, noun)}"


def hours(demands):
    """The node-hours and GPU-hours of some demands in words."""
    node_hours = sum(demand.node_hours for demand in demands)
    gpu_hours = sum(demand.gpu_hours for demand in demands)
    return f"{node_hours:.4g} node-hours" + f" and {gpu_hours:.4g} GPU-hours" * bool(gpu_hours)


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
