"""Train a network outside of any measurement, epoch by epoch, from initial weights or from a saved state.

A workload that can be trained has STATEFUL, an epoch as its round, one output whose mean is the error of the epoch, and
`state(sizes)`, the names of the inputs that an epoch changes for the next one. These are saved; everything else follows
from the sizes. A restarted training ends with the same bits as an uninterrupted one if its variant sums in a fixed
order: on one thread, or without atomics and dynamic schedules.
"""

import io
import json
from typing import NamedTuple

import numpy as np

from ladder import devices
from ladder.catalogue import datasets, traits, workloads
from ladder.errors import LadderError, pluralize
from ladder.harness import archives
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.records.files import write_atomically


class State(NamedTuple):
    """The state of a training after `epochs` epochs: arrays by name."""

    epochs: int
    arrays: dict


class Training:
    """A case whose epochs are run one after the other; `epochs` is the number completed so far."""

    def __init__(self, case, data, state=None):
        """`data` holds the paths of data sets by name. Raises LadderError if the case can't be trained."""
        self.case, self.workload, self.device = case, workloads.load(case.workload), devices.of(case)
        variant = workloads.load_variant(case.workload, case.variant)
        name = self.workload.data_set(case.sizes)
        self.data = datasets.load(self.workload, data[name]) if name else None
        self.problem = make_problem(self.workload, case, self.device, variant)
        self.staged = self.device.staging_arrays(self.problem.inputs)
        self.upload(self.workload.fill(self.staged, case.sizes, 0, self.data))
        self.epochs = 0
        if state:
            self.epochs = state.epochs
            for name, array in state.arrays.items():
                self.staged[name][...] = array
            self.upload(state.arrays)
        self.steps = Steps.of_variant(variant, self.problem, case.tuning)

    def upload(self, names):
        """Copy the staged arrays of these names to the device."""
        self.device.upload(self.staged, {name: self.problem.inputs[name] for name in names})

    def run_epoch(self):
        """Run the next epoch; returns (error, seconds). Raises LadderError if the error is NaN or infinite."""
        if self.epochs:
            self.upload(self.workload.fill(self.staged, self.case.sizes, self.epochs, self.data))
        chain_steps(self.steps.prepare)()
        seconds = self.device.stopwatch(self.steps.timed())
        self.epochs += 1
        (output,) = self.problem.outputs.values()
        error = float(self.device.to_host(output).astype(np.float64).mean())
        if not np.isfinite(error):
            raise LadderError(f"The error of epoch {self.epochs} is {error}: try a lower rate.")
        return error, seconds

    def state(self):
        """The current State."""
        names = self.workload.state(self.case.sizes)
        return State(self.epochs, {name: self.device.to_host(self.problem.inputs[name]) for name in names})


def require_trainable(case):
    """Refuse a case that isn't a training on the host or one GPU."""
    workload = workloads.load(case.workload)
    if not hasattr(workload, "state"):
        raise LadderError(f"{case.workload} can't be trained: its `__init__.py` has no `state(sizes)`.")
    if traits.device(case) not in ("host", "cuda"):
        raise LadderError(f"{case.workload}/{case.variant} runs on MPI ranks, but `train` has one process.")


def train(case, data, state=None, target_error=0.0):
    """Train until all epochs are done or the error is at most `target_error`.

    Yields (Training, error, seconds) after each epoch.
    """
    with devices.of(case).translate_errors():
        training = Training(case, data, state)
        error = np.inf
        while training.epochs < training.workload.rounds(case.sizes) and error > target_error:
            error, seconds = training.run_epoch()
            yield training, error, seconds


def training_identity(case):
    """What a state belongs to: the workload and all sizes except the number of epochs."""
    return {"workload": case.workload} | {name: value for name, value in case.sizes.items() if name != "epochs"}


def save(path, case, state):
    """Write a State as an .npz file, whole or not at all. Raises LadderError."""
    contents, header = io.BytesIO(), training_identity(case) | {"epochs": state.epochs}
    np.savez(contents, training=json.dumps(header), **state.arrays)
    write_atomically(path, contents.getvalue())


def load(path, case):
    """The State that `save` wrote for this case. Raises LadderError for a broken file or the state of another case."""
    description = "a training written by `train --save`"
    arrays = archives.read(path, description)
    try:
        header = json.loads(str(arrays.pop("training")))
        epochs = header.pop("epochs")
    except archives.READ_ERRORS as error:
        raise LadderError(f"{path} isn't {description}, or is broken: {error}.") from None
    require_same_training(path, header, training_identity(case))
    require_arrays(path, arrays, case)
    if not isinstance(epochs, int) or not 1 <= epochs < case.sizes["epochs"]:
        raise LadderError(
            f"{path} has {pluralize(epochs, 'epoch')}, and the case ends at {case.sizes['epochs']}: raise `epochs`."
        )
    return State(epochs, arrays)


def require_same_training(path, header, expected):
    """Refuse the state of another training."""
    for name, value in expected.items():
        if header.get(name) != value:
            raise LadderError(f"{path} is of another training: its {name} is {header.get(name)!r}, not {value!r}.")


def require_arrays(path, arrays, case):
    """Refuse arrays that are not finite or whose names, shapes or dtypes are not those of the case."""
    workload = workloads.load(case.workload)
    inputs, _ = workload.arrays(case.sizes)
    if extra := sorted(set(arrays) - set(workload.state(case.sizes))):
        raise LadderError(f"{path} is broken: a state of {case.workload} has no {', '.join(extra)}.")
    for name in workload.state(case.sizes):
        shape, dtype = inputs[name]
        array = arrays.get(name)
        if array is None or array.shape != tuple(shape) or array.dtype != dtype or not np.isfinite(array).all():
            raise LadderError(f"{path} is broken: it has no {name} of shape {tuple(shape)} and finite {dtype} numbers.")
