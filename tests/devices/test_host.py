"""Threads on the host: their number and binding as read back, and the refusal of other ones."""

import json
import os
import runpy
import subprocess
import sys
from types import SimpleNamespace

import numba  # noqa: F401 -- a worker has imported it, too
import numpy as np
import pytest

from ladder.devices import host
from ladder.errors import LadderError

READ_NUMBA_THREADS = """
import json, numba
from ladder.devices.host import Host
from ladder.workloads.gemv.openmp_bound import touch
import numpy as np
touch(np.empty((8, 8)), np.empty(8), numba.get_num_threads())
print(json.dumps(Host().read_threads()))
"""
READ_SEQUENTIAL_NUMBA = """
import json, numba
from ladder.devices.host import Host
assert numba.njit(lambda x: x + 1)(2) == 3
print(json.dumps(Host().read_threads()))
"""
READ_OPENMP_THREADS = """
import ctypes, json
from ladder.devices.host import Host
ctypes.CDLL("libgomp.so.1")
print(json.dumps(Host().read_threads()))
"""
HOST = host.Host()
CPUS = sorted(os.sched_getaffinity(0))
needs_two_cores = pytest.mark.skipif(len({host.core_of(cpu) for cpu in CPUS}) < 2, reason="requires two cores")


def thread_report_of_process(threads, program=READ_NUMBA_THREADS, **variables):
    """The result of `read_threads` in a process that was started for this number of threads."""
    environment = os.environ | HOST.environment(threads) | variables
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)


@needs_two_cores
@pytest.mark.parametrize("binding", ["spread", pytest.param("close", marks=pytest.mark.slow)])
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_bound_threads_have_a_core_each_and_the_process_keeps_its_cpus(threads, binding):
    thread_report = thread_report_of_process(threads, OMP_PROC_BIND=binding, OMP_PLACES="cores")
    assert thread_report["affinity"] == CPUS
    assert len({tuple(cpus) for cpus in thread_report["thread_affinities"] if cpus != CPUS}) == threads
    HOST.require_threads(threads, "numba", thread_report)


@needs_two_cores
def test_threads_that_should_be_bound_but_are_not_are_refused():
    thread_report = thread_report_of_process(2)
    assert "thread_affinities" not in thread_report
    HOST.require_threads(2, "numba", thread_report)
    thread_report = thread_report_of_process(2, OMP_PROC_BIND="master", OMP_PLACES="cores")
    with pytest.raises(LadderError, match="bound to 2 cores, but Linux reports threads bound to 1"):
        HOST.require_threads(2, "numba", thread_report)
    # OpenBLAS's threads aren't OpenMP's.
    HOST.require_threads(2, "blas", thread_report | {"runtimes": {"blas-openblas": 2}})


