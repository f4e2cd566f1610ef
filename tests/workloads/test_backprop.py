"""Back-propagation: gradients against finite differences, trajectories of every variant, faults noticed."""

import functools
import shutil
import subprocess
from importlib.util import find_spec

import numpy as np
import pytest

import elementary
from ladder.build import libraries
from ladder.catalogue import workloads
from ladder.data import dataset
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, in_order
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import backprop
from ladder.workloads.backprop import reference

pytestmark = pytest.mark.xdist_group("backprop")  # its functions are compiled once
NEEDS_GCC = pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc")
IN_C = ("before", "loop_order", "temporaries", "fusion", "associativity")
NEEDS_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: install ladder[peers]")
VARIANTS = [
    *(pytest.param(name, marks=NEEDS_GCC) for name in (*IN_C, "openmp", "tuned")),
    "blas",
    "numpy_loop",
    pytest.param("pytorch", marks=NEEDS_TORCH),
]
LAYERS = ("784-56-28-10", "784-20-10", "784-33-17-9-10")
DTYPES = ("float64", "float32")
exhaustive = functools.partial(pytest.param, marks=pytest.mark.exhaustive)
SMALL = {"layers": "784-13-7-10", "images": 130, "epochs": 3, "rate": 0.005, "source": "digits"}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    write_digits(folder)
    return dataset.load(folder)


def complete(**changes):
    return workloads.complete("backprop", SMALL | changes)


@pytest.fixture(scope="module")
def exact(digits):
    """References by sizes, each computed once."""
    known = {}

    def of(sizes):
        key = tuple(backprop.reference_sizes(sizes).items())
        if key not in known:
            known[key] = reference.compute(sizes, digits)
        return known[key]

    return of


def tuning_of(variant):
    if variant in IN_C:
        return {}
    return {"threads": 2} | ({"schedule": "dynamic"} if variant == "openmp" else {})


def problem_of(sizes, variant="blas"):
    return make_problem(backprop, Case("backprop", variant, sizes, tuning_of(variant)), elementary.guarded_host())


def failures(sizes, digits, exact, run, problem, before=lambda round: None):
    """The names of the checks that fail, over all epochs, of what `run` makes of a problem."""
    found = []
    for round in range(backprop.rounds(sizes)):
        backprop.fill(problem.inputs, sizes, round, digits)
        before(round)
        validation.poison(problem.outputs)
        run()
        validation.require_finite(problem.outputs, problem.output_kinds)
        arguments = problem.inputs, problem.outputs, round, digits, exact(sizes), sizes["dtype"]
        found += [check.name for check in backprop.check(sizes, *arguments)[0] if not check.passed]
    return found


def trained(sizes, digits, exact, variant, **tuning):
    """The checks that a variant fails."""
    problem = problem_of(sizes, variant)
    module = workloads.load_variant("backprop", variant)
    backprop.fill(problem.inputs, sizes, 0, digits)
    steps = Steps.of(module.setup(problem, **tuning_of(variant), **tuning))
    found = failures(sizes, digits, exact, steps.timed(), problem)
    assert elementary.are_whole(problem.device.guards), "what lies behind an array is written to"
    return found


@pytest.mark.parametrize("layers", LAYERS)
def test_gradients_are_finite_differences(layers):
    sizes = complete(layers=layers)
    draw = np.random.default_rng(3)
    x, t = draw.random((5, 784)), np.eye(10)[draw.integers(0, 10, 5)]
    weights = reference.initial_weights(sizes)
    _, gradient = reference.gradients(weights, x, t)
    for layer, at in ((0, (0, 3)), (0, (400, 1)), (len(weights) - 1, (0, 9)), (len(weights) - 1, (3, 2))):
        ends = []
        for step in (1e-5, -1e-5):
            moved = [each.copy() for each in weights]
            moved[layer][at] += step
            ends.append(reference.gradients(moved, x, t)[0])
        assert gradient[layer][at] == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-5, abs=1e-9)


