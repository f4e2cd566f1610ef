"""Back-propagation: gradients against finite differences, trajectories of every variant, detection of faults.

`ranpat` lists the rows of the patterns that an epoch visits, in their order.
"""

import functools
import shutil
import subprocess
import timeit
from importlib.util import find_spec

import numpy as np
import pytest

import emulator
from ladder.build import libraries
from ladder.catalogue import setup_arguments, workloads
from ladder.data import dataset
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import backprop
from ladder.workloads.backprop import reference

pytestmark = pytest.mark.xdist_group("backprop")  # its functions are compiled once
NEEDS_GCC = pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc")
C_VARIANTS = ("before", "loop_order", "contiguous", "temporaries", "fusion", "associativity")
NEEDS_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
VARIANTS = [
    *(pytest.param(name, marks=NEEDS_GCC) for name in (*C_VARIANTS, "openmp", "tuned")),
    "blas",
    "numpy_loop",
    pytest.param("pytorch", marks=NEEDS_TORCH),
]
LAYERS = ("784-56-28-10", "784-20-10", "784-33-17-9-10")
DTYPES = ("float64", "float32")
exhaustive = functools.partial(pytest.param, marks=pytest.mark.exhaustive)
SMALL_SIZES = {"layers": "784-13-7-10", "images": 130, "epochs": 3, "rate": 0.005, "source": "digits"}


@pytest.fixture(scope="module")
def digits(digits_folder):
    return dataset.load(digits_folder)


def sizes_of(**changes):
    return workloads.complete("backprop", SMALL_SIZES | changes)


@pytest.fixture(scope="module")
def compute_reference(digits):
    """A function from sizes to their reference, which is computed once."""
    references = {}

    def compute_reference(sizes):
        key = tuple(backprop.reference_sizes(sizes).items())
        if key not in references:
            references[key] = reference.compute(sizes, digits)
        return references[key]

    return compute_reference


def tuning_of(variant):
    """The tuning of a variant for which no other is given."""
    if variant in C_VARIANTS:
        return {}
    return {"threads": 2} | ({"schedule": "dynamic"} if variant == "openmp" else {})


def problem_of(sizes, variant="blas"):
    return make_problem(backprop, Case("backprop", variant, sizes, tuning_of(variant)), emulator.guarded_host())


def failed_checks_of_run(sizes, digits, compute_reference, run, problem):
    """Run all epochs of a problem by `run()`, one epoch a call; returns the names of the checks that fail."""
    failed = []
    for round in range(backprop.rounds(sizes)):
        backprop.fill(problem.inputs, sizes, round, digits)
        validation.poison(problem.outputs)
        run()
        validation.require_finite(problem.outputs, problem.output_kinds)
        arguments = problem.inputs, problem.outputs, round, digits, compute_reference(sizes), sizes["dtype"]
        failed += [check.name for check in backprop.check(sizes, *arguments)[0] if not check.passed]
    return failed


def failed_checks(sizes, digits, compute_reference, variant, **tuning):
    """The names of the checks that a variant fails."""
    problem = problem_of(sizes, variant)
    module = workloads.load_variant("backprop", variant)
    backprop.fill(problem.inputs, sizes, 0, digits)
    steps = Steps.of(module.setup(problem, **tuning_of(variant), **tuning))
    failed = failed_checks_of_run(sizes, digits, compute_reference, steps.timed(), problem)
    assert emulator.are_intact(problem.device.guards), "a variant writes behind an array"
    return failed


@pytest.mark.parametrize("layers", LAYERS)
def test_gradients_are_finite_differences(layers):
    sizes = sizes_of(layers=layers)
    rng = np.random.default_rng(3)
    images, targets = rng.random((5, 784)), np.eye(10)[rng.integers(0, 10, 5)]
    weights = reference.initial_weights(sizes)
    _, gradient = reference.gradients(weights, images, targets)
    # (layer, (row, unit)); row 0 has the biases.
    for layer, index in ((0, (0, 3)), (0, (400, 1)), (len(weights) - 1, (0, 9)), (len(weights) - 1, (3, 2))):
        errors = []
        for step in (1e-5, -1e-5):
            changed = [w.copy() for w in weights]
            changed[layer][index] += step
            errors.append(reference.gradients(changed, images, targets)[0])
        assert gradient[layer][index] == pytest.approx((errors[1] - errors[0]) / 2e-5, rel=1e-5, abs=1e-9)


def test_sequential_sums_of_nearly_equal_terms_have_larger_errors_than_random_rounding():
    """The sums begin with 0, or with a number much larger than all terms together."""
    ones, terms = np.ones((60000, 1)), -0.125 * (1 + 1e-3 * np.random.default_rng(1).random((60000, 10)))
    random_error = reference.NOISE * np.abs(terms.sum(axis=0)).max() * len(terms) ** 0.5
    for first in (np.zeros(10), np.full(10, 3e5)):
        errors = reference.sequential_sum_errors(ones, terms, first[None])
        in_order = functools.reduce(np.add, terms.astype(np.float32), first.astype(np.float32))
        assert errors[0] == pytest.approx(in_order - first - terms.sum(axis=0))
        assert np.abs(errors).max() > validation.CONFIDENCE * random_error


