"""Where a variant's arrays live and which clock is valid there: one module per device, all with the same functions."""

import importlib

from ladder.catalogue import workloads
from ladder.errors import LadderError

NAMES = ("host", "cuda", "mpi", "mpi_cuda", "offload")


def load(name):
    """The module of a device."""
    if name not in NAMES:
        raise LadderError(f"There is no device {name!r}: DEVICE must be one of {', '.join(NAMES)}.")
    return importlib.import_module(f"ladder.devices.{name}")


def require_known(workload, variant):
    """Refuse a variant whose DEVICE is not one of NAMES."""
    device = workloads.constants(workload, variant)["DEVICE"]
    if device not in NAMES:
        path = workloads.variant_path(workload, variant)
        raise LadderError(f"{path} has DEVICE = {device!r}: it must be one of {', '.join(NAMES)}.")


def of(case):
    """The module of the device on which a case is timed."""
    return load(workloads.device(case))
