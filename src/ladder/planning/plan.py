"""From the configuration to cases: what would run, where, and what is left out and why."""

import base64
import contextlib
import functools
import gzip
import hashlib
import importlib.util
import itertools
import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from ladder import devices
from ladder.catalogue import datasets, sources, workloads
from ladder.errors import LadderError
from ladder.machine import processes, variables
from ladder.planning.places import nodes_of, place_of
from ladder.records import files, record
from ladder.records.case import Case

PATIENCE = 60  # seconds for a library to be loaded from a slow file system


@dataclass(frozen=True)
class Planned:
    """A case of an experiment, why it is left out (None: it runs), its machine's label, and its measuring protocol."""

    experiment: str
    case: Case
    left_out: str | None
    machine: str
    protocol: dict = field(default_factory=dict, hash=False)


def plan(config, places):
    """Every case of every experiment, in the configuration's order.

    Raises LadderError for a case that can't exist, or that two experiments want measured under different protocols.
    """
    found = []
    for name, experiment in config["experiments"].items():
        protocol = config["protocol"] | experiment.get("protocol", {})
        environment = config["environment"] | experiment.get("environment", {})
        for case in cases(name, experiment | {"environment": environment}):
            place = place_of(places, case)
            with planning(name), stated(case.workload, case.variant):
                reason = reason_left_out(case, config["peers"], place)
            found.append(Planned(name, case, reason, place.label, protocol))
    require_one_protocol(found)
    return found


def require_one_protocol(planned):
    """Refuse a case that experiments want measured under different protocols: it has one record."""
    first = {}
    for one in planned:
        other = first.setdefault(one.case.key, one)
        if other.protocol != one.protocol:
            keys = sorted(key for key, value in one.protocol.items() if other.protocol[key] != value)
            raise LadderError(
                f"The experiments {other.experiment!r} and {one.experiment!r} both have the case {one.case.key}, but "
                f"under protocols that differ in {', '.join(keys)}: give them the same `protocol`, or leave the case "
                "out of one."
            )


@contextlib.contextmanager
def planning(name):
    """Name the experiment that can't be planned."""
    try:
        yield
    except LadderError as error:
        raise LadderError(f"The experiment {name!r} can't be planned: {error}") from None


