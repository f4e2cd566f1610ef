"""Threads on the host: their binding as Linux reports it, and what is refused."""

import json
import os
import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest

from ladder.devices import host
from ladder.errors import LadderError

FOUND = """
import json, numba
from ladder.devices.host import Host
from ladder.workloads.gemv.openmp_bound import touch
import numpy as np
touch(np.empty((8, 8)), np.empty(8), numba.get_num_threads())
print(json.dumps(Host().read_threads()))
"""
FOUND_OPENMP = """
import ctypes, json
from ladder.devices.host import Host
ctypes.CDLL("libgomp.so.1")
print(json.dumps(Host().read_threads()))
"""
HOST = host.Host()
CPUS = sorted(os.sched_getaffinity(0))
TWO_CORES = pytest.mark.skipif(len({host.core(cpu) for cpu in CPUS}) < 2, reason="requires two cores")


def found_with(threads, program=FOUND, **variables):
    """The threads that a process with this number of OpenMP threads reads back."""
    environment = os.environ | HOST.environment(threads) | variables
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@TWO_CORES
@pytest.mark.parametrize("binding", ["spread", pytest.param("close", marks=pytest.mark.slow)])
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_bound_threads_have_a_core_each_and_the_process_keeps_its_cpus(threads, binding):
    found = found_with(threads, OMP_PROC_BIND=binding, OMP_PLACES="cores")
    assert found["affinity"] == CPUS
    assert len({tuple(cpus) for cpus in found["thread_affinities"] if cpus != CPUS}) == threads
    HOST.require_threads(threads, "numba", found)


@TWO_CORES
def test_threads_that_are_not_bound_are_told_from_such_that_are():
    found = found_with(2)
    assert "thread_affinities" not in found
    HOST.require_threads(2, "numba", found)
    found = found_with(2, OMP_PROC_BIND="master", OMP_PLACES="cores")
    with pytest.raises(LadderError, match="bound to 2 cores, but Linux reports threads bound to 1"):
        HOST.require_threads(2, "numba", found)
    # OpenBLAS's threads aren't OpenMP's.
    HOST.require_threads(2, "blas", found | {"runtimes": {"blas-openblas": 2}})


@pytest.mark.parametrize(
    ("threads", "places", "bound"),
    [
        (2, [[0, 1], [2, 3]], 2),
        (2, [[0], [2]], 2),
        (2, [[0, 1], [2, 3], [0, 1, 2, 3], [0, 1]], 2),
        (1, [[0, 1]], 1),
        (4, [[0], [1], [2], [3]], 2),  # two cores are all that there are
        (2, [[0], [1]], None),  # one core
        (2, [[0, 1], [0, 1]], None),
        (2, [[0, 1, 2, 3], [0, 1, 2, 3]], None),
        (1, [[0, 1, 2, 3]], None),
        (2, [[0, 1], [0, 1, 2, 3]], None),
        (3, [[0, 1], [0, 1], [0, 1]], None),
    ],
)
def test_every_thread_needs_a_core_of_its_own(monkeypatch, threads, places, bound):
    """Two cores of two hardware threads each."""
    monkeypatch.setattr(host, "core", lambda cpu: cpu // 2)
    found = {"cpus": 4, "tasks": 4, "affinity": [0, 1, 2, 3], "runtimes": {"numba-omp": threads}}
    found["thread_affinities"] = places
    if bound:
        HOST.require_threads(threads, "numba", found)
    else:
        with pytest.raises(LadderError, match="OMP_PROC_BIND asks for threads that are bound"):
            HOST.require_threads(threads, "numba", found)


def test_a_core_is_the_same_for_all_its_cpus_and_unknown_ones_are_their_own():
    for cpu in CPUS:
        assert str(cpu) in host.core(cpu)
    assert host.core(10**6) == "1000000"


@pytest.mark.parametrize("count", [1, 3])
def test_a_runtime_has_the_threads_of_the_case_and_no_fewer(count):
    found = {"cpus": 4, "tasks": 2, "runtimes": {"blas-openblas": 2}}
    HOST.require_threads(2, "blas", found)
    with pytest.raises(LadderError, match="The process has 1 thread, fewer than the case's 2"):
        HOST.require_threads(2, "blas", found | {"tasks": 1})
    with pytest.raises(LadderError, match=f"blas-openblas runs 2 threads instead of the case's {count}"):
        HOST.require_threads(count, "blas", found)


@pytest.mark.parametrize("count", [1, 3])
def test_openmp_has_the_threads_that_the_environment_says(count):
    runtimes = found_with(count, FOUND_OPENMP)["runtimes"]
    assert {threads for name, threads in runtimes.items() if name.startswith("openmp")} == {count}


@pytest.mark.parametrize(
    ("program", "runtime", "refusal"),
    [(FOUND_OPENMP, "openmp", r"libgomp.* runs 1 thread"), (FOUND, "numba", "numba-omp runs 1 thread")],
)
def test_threads_are_those_that_come_and_not_those_that_were_asked_for(program, runtime, refusal):
    found = found_with(2, program, OMP_THREAD_LIMIT="1")
    with pytest.raises(LadderError, match=f"{refusal} instead of the case's 2"):
        HOST.require_threads(2, runtime, found)


def test_a_runtime_of_openmp_without_gnus_entry_is_asked_for_its_limit(monkeypatch):
    library = SimpleNamespace(omp_get_thread_limit=lambda: 3)
    monkeypatch.setattr(host.ctypes, "CDLL", lambda path: library)
    assert [host.openmp_team({"filepath": "libomp.so"}, count) for count in (2, 4)] == [2, 3]


@pytest.mark.parametrize(
    ("runtimes", "layer"),
    [({"numba-tbb": 2}, "tbb"), ({"numba-omp": 2, "numba-tbb": 2}, "omp, tbb"), ({"blas-openblas": 2}, "none")],
)
def test_numba_on_other_threads_than_openmps_is_refused(runtimes, layer):
    found = {"cpus": 4, "tasks": 4, "runtimes": runtimes}
    HOST.require_threads(2, "numba", found | {"runtimes": {"numba-omp": 2}})
    with pytest.raises(LadderError, match=f"Numba's threading layer is {layer} instead of omp"):
        HOST.require_threads(2, "numba", found)


def test_a_process_knows_the_cpus_that_it_may_use_and_not_those_of_another():
    os.sched_setaffinity(0, {CPUS[-1]})
    try:
        found = runpy.run_path(host.__file__)["AFFINITY"]
    finally:
        os.sched_setaffinity(0, CPUS)
    assert found == {CPUS[-1]}


def test_numba_that_may_not_compile_is_named(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(LadderError, match="NUMBA_DISABLE_JIT keeps Numba from compiling"):
        HOST.require_threads(1, "numba", {"cpus": 4, "tasks": 1, "runtimes": {}})


def test_arrays_begin_with_a_cache_line():
    kept = [HOST.empty((3, size), "float32") for size in range(1, 31)]
    assert {array.ctypes.data % host.ALIGNMENT for array in kept} == {0}
