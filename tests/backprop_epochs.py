"""Runs and checks of `backprop` by variants for a GPU: on a GPU, or by kernels that were compiled for the CPU."""

import functools
import tempfile
from pathlib import Path

import numpy as np

import emulator
import kernel_cases
from ladder.catalogue import traits, workloads
from ladder.data import dataset
from ladder.data.digits import write as write_digits
from ladder.harness import validation
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.workloads import backprop
from ladder.workloads.backprop import reference

# Networks with none to three hidden layers, of even and odd widths.
LAYERS = ("784-56-28-10", "784-20-10", "784-33-17-9-10", "784-10")
DTYPES = ("float32", "float64")


@functools.cache
def digits():
    """The offline digits."""
    with tempfile.TemporaryDirectory() as folder:
        write_digits(Path(folder))
        return dataset.load(Path(folder))


@functools.cache
def cached_reference(size_items):
    """The reference for sizes, given as (name, value) pairs, because a cached function needs hashable arguments."""
    return reference.compute(dict(size_items), digits())


def case_of(variant, tuning, **sizes):
    sizes = {"layers": LAYERS[0], "images": 17, "epochs": 2, "source": "digits"} | sizes
    return kernel_cases.case("backprop", variant, tuning, **sizes, rate=1 / sizes["images"])


def failed_checks(case, device):
    """The names of the checks that fail, over all epochs."""
    sizes, failed_names = case.sizes, []
    problem, expected = (
        make_problem(backprop, case, device),
        cached_reference(tuple(backprop.reference_sizes(sizes).items())),
    )
    staged = device.staging_arrays(problem.inputs)

    def start_round(round):
        written = backprop.fill(staged, sizes, round, digits())
        device.upload(staged, {name: problem.inputs[name] for name in written})

    # As the harness does: `setup` may run the epoch to capture a graph, so `ranpat`, the order of the images, must be
    # valid.
    start_round(0)
    steps = Steps.of(workloads.load_variant("backprop", case.variant).setup(problem, **case.tuning))
    for round in range(backprop.rounds(sizes)):
        start_round(round)
        validation.poison(problem.outputs)
        chain_steps(steps.prepare)()
        steps.timed()()
        inputs, outputs = (
            {name: device.to_host(array) for name, array in arrays.items()}
            for arrays in (problem.inputs, problem.outputs)
        )
        checks, _ = backprop.check(sizes, inputs, outputs, round, digits(), expected, traits.precision(case))
        failed_names += [check.name for check in checks if not check.passed]
    return failed_names


def emulated_failed_checks(case):
    """`failed_checks` of kernels that run on the CPU; also asserts that nothing is written beyond an array."""
    device = emulator.device()
    failed_names = failed_checks(case, device)
    assert all(np.isnan(guard).all() or guard.dtype.kind == "i" for guard in device.guards)
    return failed_names
