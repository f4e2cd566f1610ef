"""CUDA's programmatic dependent launch: kernels that may start while the kernel before them ends.

Such a kernel may start once every block of the one before has ended or triggered it (`launch_dependents` in
`include/ptx/programmatic_launch.cuh`), and waits for all that it wrote (`wait_for_previous_kernel`). Only the filling
of the multiprocessors then remains between two kernels. It works in a CUDA graph too.

Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
"""

import ctypes

import numpy as np

from ladder.cuda import driver, gpus
from ladder.errors import LadderError

SINCE = 90  # the compute capability
PROGRAMMATIC_STREAM_SERIALIZATION = 6  # of CUlaunchAttributeID


class Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute, whose value has 64 bytes."""

    _fields_ = (("id", ctypes.c_uint), ("padding", ctypes.c_uint), ("value", ctypes.c_int), ("rest", ctypes.c_int * 15))


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


def overlapping(kernel):
    """A function that launches a kernel as the kernel itself does, but lets it start while the one before it ends.

    The kernel itself must wait for the one before. On GPUs without this feature, the result is the kernel. The function
    raises LadderError if the driver refuses the launch.
    """
    cupy = gpus.load_cupy()
    if int(cupy.cuda.Device().compute_capability) < SINCE:
        return kernel

    def launch(grid, block, arguments, shared_mem=0):
        attribute = Attribute(id=PROGRAMMATIC_STREAM_SERIALIZATION, value=1)
        stream = cupy.cuda.get_current_stream().ptr
        config = Configuration(by_axis(grid), by_axis(block), shared_mem, stream, ctypes.pointer(attribute), 1)
        values = [np.asarray(value.data.ptr if isinstance(value, cupy.ndarray) else value) for value in arguments]
        pointers = (ctypes.c_void_p * len(values))(*[value.ctypes.data for value in values])
        function = ctypes.c_void_p(kernel.kernel.ptr)
        if status := driver.library().cuLaunchKernelEx(ctypes.byref(config), function, pointers, None):
            raise LadderError(f"The driver refuses to launch {kernel.name} on {grid} blocks: status {status}.")

    return launch


def by_axis(counts):
    """Counts along all three axes."""
    return (ctypes.c_uint * 3)(*counts, *[1] * (3 - len(counts)))