@pytest.mark.parametrize(
    ("threads", "affinities", "cores"),
    [
        (2, [[0, 1], [2, 3]], 2),
        (2, [[0], [2]], 2),
        (2, [[0, 1], [2, 3], [0, 1, 2, 3], [0, 1]], 2),
        (1, [[0, 1]], 1),
        (4, [[0], [1], [2], [3]], 2),  # the process has only two cores
        (2, [[0], [1]], None),  # both CPUs are of one core
        (2, [[0, 1], [0, 1]], None),
        (2, [[0, 1, 2, 3], [0, 1, 2, 3]], None),
        (1, [[0, 1, 2, 3]], None),
        (2, [[0, 1], [0, 1, 2, 3]], None),
        (3, [[0, 1], [0, 1], [0, 1]], None),
    ],
)
def test_every_thread_needs_a_core_of_its_own(monkeypatch, threads, affinities, cores):
    """The process has two cores of two hardware threads each; `cores` is None if it is refused."""
    monkeypatch.setattr(host, "core_of", lambda cpu: cpu // 2)
    thread_report = {"cpus": 4, "tasks": 4, "affinity": [0, 1, 2, 3], "runtimes": {"numba-omp": threads}}
    thread_report["thread_affinities"] = affinities
    if cores:
        HOST.require_threads(threads, "numba", thread_report)
    else:
        with pytest.raises(LadderError, match="OMP_PROC_BIND asks for threads that are bound"):
            HOST.require_threads(threads, "numba", thread_report)


def test_a_core_lists_all_its_cpus_and_an_unknown_cpu_is_its_own_core():
    for cpu in CPUS:
        assert str(cpu) in host.core_of(cpu)
    assert host.core_of(10**6) == "1000000"


@pytest.mark.parametrize("count", [1, 3])
def test_a_runtime_has_exactly_the_threads_of_the_case(count):
    thread_report = {"cpus": 4, "tasks": 2, "runtimes": {"blas-openblas": 2}}
    HOST.require_threads(2, "blas", thread_report)
    with pytest.raises(LadderError, match="The process has 1 thread, fewer than the case's 2"):
        HOST.require_threads(2, "blas", thread_report | {"tasks": 1})
    with pytest.raises(LadderError, match=f"blas-openblas runs 2 threads instead of the case's {count}"):
        HOST.require_threads(count, "blas", thread_report)


@pytest.mark.parametrize("count", [1, 3])
def test_openmp_has_the_number_of_threads_of_the_environment(count):
    runtimes = thread_report_of_process(count, READ_OPENMP_THREADS)["runtimes"]
    assert {threads for name, threads in runtimes.items() if name.startswith("openmp")} == {count}


@pytest.mark.parametrize(
    ("program", "runtime", "refusal"),
    [
        (READ_OPENMP_THREADS, "openmp", r"libgomp.* runs 1 thread"),
        (READ_NUMBA_THREADS, "numba", "numba-omp runs 1 thread"),
    ],
)
def test_actual_threads_are_counted_and_not_requested_ones(program, runtime, refusal):
    thread_report = thread_report_of_process(2, program, OMP_THREAD_LIMIT="1")
    with pytest.raises(LadderError, match=f"{refusal} instead of the case's 2"):
        HOST.require_threads(2, runtime, thread_report)


def test_another_openmp_runtime_reports_its_thread_limit(monkeypatch):
    library = SimpleNamespace(omp_get_thread_limit=lambda: 3)
    monkeypatch.setattr(host.ctypes, "CDLL", lambda path: library)
    assert [host.openmp_team({"filepath": "libomp.so"}, count) for count in (2, 4)] == [2, 3]


@pytest.mark.parametrize(
    ("runtimes", "layer"),
    [({"numba-tbb": 2}, "tbb"), ({"numba-omp": 2, "numba-tbb": 2}, "omp, tbb")],
)
def test_numba_on_other_threads_than_openmps_is_refused(runtimes, layer):
    thread_report = {"cpus": 4, "tasks": 4, "runtimes": runtimes}
    HOST.require_threads(2, "numba", thread_report | {"runtimes": {"numba-omp": 2}})
    with pytest.raises(LadderError, match=f"Numba's threading layer is {layer} instead of omp"):
        HOST.require_threads(2, "numba", thread_report)


def test_numba_without_a_parallel_function_is_accepted_on_one_thread():
    thread_report = thread_report_of_process(1, READ_SEQUENTIAL_NUMBA)
    assert not [name for name in thread_report["runtimes"] if name.startswith("numba")]
    HOST.require_threads(1, "numba", thread_report)
    with pytest.raises(LadderError, match="asks for 2 threads, but no parallel function of Numba ran"):
        HOST.require_threads(2, "numba", thread_report | {"cpus": 2, "tasks": 2})


def test_a_runtime_that_is_not_loaded_is_refused(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    thread_report = {"cpus": 4, "tasks": 4, "runtimes": {"blas-openblas": 1}}
    for runtime in ("numba", "torch"):
        sentence = f'RUNTIME = "{runtime}", but {runtime} isn\'t loaded: .* With NumPy alone that is "blas"'
        with pytest.raises(LadderError, match=sentence):
            HOST.require_threads(1, runtime, thread_report)


def test_the_affinity_is_that_of_this_process():
    os.sched_setaffinity(0, {CPUS[-1]})
    try:
        affinity = runpy.run_path(host.__file__)["AFFINITY"]
    finally:
        os.sched_setaffinity(0, CPUS)
    assert affinity == {CPUS[-1]}


def test_a_disabled_numba_is_refused(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(LadderError, match="NUMBA_DISABLE_JIT keeps Numba from compiling"):
        HOST.require_threads(1, "numba", {"cpus": 4, "tasks": 1, "runtimes": {}})


def test_arrays_begin_with_a_cache_line():
    arrays = [HOST.empty((3, size), "float32") for size in range(1, 31)]
    assert {array.ctypes.data % host.ALIGNMENT for array in arrays} == {0}


@pytest.mark.parametrize("shape", [(3, 5), (7,), (0, 4), (), (1, 2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_an_array_is_the_only_part_of_its_base(shape, dtype):
    """Else SciPy takes it for a small part of a larger array, and copies it even with `copy=False`."""
    array = HOST.empty(shape, dtype)
    assert (array.shape, array.dtype) == (shape, dtype)
    assert array.flags.writeable
    assert array.flags.c_contiguous
    base = array if array.base is None else array.base
    assert (base.size, base.dtype) == (array.size, array.dtype)
    part = array.reshape(-1)[: array.size]
    assert (part.base.size, part.base.dtype) == (array.size, array.dtype)


def test_a_matrix_of_scipy_shares_the_arrays_of_a_problem():
    sparse = pytest.importorskip("scipy.sparse")
    entries, indices, starts = (
        HOST.empty((size,), kind) for size, kind in [(6, "float64"), (6, "int32"), (4, "int32")]
    )
    entries[...], indices[...], starts[...] = 1, [0, 1] * 3, [0, 2, 4, 6]
    matrix = sparse.csr_array((entries, indices, starts), shape=(3, 2), copy=False)
    for given_array, matrix_array in [(entries, matrix.data), (indices, matrix.indices), (starts, matrix.indptr)]:
        assert np.shares_memory(given_array, matrix_array)
