"""Devices: where a variant's arrays live and which clock is valid there. Each device is a class in its own module.

`Host` defines the interface; the other classes override parts of it.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

from ladder.catalogue import contracts, traits, workloads
from ladder.errors import LadderError, did_you_mean
from ladder.records.case import Case

if TYPE_CHECKING:
    from ladder.devices.host import Host

# {name of a device, and of its module: its class}.
CLASSES = {"host": "Host", "cuda": "Cuda", "mpi": "Mpi", "mpi_cuda": "MpiCuda", "offload": "Offload"}


@functools.cache
def load(name: str) -> Host:
    """The device of this name. Only its module is imported, so that the host needs neither CuPy nor MPI."""
    if name not in CLASSES:
        raise LadderError(f"There is no device {name!r}: DEVICE must be one of {', '.join(CLASSES)}.")
    return getattr(importlib.import_module(f"ladder.devices.{name}"), CLASSES[name])()


def require_known(workload: str, variant: str) -> None:
    """Refuse a variant whose DEVICE is not one of CLASSES."""
    device = workloads.constants(workload, variant)["DEVICE"]
    if device not in CLASSES:
        path = workloads.variant_path(workload, variant)
        line = contracts.definitions(path)["DEVICE"].lineno
        raise LadderError(
            f"`DEVICE` in line {line} of {path} is {device!r}: it must be one of {', '.join(CLASSES)}."
            f"{did_you_mean(device, CLASSES)}"
        )


def of(case: Case) -> Host:
    """The device on which a case is timed."""
    return load(traits.device(case))
