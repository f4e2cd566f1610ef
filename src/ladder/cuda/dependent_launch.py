"""CUDA's programmatic dependent launch: a kernel may start while the kernel before it ends.

The second kernel may start once every block of the first has ended or called `launch_dependents`. It calls
`wait_for_previous_kernel` before it reads what the first has written. Both functions are in
`workloads/include/ptx/programmatic_launch.cuh`. Such launches work in a CUDA graph too.

Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ladder.cuda import driver, gpus
from ladder.errors import LadderError

MIN_CAPABILITY = 90  # the compute capability 9.0
PROGRAMMATIC_STREAM_SERIALIZATION = 6  # a value of CUlaunchAttributeID


class Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute, whose value has 64 bytes."""

    _fields_ = (
        ("id", ctypes.c_uint),
        ("padding", ctypes.c_uint),
        ("value", ctypes.c_int),
        ("unused", ctypes.c_int * 15),
    )


class Configuration(ctypes.Structure):
    """The driver's CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("attribute_count", ctypes.c_uint),
    )


def launcher(kernel: Any) -> Callable:
    """A function with the arguments of `kernel` that launches it, but lets it start while the kernel before it ends.

    The kernel must call `wait_for_previous_kernel`. On GPUs without this feature, the result is the kernel itself. The
    function raises LadderError if the driver refuses the launch.
    """
    cupy = gpus.load_cupy()
    if int(cupy.cuda.Device().compute_capability) < MIN_CAPABILITY:
        return kernel

    def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...], shared_mem: int = 0) -> None:
        attribute = Attribute(id=PROGRAMMATIC_STREAM_SERIALIZATION, value=1)
        stream = cupy.cuda.get_current_stream().ptr
        config = Configuration(dim3(grid), dim3(block), shared_mem, stream, ctypes.pointer(attribute), 1)
        values = [np.asarray(value.data.ptr if isinstance(value, cupy.ndarray) else value) for value in arguments]
        pointers = (ctypes.c_void_p * len(values))(*[value.ctypes.data for value in values])
        function = ctypes.c_void_p(kernel.kernel.ptr)
        if status := driver.library().cuLaunchKernelEx(ctypes.byref(config), function, pointers, None):
            raise LadderError(f"The driver refuses to launch {kernel.name} on {grid} blocks: status {status}.")

    return launch


def dim3(counts: tuple[int, ...]) -> Any:
    """One, two or three counts as the driver's three, padded with ones."""
    return (ctypes.c_uint * 3)(*counts, *[1] * (3 - len(counts)))
