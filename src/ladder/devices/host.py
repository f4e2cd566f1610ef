"""The host: arrays in main memory, `perf_counter_ns`, threads of OpenMP, Numba and BLAS."""

import contextlib
import ctypes
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np

from ladder.errors import LadderError
from ladder.machine import caches, cpus, description
from ladder.machine import conditions as machine_conditions

# Nothing else may be timed on the machine meanwhile.
SHARES_MACHINE = False
# Whose ceilings its samples are held against.
CEILINGS = "host"
# A line-aligned start lets every variant see the same alignment.
ALIGNMENT = 64
# The CPUs that the process may use. Once OpenMP has bound the first thread, Linux names that thread's alone.
AFFINITY = os.sched_getaffinity(0)


def lease(count=1):
    """A context that leases nothing: whoever holds the machine holds its host."""
    return contextlib.nullcontext({})


def command(case, launcher):
    """The words before a worker's own command line that launch it; none, since it is one process."""
    return []


def share_start(case, launcher):
    """Whether several workers of a case may start together and wait for their turns; True."""
    return True


def launcher_hint():
    """What to check when a launcher's processes never become ready; empty, since nothing is launched."""
    return ""


def start(case):
    """Get the device ready for `case` before the worker reports `ready`; nothing to do."""


def set_variables(variables):
    """Add to the environment the variables that name what was leased, a card for example."""
    os.environ.update(variables)


def receive():
    """The harness's next line; empty at the end of its messages."""
    return sys.stdin.readline()


def is_first():
    """Whether this process holds the arrays and answers the harness; True, since it is the only one."""
    return True


def broadcast(value):
    """The first process's value; here the value itself."""
    return value


def by_rank():
    """Seconds by rank of the last timed call; empty, since there are no ranks."""
    return []


def translate_errors():
    """A context that turns the device's own errors into LadderErrors; the host has none."""
    return contextlib.nullcontext()


def environment(threads):
    """The variables that the runtimes read once, when they load: set before the worker starts."""
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


def empty(shape, dtype):
    """A line-aligned array of the shape and dtype, its contents undefined."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def staging(arrays):
    """The arrays to fill before an upload: here the arrays themselves."""
    return arrays


def upload(staged, arrays):
    """Copy staged arrays to the device; nothing to do, since they are the arrays."""


def to_host(array):
    """The array in the host's memory: the array itself."""
    return array


def transfers(staged, problem):
    """The copies to and from the device, as (phase, function); none."""
    return []


def stopwatch(run):
    """Seconds of one call of `run`, by `perf_counter_ns`."""
    start = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - start) * 1e-9


def flusher():
    """A function that empties the caches of all CPUs that this process may use."""
    return caches.flusher(sorted(AFFINITY))


def threads_found():
    """The node, the threads that work for each loaded runtime, and the CPUs that this process may use.

    OpenMP may start fewer threads than it is asked for, so those that come are counted; a BLAS's are the threads of its
    pool. `tasks` is the number of all threads of the process, whoever started them. Where OpenMP has to bind its
    threads, the CPUs that each thread of the process may run on are told as well.
    """
    is_bound = os.environ.get("OMP_PROC_BIND", "false") != "false"
    affinity = AFFINITY if is_bound else os.sched_getaffinity(0)
    found = {"node": description.node(), "cpus": len(affinity), "affinity": sorted(affinity), "runtimes": {}}
    if is_bound:
        found["thread_affinities"] = sorted(map(sorted, thread_affinities()))
    from threadpoolctl import threadpool_info

    pools = threadpool_info()
    if "numba" in sys.modules:
        import numba

        try:
            layer = numba.threading_layer()
        except ValueError:
            pass  # no parallel region has run
        else:
            asked = numba.get_num_threads()
            teams = [openmp_team(pool, asked) for pool in pools if layer == "omp" and pool["user_api"] == "openmp"]
            found["runtimes"][f"numba-{layer}"] = min([asked, *teams])
    for pool in pools:
        name = f"{pool['user_api']}-{pool['internal_api']}-{pool.get('version') or pool['filepath']}"
        is_openmp = pool["user_api"] == "openmp"
        found["runtimes"][name] = openmp_team(pool, pool["num_threads"]) if is_openmp else pool["num_threads"]
    if "torch" in sys.modules:
        found["runtimes"]["torch"] = sys.modules["torch"].get_num_threads()
    found["tasks"] = len(list(Path("/proc/self/task").iterdir()))
    return found


