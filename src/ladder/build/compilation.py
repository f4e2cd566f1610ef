"""What Numba compiles ahead of any measurement: which cases need that, and where it is kept.

Numba compiles for types and for constants, such as a form, never for a count: one small problem stands for all of its
kind, whatever their sizes and threads. Its cache also goes by things that a fingerprint leaves out, such as its own
version and comments in a source, so those are noted beside what was compiled.
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
# Variables of Numba's that every worker has, and that change nothing in what it compiles.
COUNTED = ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CACHE_DIR")
SMALL = 2  # not 1: an array with one row or column has the layouts of C and of Fortran


def is_needed(case):
    """Whether a case of the host, of one process or of ranks, works with Numba, in its variant or what that imports."""
    is_on_host = workloads.constants(case.workload, case.variant)["DEVICE"] in ("host", "mpi")
    return is_on_host and bool(compiled_sources(case))


def compiled_sources(case):
    """Of the sources of a case's workload and variants those that work with Numba."""
    return [path for path in sources.code(case) if path.suffix == ".py" and imports_numba(path)]


@functools.cache
def imports_numba(path):
    return "numba" in syntax.libraries(path)


def smallest(case):
    """The case that stands for all of its kind: the same words and tuning, all counts small, one thread of one rank."""
    kinds = workloads.load(case.workload).SIZES
    words = {name: value for name, value in case.sizes.items() if isinstance(kinds[name], tuple)}
    tuning = {name: 1 if name in ("threads", "ranks") else value for name, value in case.tuning.items()}
    sizes = workloads.small_sizes(case.workload, words, SMALL)
    return Case(case.workload, case.variant, sizes, tuning, variables=case.variables)


def folder(case, environment=MappingProxyType({})):
    """Where Numba keeps a case's compiled code: that of other sources isn't found there.

    Nor is what it has compiled under other variables of its own in the environment of the process.
    """
    changed, name = of_compiler(environment), sources.fingerprint(case)
    return FOLDER / f"{name}-{digest(changed)}" if changed else FOLDER / name


def of_compiler(environment):
    """The variables that change what Numba compiles."""
    return {name: value for name, value in environment.items() if name.startswith("NUMBA_") and name not in COUNTED}


def digest(values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def note_name(case):
    """The name of a case's kind of problem and of its code, as a relative path."""
    return f"{sources.fingerprint(case)}/{case.workload}/{case.variant}/{smallest(case).slug}.json"


def note_path(case):
    """The path of the note that what a case's kind of problem needs has been compiled: beside that."""
    return FOLDER / note_name(case)


def state(case, environment=MappingProxyType({})):
    """What compiled code is only good for, as a dict for JSON.

    Numba, Python, the CPU, the sources to the letter, and variables that change what Numba compiles.
    """
    from importlib.metadata import version

    text = b"".join(path.read_bytes() for path in compiled_sources(case))
    own = {"numba": version("numba"), "python": platform.python_version(), "cpu": cpus.cpu()["Model name"]}
    return own | {"sources": hashlib.sha256(text).hexdigest(), "variables": of_compiler(environment)}


def load(case):
    """Have Numba load its own library where a case needs it: some 0.4 s that its first compiled call would take."""
    if is_needed(case):
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


def counter(case):
    """A function: how many functions Numba has compiled, rather than found, in this process since now."""
    if not is_needed(case):
        return lambda: 0
    from numba.core import event

    listener = event.RecordingListener()
    event.register("numba:compile", listener)
    return lambda: sum(one.is_start for _, one in listener.buffer)
