"""A stand-in for CuPy and NCCL without a GPU: arrays are on the host, and streams work as late as possible.

A stream runs its work only when the host waits for it, so a missing wait shows as a wrong result. NCCL sends by MPI,
and NumPy replaces cuBLAS; kernels do nothing, and a `matmul` takes 10 ms. CUDA_VISIBLE_DEVICES lists the GPUs. The
variable LADDER_FAULT, one of FAULTS, selects what fails, with CuPy's exceptions and CUDA's messages.
"""

import ctypes
import os
import random
import sys
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np

from ladder.workloads.gemv import gpus, nccl_cublas

# What can fail: the driver, the search for a GPU, the allocation of an array, the launch of a kernel.
FAULTS = ("none", "driver", "device", "arrays", "launch")
FAULT = os.environ.get("LADDER_FAULT", "none")
assert FAULT in FAULTS, f"LADDER_FAULT={FAULT} is unknown; known are {FAULTS}"
CACHE_BYTES = 2**20
FREE_BYTES, TOTAL_BYTES = 1000, 5000


class CUDARuntimeError(RuntimeError):
    pass


class CUDADriverError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


class Array(np.ndarray):
    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def set(self, values, stream=None):
        if stream is None:
            current_stream().synchronize()
            return np.copyto(self, values)
        assert not stream.capture, "CuPy refuses to copy from the host while capturing"
        stream.submit(lambda: np.copyto(self, values))

    def get(self, out=None, stream=None, blocking=True):
        if stream is None:
            current_stream().synchronize()
            out = np.empty(self.shape, self.dtype) if out is None else out
            np.copyto(out, self)
            return out
        assert not blocking
        assert not stream.capture
        stream.submit(lambda: np.copyto(out, self))


def empty(shape, dtype):
    if FAULT == "arrays":
        raise OutOfMemoryError("Out of memory allocating 8,192 bytes (allocated so far: 4,096 bytes).")
    return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 0, dtype).view(Array)


class Queue:
    """Functions that run in order, of which `done_count` have run; those of a graph stay, to run again."""

    def __init__(self, is_graph):
        self.is_graph, self.work, self.done_count = is_graph, [], 0

    def run_until(self, end):
        """Run the functions before the position `end`."""
        while self.done_count < end:
            work = self.work[self.done_count]
            if not self.is_graph:
                self.work[self.done_count] = None
            self.done_count += 1
            work()


class Wait(NamedTuple):
    """Work that runs another queue up to an event."""

    queue: Queue
    end: int

    def __call__(self):
        self.queue.run_until(self.end)


class Event:
    """A position in a queue, and the time at which it was reached; before it is recorded, a wait does nothing."""

    def __init__(self, disable_timing=False):
        self.queue, self.end = Queue(is_graph=False), 0

    def record(self, stream=None):
        stream = stream or current_stream()
        stream.submit(Stamp(self))
        self.queue = stream.capture or stream.queue
        self.end = len(self.queue.work)

    def synchronize(self):
        self.queue.run_until(self.end)


class Stamp(NamedTuple):
    """Work that records the time at which an event is reached."""

    event: Event

    def __call__(self):
        self.event.seconds = time.perf_counter()


class ThreadState(threading.local):
    """The stacks of current streams and GPUs of a thread."""

    def __init__(self):
        self.streams, self.gpus = [], [0]


def current_stream():
    """The current stream of a thread."""
    return (thread_state.streams or [default_stream])[-1]


# All streams by number, all streams in random order, and those of a graph that is being captured.
streams, shuffled_streams, captured_streams = [], [], []
thread_state, streams_lock = ThreadState(), threading.Lock()
random_generator = random.Random(1)


class Stream:
    def __init__(self, non_blocking):
        assert non_blocking
        self.queue, self.gpu = Queue(is_graph=False), thread_state.gpus[-1]
        self.capture = None  # the queue of work while the stream is captured
        with streams_lock:
            self.ptr = len(streams)
            streams.append(self)
            shuffled_streams.append(self)

    def submit(self, work):
        (self.capture or self.queue).work.append(work)

    def begin_capture(self):
        assert not captured_streams
        self.join_capture()

    def join_capture(self):
        self.capture = Queue(is_graph=True)
        captured_streams.append(self)

    def end_capture(self):
        graph = Graph([stream.capture for stream in captured_streams])
        for stream in captured_streams:
            stream.capture = None
        captured_streams.clear()
        return graph

    def record(self):
        event = Event()
        event.record(self)
        return event

    def wait_event(self, event):
        if event.queue.is_graph and not self.capture:
            self.join_capture()
        assert event.queue.is_graph == bool(self.capture), "CUDA refuses a graph that waits for what isn't in it"
        self.submit(Wait(event.queue, event.end))

    def synchronize(self):
        assert not self.capture, "CUDA refuses to wait while capturing"
        self.queue.run_until(len(self.queue.work))

    def __enter__(self):
        assert self.gpu == thread_state.gpus[-1], "CUDA refuses a kernel in a stream of another GPU"
        thread_state.streams.append(self)

    def __exit__(self, *error):
        thread_state.streams.pop()


class Graph:
    """The queues of captured streams; the first one begins and ends the graph."""

    def __init__(self, queues):
        self.queues = queues

    def run(self):
        for queue in self.queues:
            queue.done_count = 0
        self.queues[0].run_until(len(self.queues[0].work))
        remaining = [work for queue in self.queues for work in queue.work[queue.done_count :]]
        is_complete = all(isinstance(work, Wait | Stamp) for work in remaining)
        assert is_complete, "CUDA refuses a graph with work for which its first stream doesn't wait"

    def launch(self):
        current_stream().submit(self.run)