def test_the_error_falls_in_every_epoch(digits, compute_reference):
    sizes = sizes_of(images=1000, epochs=6, rate=0.001)
    error = compute_reference(sizes)["error"]
    assert (np.diff(error) < 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layers", [LAYERS[-1], *map(exhaustive, LAYERS[:-1])])
@pytest.mark.parametrize("images", [17, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 1000))])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_follows_the_trajectory(digits, compute_reference, variant, layers, images, dtype):
    sizes = sizes_of(layers=layers, images=images, dtype=dtype, rate=1 / images, epochs=2)
    assert failed_checks(sizes, digits, compute_reference, variant) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_hidden_layers_may_be_wider_than_the_images(digits, compute_reference, variant):
    sizes = sizes_of(layers="784-1000-801-10", images=17, rate=1 / 17, epochs=1)
    assert failed_checks(sizes, digits, compute_reference, variant) == []


@NEEDS_GCC
@pytest.mark.parametrize("flags", ["none", "O2", "O3", "unroll", "fast", "all", "study"])
@pytest.mark.parametrize(
    "variant",
    ["before", *map(exhaustive, (*C_VARIANTS[1:], "openmp", "tuned"))],
)
def test_flags_keep_the_trajectory(digits, compute_reference, variant, flags):
    assert failed_checks(sizes_of(), digits, compute_reference, variant, flags=flags) == []


@NEEDS_GCC
@pytest.mark.parametrize("variant", C_VARIANTS)
def test_the_earlier_studys_flag_for_bounds_checks_changes_nothing_in_c(variant):
    """The paper says so, and therefore gives no verdict on this flag."""
    source, options = libraries.source_of("backprop", variant), libraries.options("dtype=float32,flags=study")
    commands = [
        ["gcc", *options, *further_options, "-S", "-o", "-", source] for further_options in ([], ["-fbounds-check"])
    ]
    without, with_flag = (subprocess.run(command, capture_output=True, check=True).stdout for command in commands)
    assert without == with_flag


@pytest.mark.slow
@NEEDS_GCC
def test_the_weight_change_takes_longest_with_the_loop_over_patterns_innermost():
    """Only in `before`, as in the earlier study; in the other two variants all loops run along rows."""
    sizes = sizes_of(layers="784-16-10", images=6000, dtype="float32", rate=1e-4, source="mnist")
    ratios = {name: weight_change_over_the_rest(sizes, name) for name in ("before", "loop_order", "contiguous")}
    assert ratios["before"] > 1.5 * max(ratios["loop_order"], ratios["contiguous"])


def weight_change_over_the_rest(sizes, variant):
    """The time of the weight change over that of all other phases, each the fastest of three, on random images."""
    problem, rng = problem_of(sizes, variant), np.random.default_rng(2)
    for name in ("images", "targets", *backprop.state(sizes)):
        getattr(problem, name)[...] = rng.random(getattr(problem, name).shape)
    problem.ranpat[...] = rng.permutation(len(problem.images))[: sizes["images"]]
    times = {"weight change": 0.0, "rest": 0.0}
    for phase, run in workloads.load_variant("backprop", variant).setup(problem, flags="O2"):
        times[phase if phase in times else "rest"] += min(timeit.repeat(run, number=1, repeat=3))
    return times["weight change"] / times["rest"]


@NEEDS_GCC
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("flags", ["native", pytest.param("O2", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("vector", "block"), [(32, 17), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in [(64, 4096), (16, 1)])]
)
def test_tiles_and_blocks_of_any_size_are_right(digits, compute_reference, vector, block, flags, dtype):
    """With layers of several column strips of tiles, and layers that don't fill a vector."""
    sizes = sizes_of(layers="784-129-3-65-10", dtype=dtype)
    assert failed_checks(sizes, digits, compute_reference, "tuned", vector=vector, block=block, flags=flags) == []


@NEEDS_GCC
def test_results_do_not_depend_on_which_thread_takes_which_part(digits):
    sizes, results = sizes_of(images=1400, dtype="float32"), set()
    problem = problem_of(sizes, "tuned")
    run = Steps.of(workloads.load_variant("backprop", "tuned").setup(problem, threads=7, block=17)).timed()
    for _ in range(20):
        backprop.fill(problem.inputs, sizes, 0, digits)
        run()
        results.add(b"".join(array.tobytes() for array in (problem.error, problem.w1, problem.dw3)))
    assert len(results) == 1


@NEEDS_TORCH
@pytest.mark.parametrize("gradients", ["autograd", "by_hand"])
@pytest.mark.parametrize("block", [17, 65536])
def test_pytorch_is_right_in_every_form(digits, compute_reference, gradients, block):
    assert failed_checks(sizes_of(), digits, compute_reference, "pytorch", gradients=gradients, block=block) == []


@NEEDS_TORCH
@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "block"), [("float64", 17), ("float32", 65536)])
def test_pytorch_is_right_if_compiled(digits, compute_reference, dtype, block, torch_compiler):
    tuning = {"gradients": "by_hand", "compiled": "on", "block": block}
    assert failed_checks(sizes_of(dtype=dtype), digits, compute_reference, "pytorch", **tuning) == []


