"""A training outside of any measurement: epoch by epoch, from the first weights or from a state that was kept.

A workload that can be trained has STATEFUL, an epoch as its round, one output whose mean is the error of the epoch, and
`state(sizes)`, the names of the inputs that an epoch leaves for the next one. These are what is kept; everything else
follows from the sizes. A training that goes on ends with the same bits as one without a break, where its variant adds
up in an order of its own: on one thread, or where no atomics and no dynamic schedule decide.
"""

import io
import json
from typing import NamedTuple

import numpy as np

from ladder import devices
from ladder.catalogue import datasets, workloads
from ladder.errors import LadderError
from ladder.harness import archives
from ladder.harness.steps import Steps, in_order
from ladder.harness.worker import make_problem
from ladder.records.files import write_atomically


class Kept(NamedTuple):
    """The state after some epochs: how many, and arrays by name."""

    epochs: int
    arrays: dict


class Training:
    """A case whose epochs are run one after the other; `epochs` are those done."""

    def __init__(self, case, data, kept=None):
        """`data` are the paths of data sets by name. Raises LadderError where the case can't be trained."""
        self.case, self.workload, self.device = case, workloads.load(case.workload), devices.of(case)
        variant = workloads.load_variant(case.workload, case.variant)
        name = self.workload.data_set(case.sizes)
        self.data = datasets.load(self.workload, data[name]) if name else None
        self.problem = make_problem(self.workload, case, self.device, variant)
        self.staged = self.device.staging(self.problem.inputs)
        self.write(self.workload.fill(self.staged, case.sizes, 0, self.data))
        self.epochs = 0
        if kept:
            self.epochs = kept.epochs
            for name, array in kept.arrays.items():
                self.staged[name][...] = array
            self.write(kept.arrays)
        self.steps = Steps.of(variant.setup(self.problem, **case.tuning))

    def write(self, names):
        """Bring staged arrays to the device."""
        self.device.upload(self.staged, {name: self.problem.inputs[name] for name in names})

    def epoch(self):
        """(Error, seconds) of the next epoch. Raises LadderError where the error is no number any more."""
        if self.epochs:
            self.write(self.workload.fill(self.staged, self.case.sizes, self.epochs, self.data))
        in_order(self.steps.prepare)()
        seconds = self.device.stopwatch(self.steps.timed())
        self.epochs += 1
        (output,) = self.problem.outputs.values()
        error = float(self.device.to_host(output).astype(np.float64).mean())
        if not np.isfinite(error):
            raise LadderError(f"The error of epoch {self.epochs} is {error}: try a lower rate.")
        return error, seconds

    def kept(self):
        """The state now."""
        names = self.workload.state(self.case.sizes)
        return Kept(self.epochs, {name: self.device.to_host(self.problem.inputs[name]) for name in names})


def require_trainable(case):
    """Refuse a case that isn't a training on this machine's memory or one card."""
    workload = workloads.load(case.workload)
    if not hasattr(workload, "state"):
        raise LadderError(f"{case.workload} can't be trained: its `__init__.py` has no `state(sizes)`.")
    if workloads.device(case) not in ("host", "cuda"):
        raise LadderError(f"{case.workload}/{case.variant} works on ranks of MPI: `train` has one process.")


def train(case, data, kept=None, eps=0.0):
    """Epochs until the case's number is reached, or the error is at most `eps`: yields (Training, error, seconds)."""
    with devices.of(case).translate_errors():
        training = Training(case, data, kept)
        error = np.inf
        while training.epochs < training.workload.rounds(case.sizes) and error > eps:
            error, seconds = training.epoch()
            yield training, error, seconds


def identity(case):
    """What a state belongs to: the workload and all sizes but the number of epochs."""
    return {"workload": case.workload} | {name: value for name, value in case.sizes.items() if name != "epochs"}


def save(path, case, kept):
    """Write a state as an .npz file, whole or not at all. Raises LadderError."""
    contents, about = io.BytesIO(), identity(case) | {"epochs": kept.epochs}
    np.savez(contents, training=json.dumps(about), **kept.arrays)
    write_atomically(path, contents.getvalue())


def load(path, case):
    """The state that `save` wrote for this case. Raises LadderError for another's, and for a broken file."""
    what = "a training that `train --save` has written"
    found = archives.read(path, what)
    try:
        about = json.loads(str(found.pop("training")))
        epochs = about.pop("epochs")
    except archives.BROKEN as error:
        raise LadderError(f"{path} isn't {what}, or is broken: {error}.") from None
    require_same(path, about, identity(case))
    require_arrays(path, found, case)
    if not isinstance(epochs, int) or not 1 <= epochs < case.sizes["epochs"]:
        raise LadderError(f"{path} has {epochs} epochs, and {case.sizes['epochs']} are asked for: raise `epochs`.")
    return Kept(epochs, found)


def require_same(path, about, due):
    """Refuse a state of another training."""
    for name in due:
        if about.get(name) != due[name]:
            raise LadderError(f"{path} is of another training: its {name} is {about.get(name)!r}, not {due[name]!r}.")


def require_arrays(path, found, case):
    """Refuse arrays of other names, shapes or dtypes than the case has, or that aren't numbers."""
    workload = workloads.load(case.workload)
    inputs, _ = workload.arrays(case.sizes)
    if extra := sorted(set(found) - set(workload.state(case.sizes))):
        raise LadderError(f"{path} is broken: a state of {case.workload} has no {', '.join(extra)}.")
    for name in workload.state(case.sizes):
        shape, dtype = inputs[name]
        array = found.get(name)
        if array is None or array.shape != tuple(shape) or array.dtype != dtype or not np.isfinite(array).all():
            raise LadderError(f"{path} is broken: it has no {name} of shape {tuple(shape)} and finite {dtype} numbers.")
