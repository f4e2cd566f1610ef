"""A stand-in for CuPy where there is no GPU: its arrays lie on the host, and the variable LADDER_FAULT says what fails.

The errors have CuPy's classes and CUDA's words. A product in a stream is done when it is waited for, in 10 ms.
"""

import os
import time
from types import SimpleNamespace

import numpy as np

FAULT = os.environ["LADDER_FAULT"]
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


def RawModule(path, enable_cooperative_groups=False):
    return SimpleNamespace(get_function=lambda name: launch)


class Stream:
    """A stream whose work waits, unless it is the default one."""

    def __init__(self, non_blocking):
        self.due = []

    def __enter__(self):
        entered.append(self)

    def __exit__(self, *error):
        entered.pop()

    def do(self, work):
        if self is default:
            work()
        else:
            self.due.append(work)

    def record(self):
        return self

    def wait_event(self, stream):
        while stream.due:
            stream.due.pop(0)()


default = Stream(non_blocking=False)
streams, entered = [], []  # all but the default one; those of which the last is the current one


def new_stream(non_blocking):
    streams.append(Stream(non_blocking))
    return streams[-1]


def current_stream():
    return (entered or [default])[-1]


def synchronize():
    for stream in streams:
        default.wait_event(stream)


def matmul(a, b, out):
    def work():
        time.sleep(0.01)
        np.matmul(a, b, out=out)

    current_stream().do(work)


class Event:
    def record(self):
        self.seconds = time.perf_counter()

    def synchronize(self):
        pass


def properties(number):
    return {"name": b"no card", "l2CacheSize": 2**20}


cuda = SimpleNamespace(
    runtime=SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=count_devices,
        getDeviceProperties=properties,
        deviceGetPCIBusId=lambda number: f"0000:{number:02x}:00.0",
        memGetInfo=lambda: (FREE, TOTAL),
    ),
    Stream=new_stream,
    get_current_stream=current_stream,
    Device=lambda number=0: SimpleNamespace(id=0, use=lambda: None, compute_capability="90", synchronize=synchronize),
    Event=Event,
    get_elapsed_time=lambda start, end: 1e3 * (end.seconds - start.seconds),
)
