"""Test that every loop follows OpenMP's schedule, if that is a tuning, and that a worker has the schedule of its case.

The rounding of a result shows which thread computed it: the first thread rounds up, the others to nearest. With a chunk
of all iterations, the first thread executes them all, so the results have the bits of one thread. A loop with a fixed
schedule would divide the iterations among the threads.
"""

import ctypes
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ladder import devices
from ladder.build import libraries
from ladder.catalogue import workloads
from ladder.harness import environment
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads.backprop import in_c

HOST = devices.load("host")
pytestmark = [
    pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="sets the rounding mode of x86"),
    pytest.mark.xdist_group("schedules"),  # each library is compiled once
]
STATIC, DYNAMIC, GUIDED = 1, 2, 3  # values of omp_sched_t
ROUND_NEAREST, ROUND_UP = 0, 0x800  # FE_TONEAREST, FE_UPWARD
NETWORK = {"layers": "784-5-10", "images": 40, "epochs": 1, "rate": 0.5, "momentum": 0.0, "source": "digits"}
LOOPS = ("patterns_reduction", "patterns_atomic", "weight_change_atomic", "weight_change_accumulators")


@pytest.fixture(scope="module", autouse=True)
def working_folder(tmp_path_factory):
    """A working folder for the libraries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("schedules"))
        yield


@pytest.fixture
def openmp():
    """The OpenMP runtime; its schedule and number of threads are restored at the end."""
    runtime = ctypes.CDLL("libgomp.so.1")
    kind, chunk, threads = ctypes.c_int(), ctypes.c_int(), runtime.omp_get_max_threads()
    runtime.omp_get_schedule(ctypes.byref(kind), ctypes.byref(chunk))
    yield runtime
    runtime.omp_set_schedule(kind, chunk)
    runtime.omp_set_num_threads(threads)


def run_rounding_up(run):
    """The result of a run in which the first thread rounds up, and the others to nearest."""
    run()  # starts the other threads, which would inherit the mode
    mathematics = ctypes.CDLL("libm.so.6")
    mathematics.fesetround(ROUND_UP)
    try:
        return run()
    finally:
        mathematics.fesetround(ROUND_NEAREST)


def make_product(openmp, threads):
    """A function that returns the result of a matrix-vector product."""
    generator = np.random.default_rng(1)
    matrix, x, y = generator.random((40, 64)), generator.random(64), np.empty(40)
    openmp.omp_set_num_threads(threads)
    multiply = libraries.load("gemv", "c_openmp", "float64").gemv

    def run():
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (matrix, x, y))
        multiply(*pointers, ctypes.c_long(40), ctypes.c_long(64))
        return y.copy()

    return run


def make_loop(openmp, threads, loop):
    """A function that runs a loop of back-propagation and returns what the loops write, as one vector.

    These are `out`, `delta`, `dw` and the error, whichever loop runs; `patterns_atomic` without the error.
    """
    sizes, generator = workloads.complete("backprop", NETWORK), np.random.default_rng(1)
    tuning = {"threads": threads, "schedule": "static"}
    problem = make_problem(workloads.load("backprop"), Case("backprop", "openmp", sizes, tuning), HOST)
    program = in_c.Program(problem, "openmp", threads=threads, flags="O2", simd=0)
    arrays = [*program.arrays["out"], *program.arrays["delta"][1:], *program.arrays["w"][1:], problem.targets]
    inputs = [generator.random(array.shape, "float32") for array in arrays]
    problem.ranpat[...] = generator.permutation(40)
    _, call = program.step("", loop, *([1] if "weight" in loop else []))  # weights change layer by layer
    outputs = [*program.arrays["out"][1:], *program.arrays["delta"][1:], *program.arrays["dw"][1:], problem.error]

    def run():
        for array in outputs:
            array[...] = 0
        for array, values in zip(arrays, inputs, strict=True):
            array[...] = values
        call()
        # Threads add to the error in any order, so its bits vary.
        reproducible = outputs[:-1] if loop == "patterns_atomic" else outputs
        return np.concatenate([array.ravel() for array in reproducible])

    return run


@pytest.mark.parametrize("loop", ["gemv", *LOOPS])
def test_the_schedule_decides_who_does_an_iteration(openmp, loop):
    def results(threads, chunk):
        openmp.omp_set_schedule(STATIC, chunk)
        return run_rounding_up(make_product(openmp, threads) if loop == "gemv" else make_loop(openmp, threads, loop))

    single = results(1, 40)
    assert np.array_equal(results(2, 40), single)
    assert not np.array_equal(results(2, 1), single)


PRINT_SCHEDULE = """
import ctypes, sys
library, kind, chunk = ctypes.CDLL(sys.argv[1]), ctypes.c_int(), ctypes.c_int()
ctypes.CDLL("libgomp.so.1").omp_get_schedule(ctypes.byref(kind), ctypes.byref(chunk))
print(kind.value & 0xFF)  # without the bit of a monotonic schedule
"""


@pytest.mark.parametrize(("schedule", "kind"), [("static", STATIC), ("dynamic", DYNAMIC), ("guided", GUIDED)])
def test_a_worker_has_the_schedule_of_its_case(schedule, kind):
    sizes = workloads.complete("gemv", {"n": 4, "m": 4})
    case = Case("gemv", "c_openmp", sizes, {"schedule": schedule, "threads": 2})
    library = libraries.ensure(case.workload, case.variant, libraries.slug(case.workload, case.variant, "float64", {}))
    variables = os.environ | environment.of_worker(case)
    process = subprocess.run(
        [sys.executable, "-S", "-c", PRINT_SCHEDULE, library], env=variables, capture_output=True, text=True, check=True
    )
    assert int(process.stdout) == kind
