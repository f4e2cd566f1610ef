"""The generator on one or more GPUs, from latents to pictures in the caller's arrays in host memory.

The device-to-host copy of a batch overlaps with the next batch (`copies` = hidden), or precedes it (`after`). Its
target is `memory`: the caller's array, which is page-locked when the network is loaded, as a caller might allocate it
(pinned), so that the GPU writes to it directly; a page-locked buffer, from which the host copies (staged), for callers
whose array can't be locked; or the caller's pageable array, for which the driver has a buffer (pageable). Batches
alternate between `streams`, so that blocks of one fill multiprocessors that another leaves idle; with `batches` =
tapered the last batches become smaller, so that the last copy is short, and small ones share the projection and the
first layer. With `graph` a GPU's whole call is one CUDA graph. The images are shared among `gpus` GPUs, with a host
thread for each, the caller's for the first. Bound by the multiply-adds of the layers or by the link, whichever takes
longer.

Page-locking takes longer than drawing. It happens once, untimed, since a caller would reuse the array. Rejected
schedules: `docs/experiments/dcgan.md`.
"""

import functools
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from ladder import cuda
from ladder.cuda.trace import Recorder
from ladder.errors import LadderError
from ladder.harness import traces
from ladder.harness.steps import Steps, in_order
from ladder.workloads.dcgan import card
from ladder.workloads.dcgan.batches import CUTS, images_of, length

DEVICE = "offload"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
KERNELS = ("cuda",)
LIMITS = {"split": (0, 4), "batch": (1, 65535)}
# The numbers of slots of a GPU, and at least of a stream: the batches that are drawn or copied at once.
SLOTS, OF_STREAM = 8, 2


def setup(
    problem,
    *,
    gpus: int = 1,
    memory: Literal["pinned", "staged", "pageable"] = "pinned",
    copies: Literal["hidden", "after"] = "hidden",
    streams: int = 2,
    graph: Literal["off", "on"] = "off",
    first: str = "cuda_implicit",
    last: str = "cuda_window",
    split: int = 3,
    batch: int = 512,
    batches: Literal["even", "tapered"] = "even",
    epilogue: Literal["fused", "folded", "separate"] = "fused",
    math: Literal["default", "tf32", "float16", "bfloat16"] = "default",
    product: str = "cublas",
):
    """The timed run of all GPUs, the loading of the network on each before it, and a trace unless it has many rows.

    Raises LadderError for a graph that would contain copies by the host.
    """
    if graph == "on" and memory != "pinned":
        raise LadderError(f"graph=on needs memory=pinned, but has memory={memory}.")
    latents, pictures = problem.latents, problem.pictures
    if memory == "pinned":
        cuda.lock_pages(latents)
        cuda.lock_pages(pictures)
    how = {"first": first, "last": last, "split": split, "epilogue": epilogue, "math": math, "product": product}
    shares = shares_of(problem.sizes["images"], gpus)

    def begin(number, share):
        with cuda.load_cupy().cuda.Device(number):
            groups = CUTS[batches](share.stop - share.start, batch)
            return Card(number, problem, share, groups, memory, copies, streams, how)

    pool = ThreadPoolExecutor(gpus)
    cards = list(pool.map(begin, range(len(shares)), shares))

    def load():
        for gpu in cards:
            gpu.load(problem.network, graph == "on")

    def trace():
        cuda.synchronize()
        began = time.perf_counter()
        rows = pool.map(lambda gpu: Traced(gpu, began, len(cards) > 1).rows(), cards)
        return [*itertools.chain(*rows)]

    def run():
        others = [pool.submit(gpu.run) for gpu in cards[1:]]
        cards[0].run()  # here, since waking a thread may take longer than a batch
        for other in others:
            other.result()

    lanes = 3 if memory == "staged" else 2
    is_short = lanes * sum(len(gpu.batches) for gpu in cards) <= traces.MAX_ROWS
    return Steps([(None, run)], [("load", load)], trace=trace if is_short else None)


def shares_of(images, gpus):
    """Slices of all images, one per GPU, none empty; their lengths differ by at most one."""
    ends = [images * (number + 1) // gpus for number in range(gpus)]
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False) if end > start]


class Slot(NamedTuple):
    """The buffers that batches are drawn to and, if staged, copied to on the host; `drawn` and `gone` are events."""

    pictures: Any
    staging: Any
    drawn: Any
    gone: Any


class Batch(NamedTuple):
    """A slice of the images, its group's number, `draw()` for one stream, and the stream that copies its slot."""

    images: slice
    group: int
    draw: Callable
    slot: Slot
    stream: Any
    link: Any


