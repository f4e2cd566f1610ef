"""Refusing workloads and variants that break their contracts, and cases that no plan could contain."""

import functools
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from ladder.catalogue import (
    circular_imports,
    contracts,
    forms,
    literals,
    locations,
    missing_imports,
    setup_arguments,
    traits,
    undefined_names,
    workloads,
)
from ladder.errors import LadderError
from ladder.records.case import Case

# Environment variables that the harness sets or inherits for every case; a configuration may not set them.
HARNESS_VARIABLES = (
    "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS NUMBA_NUM_THREADS NUMBA_THREADING_LAYER "
    "NUMBA_CACHE_DIR CUDA_VISIBLE_DEVICES PATH HOME PYTHONPATH PYTHONSAFEPATH PYTHONUTF8 LC_ALL"
).split()


@functools.cache
def require_contract(workload: str, variant: str | None = None) -> None:
    """Refuse a workload's modules and chapter, or one of its variants, if they break their contracts."""
    if variant:
        path = workloads.variant_path(workload, variant)
        locations.require_distinct(workload, variant)
        contracts.require_names(path, contracts.VARIANT)
        forms.require_forms(path)
        require_module(path, literals.read(path).get("REQUIRES", ()))
        forms.require_kernels_and_uses(path, workload, workloads.variants(workload), workloads.names())
        forms.require_variant_constants(
            path, workloads.load(workload).SIZES, setup_arguments.tunings(workload, variant)
        )
        setup_arguments.require_defaults(workload, variant)
    else:
        path = workloads.workload_path(workload)
        locations.require_distinct(workload, "__init__")
        forms.require_forms(path)
        contracts.require_modules(path.parent)
        for name in ("__init__", *contracts.MODULES):
            require_module(path.with_name(f"{name}.py"))
        # A module that isn't a variant, for instance because its DEVICE is misspelt, is refused where it is used.
        folders = locations.folders(workload)
        known = sorted({module.stem for folder in folders for module in locations.modules(folder, "*.py")})
        forms.require_rungs(path, workload, known)


def require_module(path: Path, optional: Collection[str] | None = None) -> None:
    """Refuse a user's module that can't be imported, or that uses names that don't exist. Raises LadderError.

    The same holds for the users' modules that it imports. `optional` are a variant's REQUIRES, None for another
    module. A missing file is accepted, and so are the project's modules, which are checked by the tests.
    """
    if path.is_relative_to(locations.WORKLOADS) or not path.is_file():
        return
    for file in missing_imports.require_importable(path, optional):
        undefined_names.refuse_undefined(file)
    circular_imports.refuse_circles(f"{missing_imports.package_of(path)}.{path.stem}".removesuffix(".__init__"))


def require_sound(case: Case) -> None:
    """Refuse a case that no plan could contain, for instance because a size or a tuning is unknown or missing."""
    locations.require_utf8_files()
    require_contract(case.workload)
    require_contract(case.workload, case.variant)
    full_slug = replace(case, sizes=workloads.complete(case.workload, case.sizes)).slug
    if full_slug != case.slug:
        raise LadderError(f"The case {case.slug!r} isn't written in full: {full_slug!r}.")
    setup_arguments.require_tuning(case.workload, case.variant, case.tuning)
    refuse_reserved_variables(case)
    for other in traits.used_variants(case):
        workloads.variant_path(*other)  # raises LadderError if there is no such variant
    if reason := traits.beyond_limits_reason(case):
        raise LadderError(f"The case {case.key} can't be measured: {reason}.")


def refuse_reserved_variables(case: Case) -> None:
    """Refuse environment variables of a case that its variant or the harness sets."""
    set_by_variant = traits.environment(case)
    for name in case.variables:
        if name in set_by_variant:
            raise LadderError(f"{name} is set by the variant {case.workload}/{case.variant}: leave it to its tunings.")
        if name in HARNESS_VARIABLES or name.startswith("LADDER_"):
            raise LadderError(f"{name} can't be named by the key `environment`: the harness sets it for every case.")
