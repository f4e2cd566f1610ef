"""From the configuration to cases: which run, where, and which are skipped and why."""

import contextlib
import functools
import hashlib
import importlib.util
import itertools
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ladder import devices
from ladder.catalogue import datasets, published, setup_arguments, soundness, sources, traits, trial, workloads
from ladder.errors import LadderError, pluralize
from ladder.machine import processes, variables
from ladder.planning.configuration import as_list
from ladder.planning.reasons import SkipReason
from ladder.planning.targets import Target, nodes_of, target_of
from ladder.records import campaigns, documents, files, record
from ladder.records.case import Case

IMPORT_TIMEOUT = 60  # seconds to load a library, perhaps from a slow file system


@dataclass(frozen=True)
class PlannedCase:
    """A case of an experiment: why it is skipped (None: it runs), the label of its machine, and its protocol."""

    experiment: str
    case: Case
    skip_reason: SkipReason | None
    machine: str
    protocol: dict = field(default_factory=dict, hash=False)


def plan(config: Mapping[str, Any], targets: Mapping[str, Target]) -> list[PlannedCase]:
    """Every case of every experiment as PlannedCase, in the configuration's order.

    Raises LadderError for a case that can't exist, or that two experiments measure under different protocols.
    """
    planned = []
    for name, experiment in config["experiments"].items():
        protocol = config["protocol"] | experiment.get("protocol", {})
        environment = config["environment"] | experiment.get("environment", {})
        for case in cases(name, experiment | {"environment": environment}):
            target = target_of(targets, case)
            with name_experiment_in_errors(name), name_variant_in_errors(case.workload, case.variant):
                reason = skip_reason(case, config["peers"], target)
            planned.append(PlannedCase(name, case, reason, target.label, protocol))
    require_one_protocol(planned)
    return planned


def require_one_protocol(planned: Sequence[PlannedCase]) -> None:
    """Refuse a case that experiments measure under different protocols: it has one record."""
    first_items: dict[str, PlannedCase] = {}
    for item in planned:
        other = first_items.setdefault(item.case.key, item)
        if other.protocol != item.protocol:
            keys = sorted(key for key, value in item.protocol.items() if other.protocol[key] != value)
            raise LadderError(
                f"The experiments {other.experiment!r} and {item.experiment!r} both have the case {item.case.key}, but "
                f"under protocols that differ in {', '.join(keys)}: give them the same `protocol`, or remove the case "
                "from one."
            )


@contextlib.contextmanager
def name_experiment_in_errors(name: str) -> Iterator[None]:
    """A context that adds the experiment's name to errors."""
    try:
        yield
    except LadderError as error:
        raise LadderError(f"The experiment {name!r} can't be planned: {error}") from None