@contextlib.contextmanager
def stated(workload, variant):
    """Name the variant whose constants or tunings are stated in a way that can't be read as text."""
    try:
        yield
    except (AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        raise LadderError(
            f"{workload}/{variant} states its constants or the tunings of `setup` in a way that can't be read "
            f"({type(error).__name__}: {error}). See docs/contracts.md."
        ) from None


def cases(name, experiment):
    """The cases of one experiment, each once."""
    workload, seen = experiment["workload"], {}
    with planning(name):
        every_size = [workloads.complete(workload, sizes) for sizes in grid(experiment["sizes"])]
        every_environment = list(grid(experiment.get("environment", {})))
        for sizes in every_size:
            datasets.files_of(workload, sizes)
        for variant, tunings in experiment["variants"].items():
            if tunings is None:  # dropped by an overlaid configuration
                workloads.variant_path(workload, variant)
                continue
            with stated(workload, variant):
                devices.require_known(workload, variant)
                every_tuning = list(grid(tunings))
                for tuning in every_tuning:
                    workloads.require_tuning(workload, variant, tuning)
                for sizes, cache, tuning, environment in itertools.product(
                    every_size, listed(experiment.get("cache", "cold")), every_tuning, every_environment
                ):
                    texts = {variable: str(value) for variable, value in environment.items()}
                    case = Case(workload, variant, sizes, tuning, cache, texts)
                    for other in workloads.used(case):
                        workloads.variant_path(*other)
                    workloads.require_variables(case)
                    seen[case.key] = case
    return list(seen.values())


def grid(choices):
    """Every combination of a mapping's choices, or of each mapping of a list: {name: value}."""
    for mapping in listed(choices):
        for values in itertools.product(*(listed(value) for value in mapping.values())):
            yield dict(zip(mapping, values, strict=True))


def listed(value):
    return value if isinstance(value, list) else [value]


def reason_left_out(case, peers, place):
    """Why a case doesn't run in its place, or None; `peers` says whether peers are wanted."""
    nodes, cards = min(nodes_of(place, case), place.nodes), workloads.cards(case)
    if (cores := -(-case.ranks // nodes) * case.threads) > place.cores:
        return f"needs {cores} cores{' on a node' * (nodes > 1)}, {place.cores} available"
    if place.quota is not None and cores > place.quota:
        return f"needs {cores} cores, and the control group has a quota of {place.quota:.3g}"
    if case.ranks > 1 and not place.launcher:
        return "needs a launcher of MPI, none available"
    if cards > (found := place.gpus * (place.nodes if case.ranks > 1 else 1)) > 0:
        return f"needs {cards} GPUs{' on one node' * (found < place.gpus * place.nodes)}, {found} available"
    if reason := workloads.beyond_limits(case) or files.beyond_limits(log_of(case, place)):
        return reason
    needs = [(case.workload, case.variant), *workloads.used(case)]
    for constants in (workloads.constants(*need) for need in needs):
        if constants["DEVICE"] in ("cuda", "mpi_cuda", "offload") and not place.gpus:
            return "needs a GPU, none available"
        if constants.get("PEER") and not peers:
            return "peers are switched off"
        for library in constants["REQUIRES"]:
            # A cluster (a place with `asked`) is planned for before CuPy may be installed where it is planned.
            if not is_installed(library) and not (library == "cupy" and place.asked):
                return f"{library} is not installed{': `make setup GPU=1` brings it' * (library == 'cupy')}"
            # Nor need the planning machine have the cluster's MPI.
            if library == "mpi4py" and not place.asked and not finds_mpi():
                return "mpi4py finds no MPI"
        for program in constants.get("PROGRAMS", ()):
            if not shutil.which(program):
                return f"the program {program} is not installed"
    return None


def log_of(case, place):
    """Of the files that a case needs in its place the one with the longest names.

    On a cluster that is the log that Snakemake's executor for Slurm names by all that names a job.
    """
    path = record.path_of(place.label, case.key)
    return path.replace("/", "_") if place.asked else path


@functools.cache
def is_installed(library):
    """Whether a library could be imported, without importing it."""
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:  # of what a module is in
        return False


@functools.cache
def finds_mpi():
    """Whether mpi4py finds a library of MPI; asked in a process of its own, where MPI isn't started either."""
    program = "import mpi4py; mpi4py.rc.initialize = False; import mpi4py.MPI"
    line = [sys.executable, "-c", program]
    try:
        # As a worker would find it, whatever the user has set.
        done = processes.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, env=variables.inherited()
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def shuffled(keys):
    """The keys in an order that looks random and is always the same, so that drift hits no variant in particular."""
    keys = sorted(keys)
    random.Random(hashlib.sha256("".join(keys).encode()).hexdigest()).shuffle(keys)
    return keys


def measured(planned):
    """A plan in which cases without a record are left out; empty when no case has a record."""

    def reason(one):
        path = record.path_of(one.machine, one.case.key)
        return one.left_out or (None if Path(path).exists() else "not measured")

    found = [replace(one, left_out=reason(one)) for one in planned]
    return found if any(not one.left_out for one in found) else []


def document(planned, experiment):
    """The plan of one experiment as `ladder collect` reads it, every case with the fingerprint of its code.

    By its digest a byte that a disk changes is noticed: a case that is called otherwise would be one without a record.
    """
    cases = [
        {
            "key": one.case.key,
            "machine": one.machine,
            "left_out": one.left_out,
            "sources": sources.fingerprint(one.case),
        }
        for one in planned
        if one.experiment == experiment
    ]
    found = {"experiment": experiment, "cases": cases}
    return found | {"digest": record.digest(found)}


def packed(planned, experiment):
    """`document` as JSON, compressed and in letters: a command is given it whole, and none may be over 128 KiB."""
    text = json.dumps(document(planned, experiment), indent=1) + "\n"
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def published(choice, folder="results/published"):
    """The labels of the published machines that a configuration's `published` names. Raises LadderError."""
    there = sorted(path.parent.name for path in Path(folder).glob("*/machine.json"))
    if choice in (["all"], ["none"]):
        return there if choice == ["all"] else []
    if missing := sorted(set(choice) - set(there)):
        has = ", ".join(there) or "nothing yet"
        raise LadderError(f"Nothing is published of {', '.join(missing)}; results/published has {has}.")
    return choice
