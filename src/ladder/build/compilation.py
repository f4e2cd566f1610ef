"""Numba's compilation ahead of any measurement: which cases need it, and where the compiled code is cached.

Numba specialises on types and on constants, such as a form, never on a count: one small problem represents all of its
kind, whatever their sizes and threads. Its cache also depends on what a fingerprint ignores, such as Numba's version
and comments in a source, so a note beside the compiled code records these.
"""

import functools
import hashlib
import json
import platform
from pathlib import Path
from types import MappingProxyType

from ladder.catalogue import sources, syntax, workloads
from ladder.machine import cpus
from ladder.records.case import Case

FOLDER = Path("results/cache")
# Variables of Numba's that every worker sets and that don't affect the compiled code.
COUNTED = ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CACHE_DIR")
SMALL = 2  # not 1: an array with one row or column has the layouts of C and of Fortran


def is_needed(case):
    """Whether a case on the host, with or without MPI, uses Numba in its variant or in what that imports."""
    is_on_host = workloads.constants(case.workload, case.variant)["DEVICE"] in ("host", "mpi")
    return is_on_host and bool(compiled_sources(case))


def compiled_sources(case):
    """The sources of a case's workload and variants that import Numba."""
    return [path for path in sources.code(case) if path.suffix == ".py" and imports_numba(path)]


@functools.cache
def imports_numba(path):
    return "numba" in syntax.libraries(path)


def smallest(case):
    """The case that represents all of its kind: the same words and tuning, small counts, one thread of one rank."""
    kinds = workloads.load(case.workload).SIZES
    words = {name: value for name, value in case.sizes.items() if isinstance(kinds[name], tuple)}
    tuning = {name: 1 if name in ("threads", "ranks") else value for name, value in case.tuning.items()}
    sizes = workloads.small_sizes(case.workload, words, SMALL)
    return Case(case.workload, case.variant, sizes, tuning, variables=case.variables)


def folder(case, environment=MappingProxyType({})):
    """The folder of Numba's cache for a case; other sources, or other values of Numba's variables, have another."""
    variables, fingerprint = of_compiler(environment), sources.fingerprint(case)
    return FOLDER / f"{fingerprint}-{digest(variables)}" if variables else FOLDER / fingerprint


def of_compiler(environment):
    """The variables that affect Numba's compiled code."""
    return {name: value for name, value in environment.items() if name.startswith("NUMBA_") and name not in COUNTED}


def digest(values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def note_name(case):
    """A relative path that identifies a case's code and its kind of problem."""
    return f"{sources.fingerprint(case)}/{case.workload}/{case.variant}/{smallest(case).slug}.json"


def note_path(case):
    """The path of the note that a case's kind of problem has been compiled, beside the compiled code."""
    return FOLDER / note_name(case)


def state(case, environment=MappingProxyType({})):
    """Everything that compiled code depends on, as a dict for JSON.

    These are Numba, Python, the CPU, the exact text of the sources, and the variables that affect Numba.
    """
    from importlib.metadata import version

    text = b"".join(path.read_bytes() for path in compiled_sources(case))
    facts = {"numba": version("numba"), "python": platform.python_version(), "cpu": cpus.cpu()["Model name"]}
    return facts | {"sources": hashlib.sha256(text).hexdigest(), "variables": of_compiler(environment)}


def load(case):
    """Load Numba's own library if a case needs it, which takes about 0.4 s, before its first compiled call."""
    if is_needed(case):
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


def counter(case):
    """A function that returns how many functions Numba has compiled, not loaded, in this process from now on."""
    if not is_needed(case):
        return lambda: 0
    from numba.core import event

    listener = event.RecordingListener()
    event.register("numba:compile", listener)
    return lambda: sum(record.is_start for _, record in listener.buffer)
