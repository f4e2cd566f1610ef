"""Solves by the kernels of the earlier study's two versions, on the CPU in emulation and on a GPU."""

import itertools

import numpy as np
import pytest

import emulator
import kernel_cases
from ladder import cuda
from ladder.catalogue import traits, workloads
from ladder.harness import validation
from ladder.harness.worker import make_problem
from ladder.workloads import descent

pytestmark = pytest.mark.xdist_group("descent_kernels")  # one worker, so that its kernels are compiled once
# The kernels that `test_descent_kernel` compiles, too.
EMULATED_KERNELS = [
    ("cuda_version1", "float32", {}),
    ("cuda_version2", "float32", {"load": 4}),
    ("cuda_version2", "float64", {"load": 12}),
]
SIZES = {"kappa": 10.0, "iterations": 6}


@pytest.fixture(params=EMULATED_KERNELS, ids=lambda parameters: "-".join(parameters[:2]))
def solve_in_emulation(request, monkeypatch):
    """A function that solves a round's problem, possibly changed, on an emulated GPU, and returns the problem."""
    variant, dtype, tuning = request.param
    monkeypatch.setattr(cuda, "kernel", emulator.descent_kernels(variant, dtype, **tuning).get)

    def solve(round=0, change=lambda problem: None, **sizes):
        case = kernel_cases.case("descent", variant, tuning, **SIZES | sizes, dtype=dtype)
        problem = make_problem(descent, case, emulator.device())
        descent.fill(problem.inputs, case.sizes, round, None)
        descent.generate(problem, round)
        change(problem)
        validation.poison(problem.outputs)
        workloads.load_variant("descent", variant).setup(problem, **tuning)()
        validation.require_finite(problem.outputs, problem.output_kinds)
        assert all(np.isnan(guard).all() or guard.dtype.kind == "i" for guard in problem.device.guards)
        return problem

    return solve


def require_right(problem, round=0):
    arguments = problem.sizes, problem.inputs, problem.outputs, round, None, None, problem.sizes["dtype"]
    validation.require(descent.check(*arguments)[0], str(problem.sizes))


@emulator.needs_compiler
def test_histories_are_right_at_odd_sizes(solve_in_emulation):
    for n, round in ((1, 0), (2, 1), (17, 1)):
        require_right(solve_in_emulation(round, n=n), round)
    require_right(solve_in_emulation(n=5, start="random", scaling="rows"))


@emulator.needs_compiler
def test_a_tolerance_ends_a_solve_and_the_later_history_is_zero(solve_in_emulation):
    problem = solve_in_emulation(n=9, tolerance=0.5)
    require_right(problem)
    steps = int(problem.steps[0])
    assert 0 < steps < SIZES["iterations"]
    assert problem.history[: steps + 1].all()
    assert not problem.history[steps + 1 :].any()


@emulator.needs_compiler
def test_a_residual_of_exactly_0_ends_a_solve(solve_in_emulation):
    """With A = I the first step reaches a residual of 0; with b = 0 the solve begins with it."""
    problem = solve_in_emulation(n=16, kappa=1.0)
    require_right(problem)
    np.testing.assert_array_equal(problem.x, problem.b)
    assert (problem.steps[0], problem.history[1]) == (1, 0)
    zero_problem = solve_in_emulation(n=16, change=lambda problem: problem.b.fill(0))
    assert (zero_problem.steps[0], zero_problem.x.any(), zero_problem.history.any()) == (0, False, False)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 16, 17, 32, 65, 144, 512, 1000])
def test_solves_are_right_on_a_gpu(n, dtype):
    tunings = [{}, {"block": 32, "load": 12}]
    tunings += [{"block": 512, "load": 8, "launch": "study"}] * (n <= 512)  # beyond, its blocks exceed 1024 threads
    variants = [("cuda_version1", {}), *itertools.product(("cuda_version2",), tunings)]
    for (variant, tuning), tolerance in itertools.product(variants, (0.0, 0.5)):
        case = kernel_cases.case("descent", variant, tuning, n=n, **SIZES, tolerance=tolerance, dtype=dtype)
        if traits.beyond_limits_reason(case) is None:
            validation.require(kernel_cases.run_checks(kernel_cases.solve(case, round=1), case, round=1), case.key)
