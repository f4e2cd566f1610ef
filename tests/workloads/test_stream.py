"""STREAM: results at odd lengths pass the check, and wrong ones don't."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest

import emulator
from ladder import cuda
from ladder.catalogue import workloads
from ladder.harness import validation
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import stream

KERNELS = ("read", "copy", "triad")
DTYPES = ("float64", "float32")
LONG_LENGTH = stream.CHUNK_ELEMENTS + stream.BLOCK_ELEMENTS + 17  # checked in two parts, the second of two blocks
LENGTHS = [1, 17, 65537, 131072]


def solve(kernel, elements, dtype):
    """A problem that the variant `openmp` has solved; its output was NaN before."""
    sizes = workloads.complete("stream", {"kernel": kernel, "elements": elements, "dtype": dtype})
    problem = make_problem(stream, Case("stream", "openmp", sizes, {"threads": 1}), emulator.guarded_host())
    stream.fill(problem.inputs, sizes, 1, None)
    validation.poison(problem.outputs)
    workloads.load_variant("stream", "openmp").setup(problem, threads=1)()
    validation.require_finite(problem.outputs, problem.output_kinds)
    assert emulator.are_intact(problem.device.guards)
    return problem


def is_right(problem):
    checks, _ = stream.check(problem.sizes, problem.inputs, problem.outputs, 1, None, None, problem.sizes["dtype"])
    return all(check.passed for check in checks)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_lengths_are_right_and_wrong_elements_noticed(kernel, dtype):
    for elements in LENGTHS:
        problem = solve(kernel, elements, dtype)
        assert is_right(problem), elements
        for index in (0, -1):
            right = problem.out[index]
            for wrong in (right * 1.01 + 1e-3, 0, np.nan):
                problem.out[index] = wrong
                assert not is_right(problem), (elements, index, wrong)
            problem.out[index] = right
        assert is_right(problem)


def test_a_dropped_tail_of_a_sum_is_noticed():
    problem = solve("read", 65537, "float64")
    assert problem.out.shape == (2,)  # a sum of 65536 elements, and the last element
    problem.out[0] -= problem.a[65535]
    assert not is_right(problem)


def test_another_round_has_other_values():
    first, second = solve("triad", 17, "float64"), solve("triad", 17, "float64")
    assert np.array_equal(first.a, second.a)
    stream.fill(second.inputs, second.sizes, 0, None)
    assert not (first.a == second.a).any()
    assert not (first.a == first.b).any()


@pytest.mark.parametrize(("kernel", "flops", "bytes"), [("read", 1, 4), ("copy", 0, 8), ("triad", 2, 12)])
def test_the_cost_counts_loads_and_stores(kernel, flops, bytes):
    sizes = workloads.complete("stream", {"kernel": kernel, "elements": 100, "dtype": "float32"})
    assert (stream.cost(sizes).flops, stream.cost(sizes).bytes) == (100 * flops, 100 * bytes)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_part_is_right_and_checked(kernel):
    """Even an error as small as the rounding of float32 is noticed in every part."""
    problem = solve(kernel, LONG_LENGTH, "float64")
    assert is_right(problem)
    for index in (stream.CHUNK_ELEMENTS // (stream.BLOCK_ELEMENTS if kernel == "read" else 1), -1):
        right = problem.out[index]
        problem.out[index] = np.float32(right)
        assert not is_right(problem), index
        problem.out[index] = right
    assert is_right(problem)


@functools.cache
def kernels(dtype):
    """The GPU's kernels, compiled for the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        return emulator.Kernels(
            Path(folder), "listed_kernels.cpp", "stream", "cuda", dtype, emulator.kernel_macros(KERNELS), block=32
        )


@emulator.needs_compiler
@pytest.mark.xdist_group("stream")  # the kernels are compiled once
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gpu_kernels_are_right_in_emulation_and_write_nothing_beyond(monkeypatch, kernel, dtype):
    monkeypatch.setattr(cuda, "kernel", kernels(dtype).get)
    sizes = workloads.complete("stream", {"kernel": kernel, "elements": LONG_LENGTH, "dtype": dtype})
    device = emulator.device()
    problem = make_problem(stream, Case("stream", "cuda", sizes, {"block": 32}), device)
    stream.fill(problem.inputs, sizes, 1, None)
    workloads.load_variant("stream", "cuda").setup(problem, block=32)()
    assert is_right(problem)
    assert all(np.isnan(guard).all() for guard in device.guards)