@contextlib.contextmanager
def name_variant_in_errors(workload: str, variant: str) -> Iterator[None]:
    """A context that names the variant in errors about constants or tunings that can't be read as text."""
    try:
        yield
    except (AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        raise LadderError(
            f"{workload}/{variant} defines its constants or the tunings of `setup` in a way that can't be read "
            f"({type(error).__name__}: {error}). See docs/contracts.md."
        ) from None


def cases(name: str, experiment: Mapping[str, Any]) -> list[Case]:
    """The cases of an experiment, without duplicates. Raises LadderError for a case that can't exist."""
    workload, cases_by_key = experiment["workload"], {}
    with name_experiment_in_errors(name):
        soundness.require_contract(workload)
        every_size = [workloads.complete(workload, sizes) for sizes in grid(experiment["sizes"])]
        every_environment = list(grid(experiment.get("environment", {})))
        for sizes in every_size:
            datasets.files_of(workload, sizes)  # raises LadderError if nothing makes the data
        trial.require_valid(workload, every_size[0])
        for variant, tunings in experiment["variants"].items():
            if tunings is None:  # dropped by an overriding configuration
                workloads.variant_path(workload, variant)  # raises LadderError if there is no such variant
                continue
            with name_variant_in_errors(workload, variant):
                soundness.require_contract(workload, variant)
                devices.require_known(workload, variant)
                every_tuning = list(grid(tunings))
                for tuning in every_tuning:
                    setup_arguments.require_tuning(workload, variant, tuning)
                for sizes, cache, tuning, environment in itertools.product(
                    every_size, as_list(experiment.get("cache", "cold")), every_tuning, every_environment
                ):
                    texts = {variable: str(value) for variable, value in environment.items()}
                    case = Case(workload, variant, sizes, tuning, cache, texts)
                    for other in traits.used_variants(case):
                        workloads.variant_path(*other)  # raises LadderError if there is no such variant
                    soundness.refuse_reserved_variables(case)
                    cases_by_key[case.key] = case
    return list(cases_by_key.values())


def experiments_of(planned: Iterable[PlannedCase]) -> dict[str, list[str]]:
    """The names of the experiments that each case belongs to, {key: [name]}."""
    names: dict[str, list[str]] = {}
    for item in planned:
        names.setdefault(item.case.key, []).append(item.experiment)
    return names


def grid(mappings: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination {name: value} of a mapping {name: value or values}, or of each mapping of a list."""
    for mapping in as_list(mappings):
        for values in itertools.product(*(as_list(value) for value in mapping.values())):
            yield dict(zip(mapping, values, strict=True))


def skip_reason(case: Case, peers: bool, target: Target) -> SkipReason | None:
    """Why a case is skipped on its target, as SkipReason, or None; `peers` says whether peers are measured."""
    nodes, gpus = min(nodes_of(target, case), target.nodes), traits.gpus(case)
    if (cores := -(-case.ranks // nodes) * case.threads) > target.cores:
        return SkipReason("cores of a node" if nodes > 1 else "cores", cores, target.cores)
    if target.quota is not None and cores > target.quota:
        return SkipReason("quota", pluralize(cores, "core"), f"{target.quota:.3g}")
    if case.ranks > 1 and not target.launcher:
        return SkipReason("launcher")
    if gpus > (available := target.gpus * (target.nodes if case.ranks > 1 else 1)) > 0:
        return SkipReason("GPUs of a node" if available < target.gpus * target.nodes else "GPUs", gpus, available)
    if sentence := traits.beyond_limits_reason(case) or files.too_long_reason(longest_path(case, target)):
        return SkipReason("other", sentence)
    variants = [(case.workload, case.variant), *traits.used_variants(case)]
    for constants in (workloads.constants(*variant) for variant in variants):
        if constants["DEVICE"] in ("cuda", "mpi_cuda", "offload") and not target.gpus:
            return SkipReason("GPU")
        if constants.get("PEER") and not peers:
            return SkipReason("peer")
        for library in constants["REQUIRES"]:
            # If the target is a cluster, with Slurm resources, the planning machine needs neither CuPy nor MPI.
            if not is_installed(library) and not (library == "cupy" and target.slurm_resources):
                return SkipReason("CuPy" if library == "cupy" else "library", library)
            if library == "mpi4py" and not target.slurm_resources and not has_mpi_library():
                return SkipReason("MPI")
        for program in constants.get("PROGRAMS", ()):
            if not shutil.which(program):
                return SkipReason("program", program)
    return None


def longest_path(case: Case, target: Target) -> str:
    """The longest path among a case's files. It must not exceed the limits of the file system.

    On a cluster, this is the log of Snakemake's Slurm executor, whose name includes all wildcards of the job.
    """
    path = record.path_of(target.label, case.key)
    return path.replace("/", "_") if target.slurm_resources else path


@functools.cache
def is_installed(library: str) -> bool:
    """Whether a library could be imported, without importing it."""
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


@functools.cache
def has_mpi_library() -> bool:
    """Whether mpi4py finds an MPI library, tested by an import in a separate process, without starting MPI."""
    program = "import mpi4py; mpi4py.rc.initialize = False; import mpi4py.MPI"
    command = [sys.executable, "-c", program]
    try:
        # In the environment of a worker, not of the user.
        result = processes.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=IMPORT_TIMEOUT, env=variables.inherited()
        )
        return result.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def shuffle_keys(keys: Iterable[str]) -> list[str]:
    """The keys in a reproducible pseudo-random order, so that drift affects no particular variant."""
    keys = sorted(keys)
    random.Random(hashlib.sha256("".join(keys).encode()).hexdigest()).shuffle(keys)
    return keys


def skip_unmeasured(planned: Sequence[PlannedCase]) -> list[PlannedCase]:
    """The plan in which cases without a record are skipped too; empty if no case has a record."""

    def reason(item: PlannedCase) -> SkipReason | None:
        path = record.path_of(item.machine, item.case.key)
        return item.skip_reason or (None if Path(path).exists() else SkipReason("record"))

    planned = [replace(item, skip_reason=reason(item)) for item in planned]
    return planned if any(not item.skip_reason for item in planned) else []


def document(planned: Sequence[PlannedCase], experiment: str) -> dict[str, Any]:
    """The plan of one experiment as `ladder collect` reads it, with the fingerprint of every case's code.

    The digest of these contents detects a plan that was corrupted on the disk. Without it, a case with a corrupted key
    would seem to have no record.
    """
    cases = [
        {
            "key": item.case.key,
            "machine": item.machine,
            "left_out": item.skip_reason and str(item.skip_reason),
            "sources": sources.fingerprint(item.case),
        }
        for item in planned
        if item.experiment == experiment
    ]
    contents = {"experiment": experiment, "cases": cases}
    return contents | {"digest": record.digest(contents)}


def published_names(choice: Sequence[str]) -> list[str]:
    """The names of the published folders of some machines and of their campaigns.

    `choice` is the configuration's `published`: names of machines, or only "all" or "none". A campaign that was
    measured in the working directory belongs to this study, so it is always included. Raises LadderError for a machine
    of which nothing is published.
    """
    names = sorted(
        {
            str(path.parent.relative_to(folder))
            for folder in published.folders()
            for pattern in ("*/machine.json", "campaigns/*/machine.json")
            for path in folder.glob(pattern)
        }
    )
    machines = [name for name in names if "/" not in name]
    campaign_paths = {name: published.path_of(f"{name}/machine.json") for name in names if "/" in name}
    campaign_publications = {name: documents.read(path, "publication") for name, path in campaign_paths.items()}
    known = sorted({*machines, *(publication["machine"] for publication in campaign_publications.values())})
    if choice in (["all"], ["none"]):
        choice = known if choice == ["all"] else []
    if missing := sorted(set(choice) - set(known)):
        contents = ", ".join(known) or "none yet"
        raise LadderError(f"No measurements are published for {', '.join(missing)}; results/published has {contents}.")
    selected = [
        name
        for name, publication in campaign_publications.items()
        if publication["machine"] in choice or (campaigns.folder(Path(name).name) / campaigns.NOTE_NAME).is_file()
    ]
    return [*(name for name in choice if name in machines), *selected]