def test_sums_in_order_of_nearly_equal_terms_are_off_by_more_than_random_errors():
    ones, terms = np.ones((60000, 1)), -0.125 * (1 + 1e-3 * np.random.default_rng(1).random((60000, 10)))
    random = reference.NOISE * np.abs(terms.sum(axis=0)).max() * len(terms) ** 0.5
    for first in (np.zeros(10), np.full(10, 3e5)):
        found = reference.sequential_sum_errors(ones, terms, first[None])
        in_order = functools.reduce(np.add, terms.astype(np.float32), first.astype(np.float32))
        assert found[0] == pytest.approx(in_order - first - terms.sum(axis=0))
        assert np.abs(found).max() > validation.CONFIDENCE * random


def test_the_error_falls_in_every_epoch(digits, exact):
    sizes = complete(images=1000, epochs=6, rate=0.001)
    error = exact(sizes)["error"]
    assert (np.diff(error) < 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layers", [LAYERS[-1], *map(exhaustive, LAYERS[:-1])])
@pytest.mark.parametrize("images", [17, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 1000))])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_follows_the_trajectory(digits, exact, variant, layers, images, dtype):
    sizes = complete(layers=layers, images=images, dtype=dtype, rate=1 / images, epochs=2)
    assert trained(sizes, digits, exact, variant) == []


@NEEDS_GCC
@pytest.mark.parametrize("flags", ["O2", "O3", "unroll", "fast", "all", "bounds"])
@pytest.mark.parametrize(
    "variant",
    ["before", *map(exhaustive, (*IN_C[1:], "openmp", "tuned"))],
)
def test_flags_keep_the_trajectory(digits, exact, variant, flags):
    assert trained(complete(), digits, exact, variant, flags=flags) == []


@NEEDS_GCC
@pytest.mark.parametrize("variant", IN_C)
def test_bounds_checks_have_nothing_to_check(variant):
    """The paper says so: no check is made, since of a pointer no bounds are known."""
    flags = [one for one in libraries.options("dtype=float32,flags=bounds") if not one.endswith("-trap-on-error")]
    told = ["gcc", *flags, "-S", "-o", "-", libraries.source_of("backprop", variant)]
    assert "__ubsan" not in subprocess.run(told, capture_output=True, text=True, check=True).stdout


