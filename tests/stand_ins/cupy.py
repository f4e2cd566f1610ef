"""A stand-in for CuPy where there is no GPU: its arrays lie on the host, and the variable FAULT says what fails.

The errors have CuPy's classes and CUDA's words.
"""

import os
from types import SimpleNamespace

import numpy as np

FAULT = os.environ["FAULT"]
FREE, TOTAL = 1000, 5000


class CUDARuntimeError(RuntimeError):
    pass


class CUDADriverError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


class Array(np.ndarray):
    def get(self, out=None):
        return np.array(self)

    def set(self, values):
        self[...] = values


def empty(shape, dtype):
    if FAULT == "arrays":
        raise OutOfMemoryError("Out of memory allocating 8,192 bytes (allocated so far: 4,096 bytes).")
    return np.empty(shape, dtype).view(Array)


def count_devices():
    if FAULT == "driver":
        raise CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    if FAULT == "device":
        raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
    return 1


def launch(*arguments, **options):
    if FAULT == "launch":
        raise CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")


def RawKernel(source, name):
    return lambda *arguments: None


def RawModule(path):
    return SimpleNamespace(get_function=lambda name: launch)


cuda = SimpleNamespace(
    runtime=SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError, getDeviceCount=count_devices, memGetInfo=lambda: (FREE, TOTAL)
    ),
    Device=lambda: SimpleNamespace(use=lambda: None, compute_capability="90"),
    Event=lambda: SimpleNamespace(record=lambda: None, synchronize=lambda: None),
    get_elapsed_time=lambda start, end: 1.0,
)
