"""Fingerprints: digests of the code that a measurement, a reference or a kernel depends on.

No fingerprint changes if a module is moved or renamed, or if only comments, docstrings, formatting or, outside of the
workloads, type hints are edited. Any other edit of code that a fingerprint covers changes it (see `imports`).
Snakemake compares fingerprints as parameters of its rules.
"""

import functools
import hashlib
from pathlib import Path
from typing import Any

from ladder.catalogue import (
    cache,
    contracts,
    imports,
    literals,
    locations,
    native_sources,
    setup_arguments,
    soundness,
    traits,
    undefined_names,
    workloads,
)
from ladder.errors import LadderError
from ladder.records.case import Case

# The code that every measurement runs: it starts workers in their environment, decides their number, and checks their
# samples. Searches along imports find the worker's code from these.
HARNESS = (
    "ladder.harness.workers:Worker",
    "ladder.harness.measure:start_workers",
    "ladder.harness.measure:results_of",
    "ladder.harness.plausibility:require_plausible",
)


def fingerprint(case: Case) -> str:
    """The fingerprint of a case: a short digest of the code that its measurement depends on."""
    return digest(*HARNESS, f"ladder.devices.{traits.device(case)}", *defaults_of(case), *roots_of(case))


def code_paths(case: Case) -> list[Path]:
    """The sorted paths of a case's workload and variants, and of what they import from workloads' folders."""
    return code_paths_of_roots(*roots_of(case))


def roots_of(case: Case) -> list[str]:
    """The dotted names of the modules of a case's workload and variants."""
    variants = [(case.workload, case.variant), *sorted(traits.used_variants(case))]
    return [f"ladder.workloads.{case.workload}", *(f"ladder.workloads.{'.'.join(names)}" for names in variants)]


def defaults_of(case: Case) -> list[str]:
    """The defaults that a case's workload uses for names that its module lacks, as `module:name`."""
    defined = contracts.definitions(locations.problem_path(case.workload))
    return [f"{contracts.DEFAULTS_MODULE}:{name}" for name in contracts.names_with_default() if name not in defined]


@functools.cache
def digest(*roots: str) -> str:
    """A short digest of the code that roots depend on, each a module's dotted name or `module:name`."""
    return cache.get_or_compute(["fingerprint", *roots], lambda: imports.fingerprint(*roots))


@functools.cache
def code_paths_of_roots(*roots: str) -> list[Path]:
    return [Path(path) for path in cache.get_or_compute(["files", *roots], lambda: imports.files_of_workloads(*roots))]


def module_digest(name: str) -> str:
    """A digest of one module's definitions, without what they refer to. Raises LadderError for an unknown module."""
    if (path := imports.module_path(name)) is None:
        raise LadderError(f"There is no module {name}.")
    return cache.get_or_compute(["module", name], lambda: (imports.read(name, path).definitions_digest, {path}))


def reference_fingerprint(workload: str) -> str:
    """A short digest of the code that a workload's reference depends on; without a reference, that of no code."""
    name = f"ladder.workloads.{workload}.reference"
    return digest(name) if imports.module_path(name) else digest()


def kernel_fingerprint(source: Path) -> str:
    """A short digest of a CUDA source and the headers that it includes."""
    digests, pending = {}, [native_sources.read(source)]
    while pending:
        source_file = pending.pop()
        if source_file.path not in digests:
            digests[source_file.path] = source_file.digest
            pending += source_file.references
    return hashlib.sha256("".join(sorted(digests.values())).encode()).hexdigest()[:16]


def clear_caches() -> None:
    """Clear this process's caches of code, so that changed files and folders are read again."""
    cached_functions: list[Any] = [
        literals.read,
        literals.statements,
        imports.path_in,
        imports.read,
        native_sources.read,
    ]
    cached_functions += [contracts.definitions, soundness.require_contract, workloads.variant_path, workloads.constants]
    cached_functions += [
        undefined_names.names_bound_in,
        setup_arguments.tunings,
        cache.file_digests,
        cache.code_digest,
        digest,
        code_paths_of_roots,
    ]
    for function in cached_functions:
        function.cache_clear()
