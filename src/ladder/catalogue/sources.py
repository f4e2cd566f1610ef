"""The fingerprints of code: of what a measurement depends on, a reference, a kernel.

Comments, docstrings and formatting measure nothing anew, nor does moving or renaming a module, while any other change
of what is reached does; `imports` says what that is. Snakemake keeps the fingerprints as parameters of its rules.
"""

import functools
import hashlib
from pathlib import Path

from ladder.catalogue import companions, imports, kept, literals, workloads

# What every measurement goes through: what starts workers in their environment, the worker, which it names, how many
# of them there are, and what judges their samples.
HARNESS = (
    "ladder.harness.workers:Worker",
    "ladder.harness.measure:start_workers",
    "ladder.harness.measure:results_of",
    "ladder.harness.plausibility:require_plausible",
)


def fingerprint(case):
    """A short digest of the code that a case's measurement depends on."""
    return of(*HARNESS, f"ladder.devices.{workloads.device(case)}", *own_roots(case))


def code(case):
    """The files of a case's workload and variants, and those in workloads' folders that these depend on, sorted."""
    return code_of(*own_roots(case))


def own_roots(case):
    """The modules of a case's workload and variants."""
    variants = [(case.workload, case.variant), *sorted(workloads.used(case))]
    return [f"ladder.workloads.{case.workload}", *(f"ladder.workloads.{'.'.join(one)}" for one in variants)]


@functools.cache
def of(*roots):
    """A short digest of the code that modules depend on; for a part of a module write `module:name`."""
    return kept.recall(["fingerprint", *roots], lambda: imports.fingerprint(*roots))


@functools.cache
def code_of(*roots):
    return [Path(path) for path in kept.recall(["files", *roots], lambda: imports.files_of_workloads(*roots))]


def launcher_digest(name):
    """A digest of a module alone, whatever it imports."""
    return kept.recall(["module", name], lambda: (imports.find(name).own_digest, {imports.module_path(name)}))


def reference_fingerprint(workload):
    """A short digest of the code that a workload's reference depends on; of nothing where it has none."""
    name = f"ladder.workloads.{workload}.reference"
    return of(name) if imports.module_path(name) else of()


def kernel_fingerprint(source):
    """A short digest of a CUDA source and the headers that it includes."""
    found, due = {}, [companions.read(source)]
    while due:
        one = due.pop()
        if one.path not in found:
            found[one.path] = one.digest
            due += one.references
    return hashlib.sha256("".join(sorted(found.values())).encode()).hexdigest()[:16]


def forget():
    """Read every file anew from now on, for who has changed one or looks in other folders."""
    for cached in (literals.read, literals.statements, workloads.variant_path, workloads.constants, workloads.tunings):
        cached.cache_clear()
    for cached in (imports.path_in, imports.read, companions.read, kept.code, kept.state, of, code_of):
        cached.cache_clear()
