"""The recurrence of fused multiply-adds: right end values pass, and those of less work don't."""

import numpy as np
import pytest

import emulator
import kernel_cases
from ladder import cuda
from ladder.catalogue import workloads
from ladder.harness import validation
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import fma

DTYPES = ("float64", "float32")
WIDER_DTYPE = {"float32": np.float64, "float64": np.longdouble}
LENGTHS = (1, 2, 17, 1000, 8192)


def recurrence(sizes, start, steps):
    """The values after `steps` steps, each computed in a wider type and rounded, almost as by a fused multiply-add."""
    a, b = map(WIDER_DTYPE[sizes["dtype"]], fma.factors(sizes))
    x = start
    for _ in range(steps):
        x = (a * x + b).astype(start.dtype)
    return x


def passes(length, dtype, change=lambda sizes, x, out: out):
    """Whether the values after `length` steps, changed by `change(sizes, x, out)`, pass the check."""
    sizes = workloads.complete("fma", {"elements": 65, "length": length, "dtype": dtype})
    x = np.empty(65, dtype)
    fma.fill({"x": x}, sizes, 1, None)
    out = change(sizes, x, recurrence(sizes, x, length))
    (check,), _ = fma.check(sizes, {"x": x}, {"out": out}, 1, None, None, dtype)
    return check.passed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_every_end_value_is_checked(length, dtype):
    assert passes(length, dtype)
    for index in (0, 64):
        for wrong in (0, 0.5, np.nan):
            assert not passes(length, dtype, lambda sizes, x, out: np.where(np.arange(65) == index, wrong, out))  # noqa: B023


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS[2:])
def test_missing_steps_are_noticed(length, dtype):
    """One step in float64, one percent of the steps in float32."""
    fewer_steps = length - (1 if dtype == "float64" else max(1, length // 100))
    assert not passes(length, dtype, lambda sizes, x, out: recurrence(sizes, x, fewer_steps))
    assert not passes(length, dtype, lambda sizes, x, out: x)
    assert not passes(length, dtype, lambda sizes, x, out: np.ones_like(x))


def test_a_lower_precision_is_noticed():
    assert not passes(1000, "float64", lambda sizes, x, out: out.astype(np.float32).astype(np.float64))


def test_rounds_differ_and_steps_are_counted():
    sizes = workloads.complete("fma", {"elements": 100, "length": 10, "dtype": "float32"})
    first, second = np.empty((2, 100), np.float32)
    fma.fill({"x": first}, sizes, 0, None)
    fma.fill({"x": second}, sizes, 1, None)
    assert not (first == second).any()
    assert (fma.cost(sizes).flops, fma.cost(sizes).bytes) == (2000, 800)


@emulator.needs_compiler
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_the_kernel_is_right_in_emulation_and_writes_nothing_beyond(monkeypatch, tmp_path, dtype):
    tuning = {"block": 32, "chains": 3}
    macros = emulator.kernel_macros(["recurrence"])
    kernels = emulator.Kernels(tmp_path, "listed_kernels.cpp", "fma", "cuda", dtype, macros, **tuning)
    monkeypatch.setattr(cuda, "kernel", kernels.get)
    for elements, length in ((1, 1), (65, 171), (290, 17)):  # the kernel unrolls 512 / 3 chains = 170 steps
        sizes = workloads.complete("fma", {"elements": elements, "length": length, "dtype": dtype})
        device = emulator.device()
        problem = make_problem(fma, Case("fma", "cuda", sizes, tuning), device)
        fma.fill(problem.inputs, sizes, 1, None)
        workloads.load_variant("fma", "cuda").setup(problem, **tuning)()
        validation.require(fma.check(sizes, problem.inputs, problem.outputs, 1, None, None, dtype)[0], "fma")
        assert all(np.isnan(guard).all() for guard in device.guards)


@pytest.mark.gpu
@pytest.mark.parametrize("tuning", [{}, {"block": 32, "chains": 1}, {"chains": 5}])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("elements", "length"), [(1, 1), (17, 65), (1025, 129), (4099, 1000)])
def test_the_kernel_is_right_at_odd_sizes(elements, length, dtype, tuning):
    case = kernel_cases.case("fma", "cuda", tuning, elements=elements, length=length, dtype=dtype)
    validation.require(kernel_cases.run_checks(kernel_cases.solve(case, round=1), case, round=1), "fma")
