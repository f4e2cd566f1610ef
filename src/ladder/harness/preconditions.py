"""What a case requires before its workers start: a sound workload, a device, CPUs, an intact reference, and memory."""

import math
from pathlib import Path

import numpy as np

from ladder import devices
from ladder.catalogue import traits, trial, workloads
from ladder.errors import LadderError, pluralize
from ladder.harness import archives
from ladder.harness.leases import require_devices
from ladder.machine import cpus, variables
from ladder.records.case import Case


def require_granted(case, granted_cores):
    """Refuse a case that needs more than the `granted_cores` of its Snakemake job, None outside of a job."""
    if granted_cores is not None and granted_cores < case.cores:
        raise LadderError(
            f"The case asks for {pluralize(case.cores, 'thread')}, but Snakemake grants "
            f"{pluralize(granted_cores, 'core')}: raise --cores, or lower `cores` in the configuration so that the "
            "case is skipped."
        )


def require_cpus(case):
    """Refuse more threads of a process than the CPUs that it may use, for verbs that no configuration limits."""
    if case.threads > (count := cpus.cores()):
        raise LadderError(
            f"threads={case.threads} is more than the {pluralize(count, 'CPU')} that this process may use: "
            f"choose at most threads={count}."
        )


def require_preconditions(case, reference):
    """Refuse a case whose workload breaks its contract, that this machine can't run, or with the wrong `reference`.

    `reference` is a path or None.
    """
    trial.require_valid(case.workload, case.sizes)
    devices.require_known(case.workload, case.variant)
    require_devices(case)  # here, because the lease comes after the wait for the machine
    cpus.require_quota(-(-case.ranks // variables.nodes()) * case.threads)
    require_reference(case, reference)
    require_memory(case)


def require_reference(case, path):
    """Refuse a missing reference, a broken file, and the reference of other sizes."""
    sizes = workloads.load(case.workload).reference_sizes(case.sizes)
    if path is None:
        if sizes:
            raise LadderError(
                f"{case.key} is checked against a reference: write it with the verb `reference` and name it by "
                "--reference."
            )
        return
    reference = archives.read(path, "a reference written by the verb `reference`")
    # References from before 27 November 2026 don't hold their identity; only the path that the workflow chose tells it.
    identity = str(reference.get("of", f"{Path(path).parent.name}/{Path(path).stem}"))
    if sizes and identity != (expected := reference_identity(case.workload, sizes)):
        raise LadderError(f"{path} isn't the reference of {expected}: write that with the verb `reference`.")


def reference_identity(workload, sizes):
    """What a reference belongs to, as text: the workload and the sizes on which the reference depends."""
    return f"{workload}/{Case(workload, 'reference', sizes, {}).slug.removesuffix(',cache=cold')}"


def write_reference(path, workload, sizes, arrays):
    """Write a reference, whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_path = path.with_suffix(".part.npz")
    np.savez(partial_path, of=reference_identity(workload, sizes), **arrays)
    partial_path.replace(path)


def require_memory(case):
    """Refuse a case whose arrays exceed this machine's memory."""
    import psutil

    required, available = bytes_of_arrays(case), psutil.virtual_memory().total
    if required > available:
        raise LadderError(
            f"The arrays of {case.key} need {required / 1e9:.3g} GB, but this machine has {available / 1e9:.3g} GB of "
            "memory: lower its sizes."
        )


def bytes_of_arrays(case):
    """The bytes of the arrays of a case that the host holds."""
    workload = workloads.load(case.workload)
    inputs, outputs = workload.arrays(case.sizes)
    on_gpus = workload.GENERATED if traits.gpus(case) else ()
    pairs = [pair for name, pair in {**inputs, **outputs}.items() if name not in on_gpus]
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in pairs)
