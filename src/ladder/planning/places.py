"""Where cases run: on this machine, or on the kinds of nodes of a cluster, as a file describes them."""

import os
import sys
from dataclasses import dataclass, field

from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.machine import control_groups, cpus, description, nvidia, programs
from ladder.planning import configuration, yaml_files

# Kinds of cases, by what they need: cores of one node, ranks of MPI, cards.
KINDS = ("cpu", "mpi", "gpu")
SITE = "cluster/site.yaml"
SITE_VARIABLE = "LADDER_SITE"


@dataclass(frozen=True)
class Place:
    """Machines of a kind: the label of their results, what one case may use there, and what a scheduler is asked for.

    `cores` and `gpus` are those of a node, and a case's ranks may be on up to `nodes`. `quota` is the number of CPUs'
    time that control groups allow, maybe a fraction, None where that has no limit. `launcher` starts ranks of MPI,
    None where nothing does. `model` is the scheduler's name for the type of the GPUs, or None. `asked` has resources of
    Snakemake's Slurm executor, None for what isn't asked for, and is empty for the machine that plans.
    """

    label: str
    cores: int
    gpus: int = 0
    launcher: str | None = None
    nodes: int = 1
    model: str | None = None
    asked: dict = field(default_factory=dict, hash=False)
    quota: float | None = None


def kind_of(case):
    """What a case needs, one of KINDS."""
    if workloads.cards(case):
        return "gpu"
    return "mpi" if case.ranks > 1 else "cpu"


def place_of(places, case):
    """Where a case runs: the place of its kind, else that of cores."""
    return places.get(kind_of(case), places["cpu"])


def nodes_of(place, case):
    """How many nodes a case gets in its place: as many as its cards are on, or without cards all there are."""
    cards = workloads.cards(case)
    return -(-cards // place.gpus) if cards and place.gpus else place.nodes


def gres_of(place, case):
    """The cards that a case gets on each of its nodes, as Slurm's option `--gres` has them; empty for none."""
    return gres(place.model, -(-workloads.cards(case) // nodes_of(place, case)))


def gres(model, cards):
    """So many cards of a node, of a model or of any (None), as Slurm's option `--gres` has them; empty for none."""
    return ":".join(["gpu", *filter(None, [model]), str(cards)]) if cards else ""


def labels(places):
    """The labels of all places, that of cores first."""
    return list(dict.fromkeys([places["cpu"].label, *(place.label for place in places.values())]))


def here(config, most=None):
    """This machine as the one place, of at most so many cores: {kind: Place}."""
    cores = cpus.cores() if config["cores"] == "auto" else config["cores"]
    gpus = len(nvidia.gpus()) if config["gpus"] == "auto" else config["gpus"]
    label = description.label() if config["machine"] == "auto" else config["machine"]
    launcher = programs.launcher(config["mpi"])
    return {"cpu": Place(label, min(cores, most or sys.maxsize), gpus, launcher, quota=control_groups.quota())}


def of_cluster(site):
    """The places of a cluster as a checked site describes it: {kind: Place}."""
    shared = {"slurm_account": site["account"], "qos": site["qos"]}
    return {kind: of_nodes(nodes, shared) for kind, nodes in site["nodes"].items()}


def of_nodes(nodes, shared):
    """The Place of one kind of nodes. A case gets whole nodes, so that nothing is timed beside another's work."""
    asked = shared | {
        "slurm_partition": nodes["partition"],
        "mem_mb": nodes["memory"],
        "runtime": nodes["minutes"],
        "constraint": nodes["constraint"],
        "slurm_extra": " ".join(["--exclusive", *nodes["options"]]),
    }
    own = (nodes[key] for key in ("machine", "cores", "gpus", "launcher", "count", "model"))
    return Place(*own, asked)


def site_path():
    """The file that describes the cluster: the one that LADDER_SITE names, else cluster/site.yaml."""
    return workloads.home_expanded(os.environ.get(SITE_VARIABLE, SITE))


def site(path=None):
    """The description of the cluster in a file, by default in that of `site_path`.

    Raises LadderError when there is none, or one that is wrong.
    """
    path = path or site_path()
    if not path.exists():
        raise LadderError(
            f"There is no {path} that describes the cluster: copy {SITE} and name the copy by {SITE_VARIABLE}."
        )
    return configuration.checked_site(yaml_files.read(path, "cluster's description"), path)
