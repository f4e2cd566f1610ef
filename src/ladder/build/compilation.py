"""Numba's compilation ahead of any measurement: which cases need it, and where the compiled code is cached.

Numba specialises on types and on constants, such as the size `form` of gemm, never on a count. So compiling for one
small problem serves all problems of its kind, whatever their sizes and threads. If the workload refuses small problems,
each problem is compiled for its own sizes. Numba's cache also depends on what a fingerprint ignores, such as Numba's
version and the comments of a source, so a note beside the compiled code records these.
"""

import functools
import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ladder.catalogue import sources, syntax, workloads
from ladder.errors import LadderError
from ladder.machine import cpus
from ladder.records.case import Case

FOLDER = Path("results/cache")
# Numba's variables that every worker sets and that don't affect the compiled code.
NEUTRAL_VARIABLES = ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CACHE_DIR")
# Every size of a small problem; not 1, since an array with one row has both the layout of C and of Fortran.
SMALL_SIZE = 2


def is_needed(case: Case) -> bool:
    """Whether a case on the host, with or without MPI, uses Numba in its variant or in a module that this imports."""
    is_on_host = workloads.constants(case.workload, case.variant)["DEVICE"] in ("host", "mpi")
    return is_on_host and bool(compiled_sources(case))


def compiled_sources(case: Case) -> list[Path]:
    """The sources of a case's workload and variants that import Numba."""
    return [path for path in sources.code_paths(case) if path.suffix == ".py" and imports_numba(path)]


@functools.cache
def imports_numba(path: Path) -> bool:
    """Whether a source imports Numba."""
    return "numba" in syntax.libraries(path)


def representative_case(case: Case) -> Case:
    """The small case that is compiled for all of a kind: the same options and tuning, one thread.

    Options are the sizes that are words, such as a form. If the workload refuses small sizes, it has the case's own.
    """
    kinds = workloads.load(case.workload).SIZES
    options = {name: value for name, value in case.sizes.items() if isinstance(kinds[name], tuple)}
    tuning = {name: 1 if name in ("threads", "ranks") else value for name, value in case.tuning.items()}
    try:
        sizes = workloads.complete_with(case.workload, options, SMALL_SIZE)
    except LadderError:
        sizes = dict(case.sizes)
    return Case(case.workload, case.variant, sizes, tuning, variables=case.variables)


def folder(case: Case, environment: Mapping[str, str] = MappingProxyType({})) -> Path:
    """The folder of Numba's cache for a case: one for each version of the sources and each set of Numba's variables."""
    variables, fingerprint = compiler_variables(environment), sources.fingerprint(case)
    return FOLDER / f"{fingerprint}-{digest(variables)}" if variables else FOLDER / fingerprint


def compiler_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """The variables that affect Numba's compiled code."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("NUMBA_") and name not in NEUTRAL_VARIABLES
    }


def digest(values: Mapping[str, str]) -> str:
    """A short digest of a dict."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def note_name(case: Case) -> str:
    """A relative path that identifies a case's code and its kind of problem."""
    return f"{sources.fingerprint(case)}/{case.workload}/{case.variant}/{representative_case(case).slug}.json"


def note_path(case: Case) -> Path:
    """The path of the note that a case's kind of problem has been compiled, beside the compiled code."""
    return FOLDER / note_name(case)


def compiler_inputs(case: Case, environment: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Everything that compiled code depends on, as a dict for JSON.

    These are Numba, Python, the CPU, the exact text of the sources, and the variables that affect Numba.
    """
    from importlib.metadata import version

    text = b"".join(path.read_bytes() for path in compiled_sources(case))
    facts: dict[str, Any] = {
        "numba": version("numba"),
        "python": platform.python_version(),
        "cpu": cpus.cpu()["Model name"],
    }
    return facts | {"sources": hashlib.sha256(text).hexdigest(), "variables": compiler_variables(environment)}


def load_numba(case: Case) -> None:
    """Load Numba's own library, which takes about 0.4 s, before the first compiled call of a case that needs Numba."""
    if is_needed(case):
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


def compilation_counter(case: Case) -> Callable[[], int]:
    """A function that counts the functions compiled by Numba since this call, without those loaded from its cache."""
    if not is_needed(case):
        return lambda: 0
    from numba.core import event

    listener = event.RecordingListener()
    event.register("numba:compile", listener)
    return lambda: sum(record.is_start for _, record in listener.buffer)
