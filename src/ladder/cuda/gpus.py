"""The NVIDIA GPUs that are visible to this process, through CuPy."""

import functools
from typing import Any

from ladder.errors import LadderError
from ladder.machine import nvidia


def import_cupy() -> Any:
    """CuPy. Raises LadderError if it isn't installed."""
    try:
        import cupy
        import cupyx  # noqa: F401
    except ImportError:
        require_gpu()
        raise LadderError("CuPy is not installed: run `make setup GPU=1` in the project's folder.") from None
    return cupy


@functools.cache
def load_cupy() -> Any:
    """CuPy, after a test that it can use a GPU. Raises LadderError with the reason if it can't."""
    cupy = import_cupy()
    try:
        cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.Device().use()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        gpus = nvidia.gpus()
        is_old = "InsufficientDriver" in str(error) and gpus  # CUDA reports a missing driver like this too
        hint = f"update the driver, {gpus[0]['driver']}" if is_old else "`nvidia-smi` must list a GPU"
        raise LadderError(f"There is no GPU to work on: CUDA reports {error}; {hint}.") from None
    return cupy


def require_gpu() -> list[str]:
    """The UUIDs of this machine's GPUs. Raises LadderError if there are none."""
    if uuids := [gpu["uuid"] for gpu in nvidia.gpus()]:
        return uuids
    raise LadderError("There is no GPU to work on: `nvidia-smi` lists none.")


@functools.cache
def device_ids() -> range:
    """The numbers of the GPUs that are visible to this process."""
    return range(load_cupy().cuda.runtime.getDeviceCount())


def synchronize() -> None:
    """Wait until all visible GPUs have finished all work."""
    for number in device_ids():
        load_cupy().cuda.Device(number).synchronize()


def uuid(number: int | None = None) -> str:
    """The UUID of a GPU, by default the current one, as the driver's tools write it, GPU-...

    NVML looks up the UUID by the GPU's address on the PCI bus; without NVML, the result is that address. CuPy's
    UUID can't be used: it is truncated at a zero byte.
    """
    cupy = load_cupy()
    number = cupy.cuda.Device().id if number is None else number
    address = cupy.cuda.runtime.deviceGetPCIBusId(number)
    return nvidia.uuid_at(address) or address


def energy() -> float | None:
    """The energy in J that all visible GPUs have used since the driver was loaded; None if a GPU has no counter."""
    joules = [nvidia.energy(uuid(number)) for number in device_ids()]
    known = [value for value in joules if value is not None]
    return sum(known) if len(known) == len(joules) else None
