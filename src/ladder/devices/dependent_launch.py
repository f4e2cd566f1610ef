"""Launches of kernels that may begin while the kernel before them ends: CUDA's programmatic dependent launch.

Such a kernel may start once every block of the one before has ended or let it begin (`let_next_begin` in
`include/programmatic_launch.cuh`), and waits for all that it wrote (`wait_for_kernel_before`). What is left of the time
between two kernels is the filling of the multiprocessors. It works in a CUDA graph too.

Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
"""

import ctypes

import numpy as np

from ladder.devices import card, driver
from ladder.errors import LadderError

SINCE = 90  # the compute capability
PROGRAMMATIC_STREAM_SERIALIZATION = 6  # of CUlaunchAttributeID


class Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute, whose value is of 64 bytes."""

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
    """A function that launches a kernel as the kernel itself does, but lets it begin while the one before it ends.

    The kernel waits for the one before by itself. On cards that can't overlap two, it is the kernel itself. The
    function raises LadderError where the driver refuses.
    """
    cupy = card.load_cupy()
    if int(cupy.cuda.Device().compute_capability) < SINCE:
        return kernel

    def launch(grid, block, arguments, shared_mem=0):
        allowed = Attribute(id=PROGRAMMATIC_STREAM_SERIALIZATION, value=1)
        stream = cupy.cuda.get_current_stream().ptr
        how = Configuration(by_axis(grid), by_axis(block), shared_mem, stream, ctypes.pointer(allowed), 1)
        values = [np.asarray(one.data.ptr if isinstance(one, cupy.ndarray) else one) for one in arguments]
        places = (ctypes.c_void_p * len(values))(*[value.ctypes.data for value in values])
        function = ctypes.c_void_p(kernel.kernel.ptr)
        if status := driver.library().cuLaunchKernelEx(ctypes.byref(how), function, places, None):
            raise LadderError(f"The driver refuses to launch {kernel.name} on {grid} blocks: status {status}.")

    return launch


def by_axis(counts):
    """Counts along all three axes."""
    return (ctypes.c_uint * 3)(*counts, *[1] * (3 - len(counts)))
