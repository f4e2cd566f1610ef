"""The binaries of CUDA kernels: those that a case needs, their names, and their sources.

A binary is one source compiled for one architecture with one set of constants, its macros.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from ladder.catalogue import setup_arguments, sources, traits, workloads
from ladder.errors import LadderError
from ladder.records.case import Case

FOLDER = Path("results/build")
# The macros of each dtype.
TYPES = {"float64": {"REAL": "double", "FLOAT64": 1}, "float32": {"REAL": "float", "FLOAT64": 0}}
SLUG = re.compile(r"dtype=float(64|32)(,[a-z_]+=-?\d+)*")


def of_case(case: Case) -> set[tuple[str, str, str]]:
    """The binaries that a case needs, none on the host: {(workload, variant, "dtype=float64,block=16"), ...}."""
    binaries: set[tuple[str, str, str]] = set()
    variant_key = (case.workload, case.variant)
    # A case may choose any tiling if its tuning sets no part of one.
    possible_tilings = tiling_choices(*variant_key, case.sizes["dtype"])
    tilings = [tiling for tiling in possible_tilings if not tiling.keys() & case.tuning.keys()]
    tunings = [case.tuning | tiling for tiling in tilings] or [case.tuning]
    for workload, variant, tuning in [*((*variant_key, tuning) for tuning in tunings), *used_variant_tunings(case)]:
        if is_in_cuda(workload, variant):
            binaries.add((workload, variant, slug(workload, variant, case.sizes["dtype"], tuning)))
        for name in workloads.constants(workload, variant).get("KERNELS", ()):  # variants whose kernels it launches
            binaries.add((workload, name, slug(workload, name, case.sizes["dtype"], {})))
    return binaries


def is_in_cuda(workload: str, variant: str) -> bool:
    """Whether a variant has a CUDA source."""
    return str(workloads.constants(workload, variant).get("SOURCE", "")).endswith(".cu")


def used_variant_tunings(case: Case) -> list[tuple[str, str, dict[str, int]]]:
    """(workload, variant, tuning) of the variants that a case's USES select, for every tuning that they may choose."""
    dtype = case.sizes["dtype"]
    return [
        (*other, tuning) for other in sorted(traits.used_variants(case)) for tuning in tiling_choices(*other, dtype)
    ]


def tiling_choices(workload: str, variant: str, dtype: str) -> tuple[dict[str, int], ...]:
    """The tunings among which a variant chooses by the problem's shape: its TILES, else ({},). Raises LadderError."""
    tiles = workloads.constants(workload, variant).get("TILES")
    if tiles is None:
        return ({},)
    tunings = tiles.get(dtype) if isinstance(tiles, dict) else tiles
    if not isinstance(tunings, tuple):
        raise LadderError(
            f"TILES of {workload}/{variant} must be a tuple of tunings, or one such tuple for float64 and for float32."
        )
    for tuning in tunings:
        setup_arguments.require_tuning(workload, variant, tuning)
    return tunings


def tiling_or(default: Any, **tiling: int) -> Any:
    """The tiling of these tunings, `({name: value},)`, or `default` if all are 0.

    Raises LadderError if only some are 0.
    """
    if not any(tiling.values()):
        return default
    if missing := [name for name, value in tiling.items() if not value]:
        raise LadderError(f"A tiling sets all of {', '.join(tiling)} or none: {', '.join(missing)} is missing.")
    return (tiling,)


def slug(workload: str, variant: str, dtype: str, tuning: dict[str, Any]) -> str:
    """The constants of a binary in canonical form: dtype, then the tunings that are macros, sorted by name.

    MACROS names the tunings of a variant that are macros; the default is all whole-number tunings.
    """
    values = setup_arguments.defaults(workload, variant) | tuning
    macro_names = workloads.constants(workload, variant).get("MACROS", values)
    numbers = {name: value for name, value in sorted(values.items()) if isinstance(value, int) and name in macro_names}
    return ",".join(f"{name}={value}" for name, value in {"dtype": dtype, **numbers}.items())


def macros(slug: str) -> dict[str, Any]:
    """{macro: value} of a slug: REAL and FLOAT64 for the dtype, and each tuning in capitals. Raises LadderError."""
    if not SLUG.fullmatch(slug):
        raise LadderError(f"{slug!r} isn't written like dtype=float64,block=16.")
    pairs = dict(pair.split("=") for pair in slug.split(","))
    return TYPES[pairs.pop("dtype")] | {name.upper(): value for name, value in pairs.items()}


def path_of(architecture: str, workload: str, variant: str, slug: str) -> Path:
    """The path of a binary; that of its report ends in .json."""
    return FOLDER / architecture / workload / variant / f"{slug}.cubin"


def source_of(workload: str, variant: str) -> Path:
    """The CUDA source of a variant."""
    if not is_in_cuda(workload, variant):
        raise LadderError(f"{workload}/{variant} has no CUDA source: there is nothing to build.")
    return workloads.variant_path(workload, variant).with_name(workloads.constants(workload, variant)["SOURCE"])


def fingerprint(workload: str, variant: str) -> str:
    """A short digest of a variant's CUDA source, the headers that it includes, and the module that launches it."""
    source = sources.kernel_fingerprint(source_of(workload, variant))
    text = source + sources.module_digest(f"ladder.workloads.{workload}.{variant}")
    return hashlib.sha256(text.encode()).hexdigest()[:16]
