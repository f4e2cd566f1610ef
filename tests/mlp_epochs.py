"""Trainings of `mlp` by a variant for a GPU: on a GPU, or by kernels that were compiled for the CPU."""

import functools

import numpy as np

import emulator
from backprop_epochs import digits
from ladder.catalogue import workloads
from ladder.harness.steps import Steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import mlp
from ladder.workloads.mlp import reference

SMALL = {"layers": "784-17-10", "images": 50, "batch": 20, "epochs": 2, "rate": 0.5, "source": "digits"}


@functools.cache
def compute_reference(sizes):
    """The reference for sizes, given as (name, value) pairs, because a cached function needs hashable arguments."""
    return reference.compute(dict(sizes), digits())


def train(variant, tuning, dtype="float32", device=None, **changes):
    """The names of the checks that fail in any epoch, and the bytes of all results.

    `changes` are to SMALL. Without a device, arrays are on the host, and nothing may be written behind them.
    """
    sizes = workloads.complete("mlp", SMALL | changes) | {"dtype": dtype}
    device = device or emulator.guarded_host()
    problem = make_problem(mlp, Case("mlp", variant, sizes, {}), device)
    staged = device.staging_arrays(problem.inputs)

    def start_round(round):
        written = mlp.fill(staged, sizes, round, digits())
        device.upload({name: staged[name] for name in written}, {name: problem.inputs[name] for name in written})

    # As the harness does: `setup` may run the epoch to capture a graph, so labels and order must be valid. The first
    # round then writes the initial weights again, which the capture may have changed.
    start_round(0)
    steps = Steps.of(workloads.load_variant("mlp", variant).setup(problem, **tuning))
    references, failed = compute_reference(tuple(mlp.reference_sizes(sizes).items())), set()
    for round in range(sizes["epochs"]):
        start_round(round)
        problem.loss.fill(np.nan)
        steps.timed()()
        inputs, outputs = (
            {name: device.to_host(array) for name, array in arrays.items()}
            for arrays in (problem.inputs, problem.outputs)
        )
        checks, _ = mlp.check(sizes, inputs, outputs, round, digits(), references, dtype)
        failed |= {check.name for check in checks if not check.passed}
    assert emulator.are_intact(getattr(device, "guards", [])), "memory behind an array was written"
    return failed, b"".join(array.tobytes() for array in (*inputs.values(), *outputs.values()))