default_stream = Stream(non_blocking=True)


def memcpy(target, source, size, kind, stream):
    streams[stream].submit(lambda: ctypes.memmove(target, source, size))


def synchronize(gpu):
    """Run all streams of a GPU in random order, since CUDA defines no order among them."""
    with streams_lock:
        random_generator.shuffle(shuffled_streams)
        streams_of_gpu = [stream for stream in shuffled_streams if stream.gpu == gpu]
    for stream in streams_of_gpu:
        stream.synchronize()


# NCCL's numbers of its types float32 and float64.
NCCL_TYPES = {7: ctypes.c_float, 8: ctypes.c_double}
UNIQUE_ID = "the only communicator"
message_group = None  # within ncclGroupStart and ncclGroupEnd, a list of (stream, function that begins a message)


def array_at(pointer, count, nccl_type):
    return np.ctypeslib.as_array((NCCL_TYPES[nccl_type] * count).from_address(pointer))


class NcclCommunicator:
    def __init__(self, size, unique_id, rank):
        from mpi4py import MPI

        self.world = MPI.COMM_WORLD.Dup()
        assert (size, rank, unique_id) == (self.world.size, self.world.rank, UNIQUE_ID)

    def submit(self, stream, begin):
        """Submit work; `begin` starts a message and returns its request. Messages of a group begin together."""
        if message_group is None:
            streams[stream].submit(lambda: begin().Wait())
        else:
            message_group.append((stream, begin))

    def send(self, pointer, count, nccl_type, peer, stream):
        self.submit(stream, lambda: self.world.Isend(array_at(pointer, count, nccl_type), peer))

    def recv(self, pointer, count, nccl_type, peer, stream):
        self.submit(stream, lambda: self.world.Irecv(array_at(pointer, count, nccl_type), peer))

    def bcast(self, pointer, count, nccl_type, root, stream):
        self.submit(stream, lambda: self.world.Ibcast(array_at(pointer, count, nccl_type), root))


def group_start():
    global message_group
    message_group = []


def group_end():
    global message_group
    messages, message_group = message_group, None

    def work():
        for request in [begin() for _, begin in messages]:
            request.Wait()

    if messages:
        streams[messages[0][0]].submit(work)


def matmul(a, b, out):
    def work():
        end = time.perf_counter() + 0.01  # sleeping would let the core idle, and the host wake up late
        while time.perf_counter() < end:
            pass
        np.matmul(a, b, out=out)

    current_stream().submit(work)


def launch(*arguments, **options):
    if FAULT == "launch":
        raise CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")


def RawKernel(source, name):
    return launch


def RawModule(path, enable_cooperative_groups=False):
    return SimpleNamespace(get_function=lambda name: launch)


def make_product(matrix, x, y):
    return lambda: current_stream().submit(lambda: matrix.dot(x, out=y))


def gpu_count():
    """The number of visible GPUs; a rank sees its GPU only."""
    if FAULT == "driver":
        raise CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    if FAULT == "device":
        raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
    return len(os.environ["CUDA_VISIBLE_DEVICES"].split(","))


def device_properties(number):
    return {"name": b"no GPU", "l2CacheSize": CACHE_BYTES}


def bus_id(number):
    """A GPU's id on the PCI bus, from the end of its UUID or its number."""
    end = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[number].rpartition("-")[2]
    return f"0000:{int(end) if end.isdecimal() else 0:02x}:00.0"


nccl = ModuleType("cupy.cuda.nccl")
nccl.available = True
nccl.NCCL_FLOAT32, nccl.NCCL_FLOAT64 = 7, 8
nccl.get_unique_id = lambda: UNIQUE_ID
nccl.NcclCommunicator, nccl.groupStart, nccl.groupEnd = NcclCommunicator, group_start, group_end

cuda = ModuleType("cupy.cuda")
cuda.nccl, cuda.Stream, cuda.Event, cuda.get_current_stream = nccl, Stream, Event, current_stream
cuda.get_elapsed_time = lambda start, end: 1e3 * (end.seconds - start.seconds)


class Device:
    compute_capability, attributes = "90", {"L2CacheSize": CACHE_BYTES}

    def __init__(self, number=None):
        self.id = thread_state.gpus[-1] if number is None else number
        assert self.id in range(gpu_count()), "CUDA refuses a GPU that isn't visible"

    def __enter__(self):
        thread_state.gpus.append(self.id)
        return self

    def __exit__(self, *error):
        thread_state.gpus.pop()

    def use(self):
        thread_state.gpus[-1] = self.id

    def synchronize(self):
        synchronize(self.id)


def lock_pages(address, size, flags):
    assert address not in locked_pages, "CUDA refuses to lock pages twice"
    locked_pages.add(address)


locked_pages = set()
cuda.Device = Device
cuda.runtime = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, getDeviceCount=gpu_count, memcpyAsync=memcpy)
cuda.runtime.memcpyHostToDevice, cuda.runtime.memcpyDeviceToHost = 1, 2
cuda.runtime.getDeviceProperties, cuda.runtime.deviceGetPCIBusId = device_properties, bus_id
cuda.runtime.memGetInfo = lambda: (FREE_BYTES, TOTAL_BYTES)
cuda.runtime.hostRegister, cuda.runtime.hostUnregister = lock_pages, locked_pages.remove
sys.modules |= {"cupy.cuda": cuda, "cupy.cuda.nccl": nccl}
gpus.product = make_product  # in place of cuBLAS
nccl_cublas.BUFFER_BYTES = 2**15  # bytes, so that small matrices travel in several parts too
