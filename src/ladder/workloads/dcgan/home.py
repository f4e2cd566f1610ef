"""The generator on one or more cards, from latents to pictures in the caller's arrays in the host's memory.

A batch's pictures go home while the next one is computed (`copies` = hidden), or before it (`after`). Where they go is
`memory`: into the caller's array, which is page-locked when the network is loaded, as a caller might allocate it
(pinned), so that the card writes to it by itself; into a page-locked buffer, from where the host copies (staged), where
the caller's array can't be locked; or into that as it is, for which the driver has a buffer (pageable). Batches take
turns in as many `streams`, where one's blocks fill what another leaves idle; with `batches` = tapered the last are ever
smaller, so that little is left to copy in the end. With `graph` a card's whole call is one CUDA graph. The images are
shared among `gpus` cards, and a thread works for each, the caller's for the first. Bound by the multiply-adds of the
layers or by the link, whichever takes longer.
"""

import functools
import itertools
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from ladder.devices import cuda, cuda_trace
from ladder.errors import LadderError
from ladder.harness import traces
from ladder.harness.steps import Steps, in_order
from ladder.workloads.dcgan import card
from ladder.workloads.dcgan.batches import CUTS, Generator

DEVICE = "offload"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
KERNELS = ("cuda",)
LIMITS = {"split": (0, 4), "batch": (1, 65535)}
# Buffers of a card, and of a stream at least: so many batches are drawn or leave at once.
BUFFERS, OF_STREAM = 4, 2


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
    """The timed run of all cards, before it the network's loading on each, and a trace where its rows aren't many.

    Raises LadderError for a graph of which the host's own copies would be a part.
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
            own = CUTS[batches](share.stop - share.start, batch)
            return Card(number, problem, share, own, memory, copies, min(streams, len(own)), how)

    pool = ThreadPoolExecutor(gpus)
    cards = list(pool.map(begin, range(len(shares)), shares))

    def load():
        for one in cards:
            one.load(problem.network, graph == "on")

    def trace():
        cuda.synchronize()
        began = time.perf_counter()
        rows = pool.map(lambda one: Traced(one, began, len(cards) > 1).rows(), cards)
        return [*itertools.chain(*rows)]

    def run():
        others = [pool.submit(one.run) for one in cards[1:]]
        cards[0].run()  # here, since waking a thread takes longer than many a batch
        for other in others:
            other.result()

    lanes = 3 if memory == "staged" else 2
    is_short = lanes * sum(len(one.batches) for one in cards) <= traces.MOST
    return Steps([(None, run)], [("load", load)], trace=trace if is_short else None)


def shares_of(images, gpus):
    """Slices of all images, a share of each card, none empty; their lengths differ by at most one."""
    ends = [images * (number + 1) // gpus for number in range(gpus)]
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False) if end > start]


class Slot(NamedTuple):
    """Where a batch is drawn, and how it leaves; `drawn` and `gone` are events."""

    stream: Any
    link: Any
    generator: Generator
    pictures: Any
    staging: Any
    drawn: Any
    gone: Any


class Card:
    """One card's generators, buffers and streams, for a share of the images; see `setup`."""

    def __init__(self, number, problem, share, batches, memory, copies, streams, how):
        """`batches` are slices of the share."""
        cupy, sizes = cuda.load_cupy(), problem.sizes
        self.device, self.batches, self.memory = cupy.cuda.Device(number), batches, memory
        self.home = SimpleNamespace(latents=problem.latents[share], pictures=problem.pictures[share])
        self.network = cuda.empty(problem.network.shape, "float32")
        self.latents = cuda.empty(self.home.latents.shape, "float32")
        batch = max(part.stop - part.start for part in batches)
        self.generators = [card.generator(self.network, sizes, batch=batch, **how) for _ in range(streams)]
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(streams)]
        self.link, self.call = cupy.cuda.Stream(non_blocking=True), self.enqueue
        self.begun, self.arrived = self.event(), self.event()
        self.slots = []
        for turn in range(max(BUFFERS, OF_STREAM * streams)):
            stream, generator = self.streams[turn % streams], self.generators[turn % streams]
            drawn = cuda.empty((batch, *problem.pictures.shape[1:]), sizes["pictures"])
            staging = cuda.staging({0: drawn})[0] if memory == "staged" else None
            leaves = self.link if copies == "hidden" else stream
            self.slots.append(Slot(stream, leaves, generator, drawn, staging, self.event(), self.event()))
        self.steps = functools.cache(self.steps_of)

    @staticmethod
    def event():
        return cuda.load_cupy().cuda.Event(disable_timing=True)

    def load(self, network, graph):
        """Bring the network to the card, do what its layers ask for once, and capture the call where `graph` is on."""
        with self.device:
            self.network.set(network)
            for generator in self.generators:
                in_order(generator.prepare)()
            cuda.synchronize()
            if graph and self.call == self.enqueue:
                self.call = cuda.captured(self.enqueue, self.streams[0])

    def steps_of(self, start, stop, turn):
        """One function that draws a batch in a slot."""
        slot = self.slots[turn]
        return in_order(list(slot.generator.steps(self.latents[start:stop], slot.pictures[: stop - start])))

    def run(self):
        """Draw all pictures and have them in the host's array in the end."""
        with self.device, self.streams[0]:
            self.call()
            self.streams[0].synchronize()

    def enqueue(self):
        """Put all work into the streams, of which the first begins before and ends after all others."""
        streams = len(self.streams)
        self.begin(self.batches[streams - 1].stop)
        under_way = []  # batches whose pictures the host must see to
        for number, part in enumerate(self.batches):
            turn = number % len(self.slots)
            slot, pictures = self.slots[turn], self.home.pictures[part]
            if streams <= number < 2 * streams:
                slot.stream.wait_event(self.arrived)
            if number >= len(self.slots):
                slot.stream.wait_event(slot.gone)
            self.draw(slot, part, turn)
            slot.drawn.record(slot.stream)
            self.send(slot, pictures)
            under_way.append((slot, pictures))
            if len(under_way) == (1 if slot.link is slot.stream else len(self.slots)):
                self.arrive(*under_way.pop(0))
        for left in under_way:
            self.arrive(*left)
        for slot in self.slots[: len(self.batches)]:
            self.streams[0].wait_event(slot.gone)

    def begin(self, first):
        """Have the latents copied: those of the first images, with which all streams begin, then the rest."""
        cuda.copy_in(self.latents[:first], self.home.latents[:first], self.streams[0])
        self.begun.record(self.streams[0])
        for stream in (*self.streams[1:], self.link):
            stream.wait_event(self.begun)
        if first < len(self.latents):
            cuda.copy_in(self.latents[first:], self.home.latents[first:], self.link)
            self.arrived.record(self.link)

    def send(self, slot, pictures):
        """Have the card send a slot's pictures once they are drawn, unless the host must wait for that."""
        if self.memory == "pageable":
            return
        target = slot.staging[: len(pictures)] if self.memory == "staged" else pictures
        slot.link.wait_event(slot.drawn)
        self.copy(slot, target)
        slot.gone.record(slot.link)

    def arrive(self, slot, pictures):
        """Do the host's part: copy what has arrived in staging, or have the driver copy."""
        if self.memory == "staged":
            slot.gone.synchronize()
            self.fetch(slot, pictures)
        elif self.memory == "pageable":
            slot.drawn.synchronize()
            self.copy(slot, pictures)
            slot.gone.record(slot.link)

    def draw(self, slot, part, turn):
        """Have the card draw a batch in a slot."""
        with slot.stream:
            self.steps(part.start, part.stop, turn)()

    def copy(self, slot, target):
        """Have the card copy a slot's pictures for the host's array."""
        cuda.copy_out(slot.pictures[: len(target)], target, slot.link)

    def fetch(self, slot, pictures):
        """Copy what has arrived in staging."""
        pictures[...] = slot.staging[: len(pictures)]


