"""The binaries of CUDA kernels: which ones a case needs, what each is called, and what it is compiled from.

A binary is one source compiled for one architecture with one set of constants, its macros.
"""

import hashlib
import re
from pathlib import Path

from ladder.catalogue import sources, workloads
from ladder.errors import LadderError

FOLDER = Path("results/build")
TYPES = {"float64": {"REAL": "double", "FLOAT64": 1}, "float32": {"REAL": "float", "FLOAT64": 0}}
SLUG = re.compile(r"dtype=float(64|32)(,[a-z_]+=-?\d+)*")


def kernels(case):
    """The binaries that a case needs: {(workload, variant, "dtype=float64,block=16"), ...}; none on the host."""
    found, own = set(), (case.workload, case.variant)
    # A case that gives no part of a tiling, whatever else, may choose any.
    tilings = [tiling for tiling in choices(*own, case.sizes["dtype"]) if not tiling.keys() & case.tuning.keys()]
    tunings = [case.tuning | tiling for tiling in tilings] or [case.tuning]
    for workload, variant, tuning in [*((*own, tuning) for tuning in tunings), *used(case)]:
        if is_in_cuda(workload, variant):
            found.add((workload, variant, slug(workload, variant, case.sizes["dtype"], tuning)))
        for name in workloads.constants(workload, variant).get("KERNELS", ()):  # of another variant
            found.add((workload, name, slug(workload, name, case.sizes["dtype"], {})))
    return found


def is_in_cuda(workload, variant):
    """Whether a variant has a CUDA source."""
    return str(workloads.constants(workload, variant).get("SOURCE", "")).endswith(".cu")


def used(case):
    """The variants that a case takes its products from, with every tuning that these may choose."""
    dtype = case.sizes["dtype"]
    return [(*other, tuning) for other in sorted(workloads.used(case)) for tuning in choices(*other, dtype)]


def choices(workload, variant, dtype):
    """The tunings that a variant's product chooses from by shape: its TILES, else its defaults. Raises LadderError."""
    found = workloads.constants(workload, variant).get("TILES")
    if found is None:
        return ({},)
    tunings = found.get(dtype) if isinstance(found, dict) else found
    if not isinstance(tunings, tuple):
        raise LadderError(
            f"TILES of {workload}/{variant} must be a tuple of tunings, or one such tuple for float64 and for float32."
        )
    for tuning in tunings:
        workloads.require_tuning(workload, variant, tuning)
    return tunings


def tiling_or(default, **tiling):
    """The tiling that these tunings give, `({name: value},)`, or `default` where they are all 0.

    Raises LadderError where some are 0.
    """
    if not any(tiling.values()):
        return default
    if missing := [name for name, value in tiling.items() if not value]:
        raise LadderError(f"A tiling gives all of {', '.join(tiling)} or none: {', '.join(missing)} is missing.")
    return (tiling,)


def slug(workload, variant, dtype, tuning):
    """The constants of a binary in the one way that they are written: dtype, then the tunings that are macros by name.

    These are a variant's MACROS, by default all whole-number tunings.
    """
    takes = workloads.defaults(workload, variant) | tuning
    chosen = workloads.constants(workload, variant).get("MACROS", takes)
    numbers = {name: value for name, value in sorted(takes.items()) if isinstance(value, int) and name in chosen}
    return ",".join(f"{name}={value}" for name, value in {"dtype": dtype, **numbers}.items())


def macros(slug):
    """{macro: value} of a slug: REAL and FLOAT64 for the dtype, and each tuning in capitals. Raises LadderError."""
    if not SLUG.fullmatch(slug):
        raise LadderError(f"{slug!r} isn't written like dtype=float64,block=16.")
    pairs = dict(pair.split("=") for pair in slug.split(","))
    return TYPES[pairs.pop("dtype")] | {name.upper(): value for name, value in pairs.items()}


def path_of(architecture, workload, variant, slug):
    """The path of a binary; that of its report ends in .json."""
    return FOLDER / architecture / workload / variant / f"{slug}.cubin"


def source_of(workload, variant):
    """The CUDA source of a variant."""
    if not is_in_cuda(workload, variant):
        raise LadderError(f"{workload}/{variant} has no CUDA source: there is nothing to build.")
    return workloads.variant_path(workload, variant).with_name(workloads.constants(workload, variant)["SOURCE"])


def fingerprint(workload, variant):
    """A short digest of a variant: its CUDA source, the headers that it includes, and the module that launches it."""
    source = sources.kernel_fingerprint(source_of(workload, variant))
    text = source + sources.launcher_digest(f"ladder.workloads.{workload}.{variant}")
    return hashlib.sha256(text.encode()).hexdigest()[:16]