def openmp_team(pool, count):
    """How many threads come to a parallel region that asks for so many, in a runtime of OpenMP that is loaded.

    In GNU's runtime a region is run, whose threads each tell their number; any other is asked for its limit alone.
    `pool` is what threadpoolctl says of it.
    """
    library = ctypes.CDLL(pool["filepath"])
    if not hasattr(library, "GOMP_parallel"):
        return min(count, library.omp_get_thread_limit())
    came = set()
    region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: came.add(threading.get_native_id()))
    library.GOMP_parallel(region, None, count, 0)
    return len(came)


def conditions():
    """The conditions under which this process runs, see `machine/conditions.py`."""
    return machine_conditions.of_process(sorted(AFFINITY))


def thread_affinities():
    """For each thread of this process, whoever started it, the CPUs that Linux lets it run on."""
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            yield os.sched_getaffinity(int(thread.name))


def core(cpu):
    """The core of a CPU, as the list of CPUs that share it; the CPU alone where Linux lists none."""
    siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    return siblings.read_text(encoding="utf-8") if siblings.exists() else str(cpu)


def require_bound(case_threads, found):
    """Refuse a job whose threads don't have a core each, or all of the process's cores where these are fewer.

    Threads that aren't OpenMP's may run on many cores, or on the one of the thread that started them: either way they
    add no core to those that some thread is bound to.
    """
    cores = [{core(cpu) for cpu in cpus} for cpus in found["thread_affinities"]]
    bound = len({one for own in cores if len(own) == 1 for one in own})
    due = min(case_threads, len({core(cpu) for cpu in found["affinity"]}))
    if bound < due:
        raise LadderError(
            f"OMP_PROC_BIND asks for threads that are bound to cores, but Linux says that they are bound to {bound} of "
            f"the {due} that they should be on: look for variables such as GOMP_CPU_AFFINITY, or a library of OpenMP "
            "other than libgomp."
        )


def require_threads(case_threads, runtime, found):
    """Refuse a job whose `runtime` (numba, blas, openmp, torch) got other threads than its case says, or few CPUs.

    Also one whose threads should be bound and aren't.
    """
    if "thread_affinities" in found and runtime in ("numba", "openmp"):
        require_bound(case_threads, found)
    if found["cpus"] < case_threads:
        raise LadderError(
            f"The case asks for {case_threads} threads, but the process may use {found['cpus']} CPUs only: "
            "give the job more cores, or lower `cores` in the configuration."
        )
    cpus.require_quota(case_threads)
    counts = {name: count for name, count in found["runtimes"].items() if name.startswith(runtime)}
    if runtime == "numba" and os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        raise LadderError("NUMBA_DISABLE_JIT keeps Numba from compiling: remove it from the case's environment.")
    if runtime == "numba" and set(counts) != {"numba-omp"}:
        layer = ", ".join(name.removeprefix("numba-") for name in counts) or "none"
        raise LadderError(f"Numba's threading layer is {layer} in place of omp: install OpenMP's library (libgomp1).")
    if not counts:
        raise LadderError(f"The variant says that its threads are those of {runtime}, but {runtime} isn't loaded.")
    for name, count in counts.items():
        if count != case_threads:
            raise LadderError(f"{name} runs {count} threads where the case says {case_threads}.")
    if found["tasks"] < case_threads:
        raise LadderError(
            f"The process has {found['tasks']} threads, fewer than the {case_threads} that the case says: is the "
            "number of processes limited (`ulimit -u`, the control group's pids.max)?"
        )


def require_finished(run):
    """Refuse a variant whose runs leave work behind that isn't timed; accept any, since a call's end is its work's."""


def energy(run):
    """What `cuda.energy` finds, where the device counts its energy; the host doesn't."""
    return {}


def state(run):
    """The device's state while it repeats `run`, for the record; nothing, which holds the CPUs' clocks as they are."""
    return {}


def clocks(variables):
    """The clocks of what `variables` lease, before or after measuring: the CPUs', see `description.clocks`."""
    return description.clocks()
