"""A stand-in for CuPy and NCCL without a GPU: arrays lie on the host, and streams work as late as they may.

What was put into a stream is done when somebody waits for it, so that a missing wait shows as a wrong result. NCCL
sends by MPI, and NumPy multiplies in the place of cuBLAS; kernels do nothing, and a `matmul` takes 10 ms. The cards are
those that CUDA_VISIBLE_DEVICES names. The variable LADDER_FAULT says what fails, with CuPy's classes and CUDA's words.
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

FAULT = os.environ.get("LADDER_FAULT", "none")
CACHE_BYTES = 2**20
FREE, TOTAL = 1000, 5000


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
            return np.copyto(self, values)
        assert not stream.taken, "CuPy refuses to copy from the host while capturing"
        stream.later(lambda: np.copyto(self, values))

    def get(self, out=None, stream=None, blocking=True):
        if stream is None:
            current().synchronize()
            return np.array(self)
        assert not blocking
        assert not stream.taken
        stream.later(lambda: np.copyto(out, self))


def empty(shape, dtype):
    if FAULT == "arrays":
        raise OutOfMemoryError("Out of memory allocating 8,192 bytes (allocated so far: 4,096 bytes).")
    return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 0, dtype).view(Array)


class Line:
    """Work that is done in order; that of a graph is `kept`, to be done again."""

    def __init__(self, kept):
        self.kept, self.work, self.done = kept, [], 0

    def do(self, end):
        while self.done < end:
            work = self.work[self.done]
            if not self.kept:
                self.work[self.done] = None
            self.done += 1
            work()


class Wait(NamedTuple):
    """Work that has what was recorded in another line until then done."""

    line: Line
    place: int

    def __call__(self):
        self.line.do(self.place)


class Event:
    """A place in a line, and when it was reached; until it is recorded there is nothing to wait for."""

    def __init__(self, disable_timing=False):
        self.line, self.place = Line(kept=False), 0

    def record(self, stream=None):
        stream = stream or current()
        stream.later(Stamp(self))
        self.line = stream.taken or stream.line
        self.place = len(self.line.work)

    def synchronize(self):
        self.line.do(self.place)


class Stamp(NamedTuple):
    """Work that notes when an event is reached."""

    event: Event

    def __call__(self):
        self.event.seconds = time.perf_counter()


class Entered(threading.local):
    """The streams and the cards that a thread has entered."""

    def __init__(self):
        self.streams, self.cards = [], [0]


def current():
    """The stream into which a thread puts its work."""
    return (entered.streams or [default])[-1]


# All streams by their number, in the order in which they are waited for, and those of a graph that is being captured.
streams, turns, captured = [], [], []
entered, making = Entered(), threading.Lock()
order = random.Random(1)


class Stream:
    def __init__(self, non_blocking):
        assert non_blocking
        self.line, self.card = Line(kept=False), entered.cards[-1]
        self.taken = None  # what is put into it while it is captured
        with making:
            self.ptr = len(streams)
            streams.append(self)
            turns.append(self)

    def later(self, work):
        (self.taken or self.line).work.append(work)

    def begin_capture(self):
        assert not captured
        self.join()

    def join(self):
        self.taken = Line(kept=True)
        captured.append(self)

    def end_capture(self):
        graph = Graph([stream.taken for stream in captured])
        for stream in captured:
            stream.taken = None
        captured.clear()
        return graph

    def record(self):
        event = Event()
        event.record(self)
        return event

    def wait_event(self, event):
        if event.line.kept and not self.taken:
            self.join()
        assert event.line.kept == bool(self.taken), "CUDA refuses a graph that waits for what isn't in it"
        self.later(Wait(event.line, event.place))

    def synchronize(self):
        assert not self.taken, "CUDA refuses to wait while capturing"
        self.line.do(len(self.line.work))

    def __enter__(self):
        assert self.card == entered.cards[-1], "CUDA refuses a kernel in a stream of another card"
        entered.streams.append(self)

    def __exit__(self, *error):
        entered.streams.pop()


class Graph:
    """Of the lines of streams, the first one's begins and ends it."""

    def __init__(self, lines):
        self.lines = lines

    def do(self):
        for line in self.lines:
            line.done = 0
        self.lines[0].do(len(self.lines[0].work))
        left = [work for line in self.lines for work in line.work[line.done :]]
        ended = all(isinstance(work, Wait | Stamp) for work in left)
        assert ended, "CUDA refuses a graph with work for which its first stream doesn't wait"

    def launch(self):
        current().later(self.do)


default = Stream(non_blocking=True)