@NEEDS_TORCH
def test_pytorch_refuses_to_compile_autograd(digits):
    with pytest.raises(LadderError, match="compiled=on of backprop/pytorch needs gradients=by_hand"):
        workloads.load_variant("backprop", "pytorch").setup(None, threads=1, compiled="on")


@NEEDS_GCC
@pytest.mark.parametrize("simd", [0, 1])
@pytest.mark.parametrize("update", ["accumulators", "owner", "atomic"])
@pytest.mark.parametrize("error", ["reduction", "atomic"])
def test_every_way_to_sum_over_patterns_is_right(digits, compute_reference, error, update, simd):
    assert failed_checks(sizes_of(), digits, compute_reference, "openmp", error=error, update=update, simd=simd) == []


@pytest.mark.parametrize("block", [1, 17, 130, 4096])
def test_blocks_of_any_size_are_right_in_blas(digits, compute_reference, block):
    assert failed_checks(sizes_of(), digits, compute_reference, "blas", block=block) == []


def test_no_size_or_tuning_has_the_name_of_a_column_of_the_curve():
    variants = workloads.variants("backprop")
    tunings = {name for variant in variants for name in setup_arguments.tunings("backprop", variant)}
    assert not {*backprop.SIZES, *tunings} & set(backprop.CURVE)


def test_every_epoch_visits_the_patterns_in_another_order_and_none_that_are_held_out():
    sizes = sizes_of()
    orders = [reference.ranpat(sizes, epoch) for epoch in range(2)]
    assert sorted(orders[0]) == sorted(orders[1])
    assert not np.array_equal(*orders)
    count = sizes["images"]
    assert len(set(orders[0])) == count
    assert not set(reference.positions(sizes)[count:]) & set(orders[0]), "patterns that are held out"
    assert set(range(count)) != set(orders[0]), "the first images of the file"


def faulty_epoch(fault):
    """A function that runs an epoch of a problem in NumPy with a fault."""

    def run(problem, sizes):
        count = len(reference.widths(sizes)) - 1
        weights, changes = (
            [getattr(problem, f"{name}{layer}") for layer in range(1, count + 1)] for name in ("w", "dw")
        )
        rows = np.arange(len(problem.ranpat)) if fault == "ranpat ignored" else problem.ranpat
        images, targets = (array[rows].astype(np.float64) for array in (problem.images, problem.targets))
        float64_weights = [w.astype(np.float64) for w in weights]
        error, gradient = reference.gradients(float64_weights, images, targets)
        if fault == "bias row skipped":
            for derivatives in gradient:
                derivatives[0] = 0
        altered = sizes | ({"momentum": 0.0} if fault == "momentum dropped" else {})
        new_weights, new_changes = reference.update(
            altered, float64_weights, [dw.astype(np.float64) for dw in changes], gradient
        )
        for new_w, new_dw, w, dw in zip(new_weights, new_changes, weights, changes, strict=True):
            w[...] = new_w + new_dw if fault == "update applied twice" else new_w
            dw[...] = new_dw
        if fault == "float32 as float64":
            for array in (*weights, *changes):
                array[...] = array.astype(np.float32)
        if fault == "error after the update":
            error = reference.gradients([w.astype(np.float64) for w in weights], images, targets)[0]
        problem.error[0] = error

    return run


# {fault: the checks that must notice it}; None is a correct epoch.
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
def test_a_fault_is_detected(digits, compute_reference, fault, dtype, images):
    sizes = sizes_of(images=images, rate=1 / images, dtype=dtype)
    problem = problem_of(sizes)
    failed = failed_checks_of_run(
        sizes, digits, compute_reference, lambda: faulty_epoch(fault)(problem, sizes), problem
    )
    assert FAULTS[fault] <= set(failed)
    assert bool(failed) == bool(fault)


def test_a_resumed_training_has_the_bits_of_an_uninterrupted_one(digits):
    """The inputs after an epoch are the whole state of a training."""
    sizes = sizes_of(dtype="float32")
    results = []
    for is_interrupted in (False, True):
        problem = problem_of(sizes)
        for round in range(3):
            if is_interrupted and round:
                saved = {name: array.copy() for name, array in problem.inputs.items()}
                problem = problem_of(sizes)
                for name, array in saved.items():
                    problem.inputs[name][...] = array
            backprop.fill(problem.inputs, sizes, round, digits)
            chain_steps(Steps.of(workloads.load_variant("backprop", "blas").setup(problem, threads=2)).run)()
        results.append({name: array.copy() for name, array in problem.inputs.items()})
    assert all(np.array_equal(results[0][name], results[1][name]) for name in results[0])


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
def test_invalid_trainings_are_refused(changes, sentence):
    with pytest.raises(LadderError) as error:
        sizes_of(**changes)
    assert sentence in str(error.value)
