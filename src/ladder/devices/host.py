"""The host: arrays in main memory, `perf_counter_ns` as the clock, threads of OpenMP, Numba and BLAS."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ladder.errors import LadderError, pluralize
from ladder.machine import caches, cpus, description
from ladder.machine import conditions as machine_conditions
from ladder.records.case import Case

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# Arrays start at a cache line, so that every variant sees the same alignment.
ALIGNMENT = 64
# The CPUs that the process may use. Once OpenMP has bound the first thread, Linux only reports that thread's CPUs.
AFFINITY = os.sched_getaffinity(0)


class Host:
    """One process on the host, and the interface of a device: all that the harness calls, from start to result.

    Other devices override the methods that differ. `problem` is the argument of a variant's `setup`.
    """

    SHARES_MACHINE = False  # whether other cases may be timed on the machine at the same time
    CEILING_DEVICE = "host"  # the device with whose ceilings its samples are compared

    @staticmethod
    def require_available(count: int = 1) -> None:
        """Refuse a machine that lacks what `lease` would hold. Raises LadderError; the host lacks nothing."""

    @staticmethod
    def lease(count: int = 1) -> AbstractContextManager[dict[str, str]]:
        """A context that holds parts of the device, such as `count` GPUs, and yields the variables that name them.

        It is static, so that devices with the same kind of lease have the same function. The host has no parts: who
        holds the machine also holds the host.
        """
        return contextlib.nullcontext({})

    def command(
        self, case: Case, launcher: str | None, environment: Mapping[str, str] = MappingProxyType({})
    ) -> list[str]:
        """The launcher's part of a worker's command line, which precedes the worker's own; empty here.

        `environment` holds the variables in which the launcher will run.
        """
        return []

    def can_start_together(self, case: Case, launcher: str | None, count: int) -> bool:
        """Whether `count` workers of a case may be started at once, although they measure one after the other."""
        return True

    def launcher_hint(self) -> str:
        """A question that tells users what to check if a launcher's processes never become ready; empty here."""
        return ""

    def environment(self, threads: int, overrides: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """The environment variables of a worker, set before it starts: runtimes read them only when they are loaded.

        `overrides` holds the variables that a cluster's prelude and the configuration set.
        """
        count = str(threads)
        return {
            "OMP_NUM_THREADS": count,
            "OMP_DYNAMIC": "false",
            "OMP_PROC_BIND": "false",
            "OPENBLAS_NUM_THREADS": count,
            "MKL_NUM_THREADS": count,
            "NUMBA_NUM_THREADS": count,
            "NUMBA_THREADING_LAYER": "omp",
            "PYTHONHASHSEED": "0",
        }

    def start(self, case: Case) -> None:
        """Load what the device needs for `case`, before the worker reports `ready`; nothing here."""

    def set_variables(self, variables: Mapping[str, str]) -> None:
        """Add the variables of a lease to the environment, before the device is touched."""
        os.environ.update(variables)

    def translate_errors(self) -> AbstractContextManager[None]:
        """A context that turns the device's own errors into a LadderError; the host has none."""
        return contextlib.nullcontext()

    def start_together(self) -> None:
        """Wait until all ranks, with their GPUs, are ready for the set-up, whose clock then starts; nothing here."""

    def receive(self) -> str:
        """The harness's next line; empty at the end of its messages."""
        return sys.stdin.readline()

    def is_first(self) -> bool:
        """Whether this process has the arrays and answers the harness; other ranks only run the same code."""
        return True

    def broadcast(self, value: Any) -> Any:
        """The first process's value, for all processes."""
        return value

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """An array in the device's memory, its contents undefined; here it is aligned to ALIGNMENT bytes.

        Its `base` is None or has its dtype and size: SciPy copies an array whose base is much larger.
        """
        dtype = np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        buffer = np.empty(size + ALIGNMENT, np.uint8)
        start = -buffer.ctypes.data % ALIGNMENT
        # A view of `buffer` would have it as its base, but the base of a buffer isn't an array.
        return np.frombuffer(buffer.data[start : start + size], dtype).reshape(shape)

    def staging_arrays(self, arrays: Mapping[str, Any], pinned: bool = True) -> Mapping[str, np.ndarray]:
        """Host arrays of the same shapes and dtypes, {name: array}, for `upload`; here the arrays themselves.

        Those for a GPU are `pinned`, that is, page-locked, if the copies are timed.
        """
        return arrays

    def upload(self, staged: Mapping[str, np.ndarray], arrays: Mapping[str, Any]) -> None:
        """Copy staged arrays to the arrays of the same names; here they are the same arrays."""

    def to_host(self, array: Any) -> np.ndarray:
        """An array's contents in the host's memory; here the array itself."""
        return array

    def transfers(
        self, staged: Mapping[str, np.ndarray], problem: SimpleNamespace
    ) -> list[tuple[str, Callable[[], None]]]:
        """The separately timed copies of staged inputs and of all outputs: a list of (phase, function), empty here."""
        return []

    def stopwatch(self, run: Callable[[], object]) -> float:
        """Seconds of one call of `run`, by a clock that is valid on the device; here `perf_counter_ns`."""
        start = time.perf_counter_ns()
        run()
        return (time.perf_counter_ns() - start) * 1e-9

    def seconds_by_rank(self) -> list[float]:
        """Seconds of the last timed call, a list by rank; empty, since there are no ranks."""
        return []

    def require_finished(self, run: Callable[[], object]) -> None:
        """Refuse a run that leaves work for which the stopwatch doesn't wait.

        Every run is accepted here, since a call on the host returns when its work is done.
        """

    def flusher(self) -> Callable[[], None]:
        """A function that flushes the caches, here those of all CPUs that this process may use."""
        return caches.flusher(sorted(AFFINITY))

    def read_threads(self) -> dict[str, Any]:
        """The node, the threads of each loaded runtime, and the CPUs that this process may use.

        OpenMP may start fewer threads than requested, so its actual threads are counted. For a BLAS, the size of its
        thread pool is taken. `tasks` is the number of all threads of the process. If OpenMP must bind its threads,
        `thread_affinities` has the CPUs on which each thread of the process may run.
        """
        is_bound = os.environ.get("OMP_PROC_BIND", "false") != "false"
        affinity = AFFINITY if is_bound else os.sched_getaffinity(0)
        threads: dict[str, Any] = {
            "node": description.node(),
            "cpus": len(affinity),
            "affinity": sorted(affinity),
            "runtimes": {},
        }
        if is_bound:
            threads["thread_affinities"] = sorted(map(sorted, thread_affinities()))
        from threadpoolctl import threadpool_info

        pools = threadpool_info()
        if "numba" in sys.modules:
            import numba

            try:
                layer = numba.threading_layer()
            except ValueError:
                pass  # no parallel region has run
            else:
                count = numba.get_num_threads()
                teams = [openmp_team(pool, count) for pool in pools if layer == "omp" and pool["user_api"] == "openmp"]
                threads["runtimes"][f"numba-{layer}"] = min([count, *teams])
        for pool in pools:
            name = f"{pool['user_api']}-{pool['internal_api']}-{pool.get('version') or pool['filepath']}"
            is_openmp = pool["user_api"] == "openmp"
            threads["runtimes"][name] = openmp_team(pool, pool["num_threads"]) if is_openmp else pool["num_threads"]
        if "torch" in sys.modules:
            threads["runtimes"]["torch"] = sys.modules["torch"].get_num_threads()
        threads["tasks"] = len(list(Path("/proc/self/task").iterdir()))
        return threads

    def require_threads(self, case_threads: int, runtime: str | None, threads: Mapping[str, Any]) -> None:
        """Refuse a job whose `runtime` (numba, blas, openmp, torch) has other threads than its case, or too few CPUs.

        `threads` is what `read_threads` returned. A job whose threads should be bound but aren't is refused too.
        """
        if "thread_affinities" in threads and runtime in ("numba", "openmp"):
            require_bound(case_threads, threads)
        if threads["cpus"] < case_threads:
            raise LadderError(
                f"The case asks for {pluralize(case_threads, 'thread')}, but the process may only use "
                f"{pluralize(threads['cpus'], 'CPU')}: give the job more cores, or lower `cores` in the configuration."
            )
        cpus.require_quota(case_threads)
        counts = {name: count for name, count in threads["runtimes"].items() if name.startswith(runtime)}
        if runtime == "numba" and os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
            raise LadderError("NUMBA_DISABLE_JIT keeps Numba from compiling: remove it from the case's environment.")
        if runtime == "numba" and "numba" in sys.modules and not counts:
            require_sequential(case_threads)
            return
        if runtime == "numba" and counts and set(counts) != {"numba-omp"}:
            layer = ", ".join(name.removeprefix("numba-") for name in counts)
            raise LadderError(
                f"Numba's threading layer is {layer} instead of omp: install the OpenMP library (libgomp1)."
            )
        if not counts:
            raise LadderError(
                f'The variant has RUNTIME = "{runtime}", but {runtime} isn\'t loaded: name the runtime whose threads '
                'it uses. With NumPy alone that is "blas".'
            )
        for name, count in counts.items():
            if count != case_threads:
                raise LadderError(f"{name} runs {pluralize(count, 'thread')} instead of the case's {case_threads}.")
        if threads["tasks"] < case_threads:
            raise LadderError(
                f"The process has {pluralize(threads['tasks'], 'thread')}, fewer than the case's {case_threads}: is "
                "the number of processes limited (`ulimit -u`, the control group's pids.max)?"
            )

    def conditions(self) -> dict[str, Any]:
        """The conditions under which this process, or all ranks together, run: see `machine/conditions.py`."""
        return machine_conditions.of_process(sorted(AFFINITY))

    def state(self, run: Callable[[], object], start: float) -> dict[str, Any]:
        """The device's state while it repeats `run`; empty here, since the record has the CPUs' clocks anyway."""
        return {}

    def clocks(self, variables: Mapping[str, str]) -> dict[str, Any]:
        """The clocks of the hardware that a lease's `variables` select, see `description.clocks`."""
        return description.clocks()

    def energy(self, run: Callable[[], object]) -> dict[str, float]:
        """The joules and seconds of a run, as in `Gpu.energy`; empty without a counter of energy, as here."""
        return {}


def require_sequential(case_threads: int) -> None:
    """Refuse a case of several threads in which no parallel function of Numba has run."""
    if case_threads > 1:
        raise LadderError(
            f"The case asks for {case_threads} threads, but no parallel function of Numba ran: compile it with "
            "`@njit(parallel=True)` and loop over `prange`, or measure it with threads=1."
        )


def openmp_team(pool: Mapping[str, Any], count: int) -> int:
    """The size of the team of a parallel region with `count` requested threads, in a loaded OpenMP runtime.

    With GNU's runtime a region is run and its threads are counted; any other runtime only reports its thread limit.
    `pool` is threadpoolctl's description of the runtime.
    """
    library = ctypes.CDLL(pool["filepath"])
    if not hasattr(library, "GOMP_parallel"):
        return min(count, library.omp_get_thread_limit())
    team = set()
    region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: team.add(threading.get_native_id()))
    library.GOMP_parallel(region, None, count, 0)
    return len(team)