class Card:
    """One GPU's generators, buffers and streams, for a share of the images; see `setup`."""

    def __init__(self, number, problem, share, groups, memory, copies, streams, how):
        """`groups` are lists of batches, slices of the share; groups are assigned to streams in turn."""
        cupy, sizes = cuda.load_cupy(), problem.sizes
        self.device, self.memory, self.is_hidden = cupy.cuda.Device(number), memory, copies == "hidden"
        self.home = SimpleNamespace(latents=problem.latents[share], pictures=problem.pictures[share])
        self.network = cuda.empty(problem.network.shape, "float32")
        self.latents = cuda.empty(self.home.latents.shape, "float32")
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(min(streams, len(groups)))]
        self.link, self.call = cupy.cuda.Stream(non_blocking=True), self.enqueue
        self.begun, self.arrived = self.event(), self.event()
        batch = max(length(images_of(group)) for group in groups)
        self.generators = [card.generator(self.network, sizes, batch=batch, **how) for _ in self.streams]
        lengths = [length(part) for group in groups for part in group]
        count = min(len(lengths), max(SLOTS, OF_STREAM * len(self.streams)))
        shape = max(lengths), *problem.pictures.shape[1:]
        self.slots = [self.slot(shape, sizes["pictures"]) for _ in range(count)]
        self.batches = [*self.planned(groups)]

    def slot(self, shape, dtype):
        """A Slot for batches of at most this shape."""
        pictures = cuda.empty(shape, dtype)
        staging = cuda.empty_pinned(pictures.shape, pictures.dtype) if self.memory == "staged" else None
        return Slot(pictures, staging, self.event(), self.event())

    @staticmethod
    def event():
        return cuda.load_cupy().cuda.Event(disable_timing=True)

    def planned(self, groups):
        """The Batches in the order in which they are drawn."""
        slots = itertools.cycle(self.slots)
        lanes = itertools.cycle(zip(self.streams, self.generators, strict=True))
        for number, (group, (stream, generator)) in enumerate(zip(groups, lanes, strict=False)):
            group_slots = [next(slots) for _ in group]
            pictures = [slot.pictures[: length(images)] for slot, images in zip(group_slots, group, strict=True)]
            every = generator.steps(self.latents[images_of(group)], pictures)
            link = self.link if self.is_hidden else stream
            for images, steps, slot in zip(group, every, group_slots, strict=True):
                yield Batch(images, number, in_order(steps), slot, stream, link)

    def load(self, network, graph):
        """Copy the network to the GPU, run the preparation of its layers, and capture the call if `graph` is on."""
        with self.device:
            self.network.set(network)
            for generator in self.generators:
                in_order(generator.prepare)()
            cuda.synchronize()
            if graph and self.call == self.enqueue:
                self.call = cuda.capture(self.enqueue, self.streams[0])

    def run(self):
        """Draw all pictures and wait until they are in the host's array."""
        with self.device, self.streams[0]:
            self.call()
            self.streams[0].synchronize()

    def enqueue(self):
        """Enqueue all work in the streams; the first one begins before and ends after all others."""
        streams = len(self.streams)
        self.begin(max(batch.images.stop for batch in self.batches if batch.group < streams))
        under_way = []  # batches whose pictures the host must copy
        for number, batch in enumerate(self.batches):
            if streams <= batch.group < 2 * streams:
                batch.stream.wait_event(self.arrived)
            if number >= len(self.slots):
                batch.stream.wait_event(batch.slot.gone)
            self.draw(batch)
            batch.slot.drawn.record(batch.stream)
            self.send(batch)
            under_way.append(batch)
            if len(under_way) == (len(self.slots) if self.is_hidden else 1):
                self.arrive(under_way.pop(0))
        for batch in under_way:
            self.arrive(batch)
        for slot in self.slots:
            self.streams[0].wait_event(slot.gone)

    def begin(self, first):
        """Enqueue the copies of the latents: those of the first images, with which all streams begin, then the rest."""
        cuda.copy_in(self.latents[:first], self.home.latents[:first], self.streams[0])
        self.begun.record(self.streams[0])
        for stream in (*self.streams[1:], self.link):
            stream.wait_event(self.begun)
        if first < len(self.latents):
            cuda.copy_in(self.latents[first:], self.home.latents[first:], self.link)
            self.arrived.record(self.link)

    def send(self, batch):
        """Enqueue the copy of a batch after it is drawn, unless the host must wait for that."""
        if self.memory == "pageable":
            return
        staging, pictures = batch.slot.staging, self.home.pictures[batch.images]
        batch.link.wait_event(batch.slot.drawn)
        self.copy(batch, pictures if staging is None else staging[: len(pictures)])
        batch.slot.gone.record(batch.link)

    def arrive(self, batch):
        """Do the host's part: copy a staged batch, or let the driver copy."""
        if self.memory == "staged":
            batch.slot.gone.synchronize()
            self.fetch(batch)
        elif self.memory == "pageable":
            batch.slot.drawn.synchronize()
            self.copy(batch, self.home.pictures[batch.images])
            batch.slot.gone.record(batch.link)

    def draw(self, batch):
        """Enqueue the drawing of a batch."""
        with batch.stream:
            batch.draw()

    def copy(self, batch, target):
        """Enqueue the copy of a batch to the host."""
        cuda.copy_out(batch.slot.pictures[: len(target)], target, batch.link)

    def fetch(self, batch):
        """Copy a batch from the staging buffer."""
        pictures = self.home.pictures[batch.images]
        pictures[...] = batch.slot.staging[: len(pictures)]


class Traced(Card):
    """A `Card` that records when each batch is drawn and copied, otherwise the same as the given one.

    Batches are named by their numbers. Times are relative to `began`; lanes are named by GPU if there are several, and
    by stream if there are several.
    """

    def __init__(self, card, began, is_one_of_several):
        vars(self).update(vars(card))
        with self.device:
            self.recorder = Recorder(began, f"card {self.device.id} " if is_one_of_several else "")
        self.numbers = {batch.images.start: str(number) for number, batch in enumerate(self.batches, 1)}

    def rows(self):
        """The rows of a run without a graph."""
        with self.device, self.streams[0]:
            self.enqueue()
            self.streams[0].synchronize()
            return self.recorder.rows()

    def draw(self, batch):
        draw = functools.partial(super().draw, batch)
        lane = f"compute {self.streams.index(batch.stream) + 1}" if len(self.streams) > 1 else "compute"
        self.recorder.record(lane, self.numbers[batch.images.start], batch.stream, draw)

    def copy(self, batch, target):
        copy = functools.partial(super().copy, batch, target)
        self.recorder.record("copy", self.numbers[batch.images.start], batch.link, copy)

    def fetch(self, batch):
        self.recorder.record_host("host", self.numbers[batch.images.start], functools.partial(super().fetch, batch))
