"""Targets, on which cases run: this machine, or the kinds of nodes of a cluster that a file describes."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ladder.catalogue import locations, traits
from ladder.errors import LadderError
from ladder.machine import control_groups, cpus, description, nvidia, programs
from ladder.planning import cluster_description, yaml_files
from ladder.records.case import Case

# Kinds of cases by their main resource: cores of one node, MPI ranks, GPUs.
KINDS = ("cpu", "mpi", "gpu")
SITE_FILE = "cluster/site.yaml"
SITE_VARIABLE = "LADDER_SITE"


@dataclass(frozen=True)
class Target:
    """Machines of one kind: the label of their results, what one case may use there, and the resources of its job.

    `cores` and `gpus` are numbers per node; `nodes` is the maximum number of nodes for a case's ranks. `launcher` is
    the command that starts MPI ranks, or None. `model` is the scheduler's name for the type of the GPUs, or None.
    `slurm_resources` has the resources for Snakemake's Slurm executor, with None for those not requested; it is empty
    for this machine. `quota` is the number of CPUs, possibly a fraction, whose time control groups allow, or None.
    With `can_share_nodes`, cases on one GPU share a node.
    """

    label: str
    cores: int
    gpus: int = 0
    launcher: str | None = None
    nodes: int = 1
    model: str | None = None
    slurm_resources: dict = field(default_factory=dict, hash=False)
    quota: float | None = None
    can_share_nodes: bool = False


def kind_of(case: Case) -> str:
    """The kind of a case, one of KINDS."""
    if traits.gpus(case):
        return "gpu"
    return "mpi" if case.ranks > 1 else "cpu"


def target_of(targets: Mapping[str, Target], case: Case) -> Target:
    """The Target on which a case runs: that of the case's kind, else that of `cpu`."""
    return targets.get(kind_of(case), targets["cpu"])


def nodes_of(target: Target, case: Case) -> int:
    """The number of nodes that a case uses: enough for its GPUs or, without GPUs, all nodes of the target."""
    gpus = traits.gpus(case)
    return -(-gpus // target.gpus) if gpus and target.gpus else target.nodes


def gres_of(target: Target, case: Case) -> str:
    """The GPUs of a case on each of its nodes, in the form of Slurm's option `--gres`; empty for none."""
    return gres(target.model, -(-traits.gpus(case) // nodes_of(target, case)))


def gres(model: str | None, gpus: int) -> str:
    """A number of GPUs of a model, or of any (None), in the form of Slurm's option `--gres`; empty for none."""
    return ":".join(["gpu", *filter(None, [model]), str(gpus)]) if gpus else ""


def labels(targets: Mapping[str, Target]) -> list[str]:
    """The labels of all targets, that of `cpu` first."""
    return list(dict.fromkeys([targets["cpu"].label, *(target.label for target in targets.values())]))


def this_machine(config: Mapping[str, Any], max_cores: int | None = None) -> dict[str, Target]:
    """This machine as the only target, with at most `max_cores` cores: {kind: Target}."""
    cores = cpus.cores() if config["cores"] == "auto" else config["cores"]
    gpus = len(nvidia.gpus()) if config["gpus"] == "auto" else config["gpus"]
    label = description.label() if config["machine"] == "auto" else config["machine"]
    launcher = programs.launcher(config["mpi"])
    cores = min(cores, max_cores or sys.maxsize)
    return {"cpu": Target(label, cores=cores, gpus=gpus, launcher=launcher, quota=control_groups.quota())}


def of_cluster(site: Mapping[str, Any]) -> dict[str, Target]:
    """The targets of a cluster from its validated description: {kind: Target}."""
    common_resources = {"slurm_account": site["account"], "qos": site["qos"]}
    return {kind: of_nodes(nodes, common_resources) for kind, nodes in site["nodes"].items()}


def of_nodes(nodes: Mapping[str, Any], common_resources: dict[str, str | None]) -> Target:
    """The Target of one kind of nodes; cases get whole nodes, so that no other work disturbs their timing.

    Nodes with `share` are an exception (`shares_node`).
    """
    resources = common_resources | {
        "slurm_partition": nodes["partition"],
        "mem_mb": nodes["memory"],
        "runtime": nodes["minutes"],
        "constraint": nodes["constraint"],
        "slurm_extra": " ".join(["--exclusive", *nodes["options"]]),
    }
    return Target(
        label=nodes["machine"],
        cores=nodes["cores"],
        gpus=nodes["gpus"],
        launcher=nodes["launcher"],
        nodes=nodes["count"],
        model=nodes["model"],
        slurm_resources=resources | nodes["resources"],
        can_share_nodes=nodes["share"],
    )


def shares_node(target: Target, case: Case) -> bool:
    """Whether a case leaves the other GPUs of its node to other cases: it is timed on one GPU and needs few cores."""
    return target.can_share_nodes and traits.device(case) == "cuda" and case.threads <= target.cores // target.gpus


def resources_of_one_gpu(target: Target) -> dict[str, Any]:
    """The resources of a job that takes one GPU of a node, with an equal part of its cores and memory.

    Jobs of other users stay away (`--exclusive=user`).
    """
    resources = target.slurm_resources
    options = resources["slurm_extra"].replace("--exclusive", "--exclusive=user", 1)
    return resources | {"mem_mb": resources["mem_mb"] // target.gpus, "slurm_extra": options}


def site_path() -> Path:
    """The path of the cluster's description: that in the variable LADDER_SITE, else cluster/site.yaml."""
    return locations.expand_home(os.environ.get(SITE_VARIABLE, SITE_FILE))


def site(path: Path | None = None) -> dict[str, dict[str, Any] | str | None] | None:
    """Read the description of the cluster from a file, by default that of `site_path`.

    Raises LadderError if there is none, or a wrong one.
    """
    path = path or site_path()
    if not path.exists():
        raise LadderError(
            f"There is no {path} that describes the cluster: copy {SITE_FILE} and name the copy by {SITE_VARIABLE}."
        )
    return cluster_description.validate(yaml_files.read(path, "cluster's description"), path)