def memcpy(target, source, size, kind, stream):
    streams[stream].later(lambda: ctypes.memmove(target, source, size))


def synchronize(card):
    """No stream of a card is known to be before another."""
    with making:
        order.shuffle(turns)
        own = [stream for stream in turns if stream.card == card]
    for stream in own:
        stream.synchronize()


KINDS = {7: ctypes.c_float, 8: ctypes.c_double}
group = None


def at(pointer, count, kind):
    return np.ctypeslib.as_array((KINDS[kind] * count).from_address(pointer))


class NcclCommunicator:
    def __init__(self, size, name, rank):
        from mpi4py import MPI

        self.world = MPI.COMM_WORLD.Dup()
        assert (size, rank, name) == (self.world.size, self.world.rank, "name")

    def later(self, stream, begin):
        """`begin` gives a request; those of a group begin together."""
        if group is None:
            streams[stream].later(lambda: begin().Wait())
        else:
            group.append((stream, begin))

    def send(self, pointer, count, kind, peer, stream):
        self.later(stream, lambda: self.world.Isend(at(pointer, count, kind), peer))

    def recv(self, pointer, count, kind, peer, stream):
        self.later(stream, lambda: self.world.Irecv(at(pointer, count, kind), peer))

    def bcast(self, pointer, count, kind, root, stream):
        self.later(stream, lambda: self.world.Ibcast(at(pointer, count, kind), root))


def group_start():
    global group
    group = []


def group_end():
    global group
    begun, group = group, None

    def work():
        for request in [begin() for _, begin in begun]:
            request.Wait()

    if begun:
        streams[begun[0][0]].later(work)


def matmul(a, b, out):
    def work():
        time.sleep(0.01)
        np.matmul(a, b, out=out)

    current().later(work)


def launch(*arguments, **options):
    if FAULT == "launch":
        raise CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")


def RawKernel(source, name):
    return lambda *arguments: None


def RawModule(path, enable_cooperative_groups=False):
    return SimpleNamespace(get_function=lambda name: launch)


def product(matrix, x, y):
    return lambda: current().later(lambda: matrix.dot(x, out=y))


def count():
    """How many cards are visible: of a rank its own alone."""
    if FAULT == "driver":
        raise CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    if FAULT == "device":
        raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
    return len(os.environ["CUDA_VISIBLE_DEVICES"].split(","))


def properties(number):
    return {"name": b"no card", "l2CacheSize": CACHE_BYTES}


def place(number):
    """A card's place on the bus, by its number or the end of its UUID."""
    end = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[number].rpartition("-")[2]
    return f"0000:{int(end) if end.isdecimal() else 0:02x}:00.0"


nccl = ModuleType("cupy.cuda.nccl")
nccl.available = True
nccl.NCCL_FLOAT32, nccl.NCCL_FLOAT64 = 7, 8
nccl.get_unique_id = lambda: "name"
nccl.NcclCommunicator, nccl.groupStart, nccl.groupEnd = NcclCommunicator, group_start, group_end

cuda = ModuleType("cupy.cuda")
cuda.nccl, cuda.Stream, cuda.Event, cuda.get_current_stream = nccl, Stream, Event, current
cuda.get_elapsed_time = lambda start, end: 1e3 * (end.seconds - start.seconds)


class Device:
    compute_capability, attributes = "90", {"L2CacheSize": CACHE_BYTES}

    def __init__(self, number=None):
        self.id = entered.cards[-1] if number is None else number
        assert self.id in range(count()), "CUDA refuses a card that isn't visible"

    def __enter__(self):
        entered.cards.append(self.id)
        return self

    def __exit__(self, *error):
        entered.cards.pop()

    def use(self):
        entered.cards[-1] = self.id

    def synchronize(self):
        synchronize(self.id)


def lock(address, size, flags):
    assert address not in locked, "CUDA refuses to lock pages twice"
    locked.add(address)


locked = set()
cuda.Device = Device
cuda.runtime = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, getDeviceCount=count, memcpyAsync=memcpy)
cuda.runtime.memcpyHostToDevice, cuda.runtime.memcpyDeviceToHost = 1, 2
cuda.runtime.getDeviceProperties, cuda.runtime.deviceGetPCIBusId = properties, place
cuda.runtime.memGetInfo = lambda: (FREE, TOTAL)
cuda.runtime.hostRegister, cuda.runtime.hostUnregister = lock, locked.remove
sys.modules |= {"cupy.cuda": cuda, "cupy.cuda.nccl": nccl}
gpus.product = product
nccl_cublas.BUFFER_BYTES = 2**15  # bytes, so that small matrices travel in several parts too