def thread_affinities() -> Iterator[set[int]]:
    """Yield the set of CPUs on which each thread of this process may run."""
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            yield os.sched_getaffinity(int(thread.name))


def core_of(cpu: int) -> str:
    """The core of a CPU, as the list of CPUs that share it; only the CPU if Linux lists none."""
    siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    return siblings.read_text(encoding="utf-8") if siblings.exists() else str(cpu)


def require_bound(case_threads: int, threads: Mapping[str, Any]) -> None:
    """Refuse a job whose threads aren't bound to one core each, or to all cores of the process if these are fewer.

    Threads outside of OpenMP may run on many cores, or on the core of the thread that started them. Neither adds a core
    to those with a bound thread.
    """
    cores = [{core_of(cpu) for cpu in cpus} for cpus in threads["thread_affinities"]]
    bound_cores = len(set().union(*(thread_cores for thread_cores in cores if len(thread_cores) == 1)))
    required = min(case_threads, len({core_of(cpu) for cpu in threads["affinity"]}))
    if bound_cores < required:
        raise LadderError(
            f"OMP_PROC_BIND asks for threads that are bound to {pluralize(required, 'core')}, but Linux reports "
            f"threads bound to {bound_cores}: look for variables such as GOMP_CPU_AFFINITY, or an OpenMP library "
            "other than libgomp."
        )