class Traced(Card):
    """A card that records when it draws and copies each batch, with all else that the given one has.

    Batches are named by their numbers. Times count from `began`; of several cards each names its lanes, and so does
    each of several streams.
    """

    def __init__(self, card, began, is_one_of_several):
        vars(self).update(vars(card))
        with self.device:
            self.recorder = cuda_trace.Recorder(began, f"card {self.device.id} " if is_one_of_several else "")
        self.numbers = defaultdict(lambda: itertools.count(1))

    def rows(self):
        """The rows of a run, not by a graph."""
        with self.device, self.streams[0]:
            self.enqueue()
            self.streams[0].synchronize()
            return self.recorder.rows()

    def number(self, what):
        """The name of the next batch that is drawn, copied or fetched."""
        return str(next(self.numbers[what]))

    def draw(self, slot, *batch):
        draw = functools.partial(super().draw, slot, *batch)
        lane = f"compute {self.streams.index(slot.stream) + 1}" if len(self.streams) > 1 else "compute"
        self.recorder.around(lane, self.number("draw"), slot.stream, draw)

    def copy(self, slot, target):
        copy = functools.partial(super().copy, slot, target)
        self.recorder.around("copy", self.number("copy"), slot.link, copy)

    def fetch(self, *batch):
        self.recorder.around_host("host", self.number("fetch"), functools.partial(super().fetch, *batch))