@NEEDS_GCC
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("flags", ["native", pytest.param("O2", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("vector", "block"), [(32, 17), *(pytest.param(*one, marks=pytest.mark.slow) for one in [(64, 4096), (16, 1)])]
)
def test_tiles_and_blocks_of_any_size_are_right(digits, exact, vector, block, flags, dtype):
    """Layers that take several strips of tiles, and such as fill no vector."""
    sizes = complete(layers="784-129-3-65-10", dtype=dtype)
    assert trained(sizes, digits, exact, "tuned", vector=vector, block=block, flags=flags) == []


@NEEDS_GCC
def test_the_bits_are_the_same_whichever_thread_takes_a_part(digits):
    sizes, ends = complete(images=1400, dtype="float32"), set()
    problem = problem_of(sizes, "tuned")
    run = Steps.of(workloads.load_variant("backprop", "tuned").setup(problem, threads=7, block=17)).timed()
    for _ in range(20):
        backprop.fill(problem.inputs, sizes, 0, digits)
        run()
        ends.add(b"".join(array.tobytes() for array in (problem.error, problem.w1, problem.dw3)))
    assert len(ends) == 1


@NEEDS_TORCH
@pytest.mark.parametrize("gradients", ["autograd", "by_hand"])
@pytest.mark.parametrize("block", [17, 65536])
def test_pytorch_is_right_in_every_form(digits, exact, gradients, block):
    assert trained(complete(), digits, exact, "pytorch", gradients=gradients, block=block) == []


@NEEDS_GCC
@pytest.mark.parametrize("simd", [0, 1])
@pytest.mark.parametrize("update", ["accumulators", "owner", "atomic"])
@pytest.mark.parametrize("error", ["reduction", "atomic"])
def test_every_way_to_add_up_over_patterns_is_right(digits, exact, error, update, simd):
    assert trained(complete(), digits, exact, "openmp", error=error, update=update, simd=simd) == []


@pytest.mark.parametrize("block", [1, 17, 130, 4096])
def test_blocks_of_any_size_are_right_in_blas(digits, exact, block):
    assert trained(complete(), digits, exact, "blas", block=block) == []


def test_no_size_or_tuning_has_the_name_of_a_number_of_the_curve():
    tunings = {name for variant in workloads.variants("backprop") for name in workloads.tunings("backprop", variant)}
    assert not {*backprop.SIZES, *tunings} & set(backprop.CURVE)


def test_patterns_are_visited_in_another_order_in_every_epoch_and_some_never():
    sizes = complete()
    orders = [reference.ranpat(sizes, epoch) for epoch in range(2)]
    assert sorted(orders[0]) == sorted(orders[1])
    assert not np.array_equal(*orders)
    assert len(set(orders[0])) == 130
    assert not set(reference.positions(sizes)[130:]) & set(orders[0])
    assert set(range(130)) != set(orders[0])


def faulty(fault):
    """A run of one epoch in NumPy with a fault, for a problem."""

    def run(problem, sizes):
        count = len(reference.widths(sizes)) - 1
        weights, steps = ([getattr(problem, f"{name}{layer}") for layer in range(1, count + 1)] for name in ("w", "dw"))
        rows = np.arange(len(problem.ranpat)) if fault == "ranpat ignored" else problem.ranpat
        x, t = (array[rows].astype(np.float64) for array in (problem.images, problem.targets))
        double = [each.astype(np.float64) for each in weights]
        error, gradient = reference.gradients(double, x, t)
        if fault == "bias row skipped":
            for each in gradient:
                each[0] = 0
        used = sizes | ({"momentum": 0.0} if fault == "momentum dropped" else {})
        new, changes = reference.step(used, double, [each.astype(np.float64) for each in steps], gradient)
        for each, change, weight, step in zip(new, changes, weights, steps, strict=True):
            weight[...] = each + change if fault == "update applied twice" else each
            step[...] = change
        if fault == "float32 as float64":
            for array in (*weights, *steps):
                array[...] = array.astype(np.float32)
        if fault == "error after the update":
            error = reference.gradients([each.astype(np.float64) for each in weights], x, t)[0]
        problem.error[0] = error

    return run


FAULTS = {
    None: set(),
    "ranpat ignored": {"dw1", "w1"},
    "momentum dropped": {"dw1", "w1"},
    "bias row skipped": {"dw1", "w1"},
    "update applied twice": {"w1"},
    "error after the update": {"error"},
    "float32 as float64": {"w1", "dw1"},
}


@pytest.mark.parametrize("images", [17, 1000])
@pytest.mark.parametrize(
    ("fault", "dtype"),
    [(fault, dtype) for fault in FAULTS for dtype in DTYPES if (fault, dtype) != ("float32 as float64", "float32")],
)
def test_a_fault_is_noticed(digits, exact, fault, dtype, images):
    sizes = complete(images=images, rate=1 / images, dtype=dtype)
    problem = problem_of(sizes)
    found = failures(sizes, digits, exact, lambda: faulty(fault)(problem, sizes), problem)
    assert FAULTS[fault] <= set(found)
    assert bool(found) == bool(fault)


def test_training_goes_on_bit_by_bit_from_weights_and_steps_that_were_kept(digits):
    """What an epoch leaves is all that the next one needs."""
    sizes = complete(dtype="float32")
    ends = []
    for breaks in (False, True):
        problem = problem_of(sizes)
        for round in range(3):
            if breaks and round:
                kept = {name: array.copy() for name, array in problem.inputs.items()}
                problem = problem_of(sizes)
                for name, array in kept.items():
                    problem.inputs[name][...] = array
            backprop.fill(problem.inputs, sizes, round, digits)
            in_order(Steps.of(workloads.load_variant("backprop", "blas").setup(problem, threads=2)).run)()
        ends.append({name: array.copy() for name, array in problem.inputs.items()})
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in ends[0])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"layers": "784"}, "must be widths joined by '-'"),
        ({"layers": "784-0-10"}, "must be widths joined by '-'"),
        ({"layers": "783-10"}, "must begin with the 784 pixels"),
        ({"images": 1438}, "images=1438 of backprop is more than digits has"),
        ({"momentum": 1}, "momentum=1.0 of backprop must be below 1"),
        ({"rate": 0}, "rate=0 of backprop must be a number above 0"),
    ],
)
def test_trainings_that_make_no_sense_are_refused(changes, sentence):
    with pytest.raises(LadderError) as error:
        complete(**changes)
    assert sentence in str(error.value)
