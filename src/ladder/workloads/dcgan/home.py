"""The generator on one or more GPUs, from latents to pictures in the caller's array in host memory.

- `copies`: the device-to-host copy of a batch overlaps with the next batch (hidden) or precedes it (after).
- `memory`: the GPU writes directly to the caller's array, which is page-locked before the timed call (pinned); to a
  page-locked buffer, from which the host copies, for callers whose array can't be locked (staged); or to the caller's
  pageable array, through a buffer of the driver (pageable).
- `streams`: batches alternate between this many streams, so that blocks of one fill multiprocessors that another leaves
  idle.
- `batches` = tapered: the last batches become smaller, so that the last copy is short; small batches share the
  projection and the first layer.
- `graph`: a GPU's whole call is one CUDA graph.
- `gpus`: the images are partitioned among this many GPUs, with a host thread for each; the caller's drives the first.
- `first`, `last`, `split` and `epilogue` are explained in `batches.py`, `math` and `product` in `gpu.py`.

The variant is bound by the multiply-adds of the layers or by the link between GPU and host, whichever takes longer.
Page-locking takes longer than drawing. It is untimed because a caller would lock an array once and reuse it. Rejected
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
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps, chain_steps
from ladder.workloads.dcgan import gpu
from ladder.workloads.dcgan.batches import SCHEDULES, group_images, length

DEVICE = "offload"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
KERNELS = ("cuda",)
LIMITS = {"split": (0, 4), "batch": (1, 65535)}  # the maximum batch is that of `images` in CUDA variants of tconv
# Slots of a GPU, each for a batch that is being drawn or copied: the minimum number, and the number per stream.
MIN_SLOTS, SLOTS_PER_STREAM = 8, 2


def setup(
    problem: Problem,
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
) -> Run:
    """The timed run of all GPUs, the loading of the network on each before it, and a trace unless it has too many rows.

    Raises LadderError if `graph` is on and the host takes part in copies.
    """
    require_graph_of_pinned(graph, memory)
    latents, pictures = problem.latents, problem.pictures
    if memory == "pinned":
        cuda.lock_pages(latents)
        cuda.lock_pages(pictures)
    options = {"first": first, "last": last, "split": split, "epilogue": epilogue, "math": math, "product": product}
    slices = image_shares(problem.sizes["images"], gpus)

    def make_share(number, images):
        with cuda.load_cupy().cuda.Device(number):
            groups = SCHEDULES[batches](length(images), batch)
            return GpuShare(number, problem, images, groups, memory, copies, streams, options)

    pool = ThreadPoolExecutor(gpus)
    shares = list(pool.map(make_share, range(len(slices)), slices))

    def load():
        for share in shares:
            share.load(problem.network, graph == "on")

    def trace():
        cuda.synchronize()
        start = time.perf_counter()
        rows = pool.map(lambda share: TracedShare(share, start, len(shares) > 1).rows(), shares)
        return [*itertools.chain(*rows)]

    def run():
        futures = [pool.submit(share.run) for share in shares[1:]]
        shares[0].run()  # in this thread, because waking another may take longer than a batch
        for future in futures:
            future.result()

    rows_per_batch = 3 if memory == "staged" else 2
    has_trace = rows_per_batch * sum(len(share.batches) for share in shares) <= traces.MAX_ROWS
    return Steps([(None, run)], [("load", load)], trace=trace if has_trace else None)


def require_graph_of_pinned(graph, memory):
    """Raises LadderError if `graph` is on and the host takes part in copies."""
    if graph == "on" and memory != "pinned":
        raise LadderError(f"graph=on needs memory=pinned, but has memory={memory}.")


def image_shares(images, gpus):
    """Slices of all images, one per GPU, none empty, so at most `gpus`; their lengths differ by at most one."""
    ends = [images * (number + 1) // gpus for number in range(gpus)]
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False) if end > start]


class Slot(NamedTuple):
    """A device buffer, a staging buffer on the host or None, and the events after drawing and after copying a batch."""

    pictures: Any
    staging: Any
    drawn_event: Any
    copied_event: Any


class Batch(NamedTuple):
    """A slice of the images, the number of its group, and `draw()`, which enqueues its steps in the current stream."""

    images: slice
    group: int
    draw: Callable
    slot: Slot
    stream: Any  # in which it is drawn
    copy_stream: Any


class GpuShare:
    """The generators, buffers and streams of one GPU, and the images that it draws; see `setup`."""

    def __init__(self, number, problem, images, groups, memory, copies, streams, options):
        """`groups` are lists of batches, slices of the share `images`; groups alternate between streams."""
        cupy, sizes = cuda.load_cupy(), problem.sizes
        self.device, self.memory, self.hides_copies = cupy.cuda.Device(number), memory, copies == "hidden"
        self.host = SimpleNamespace(latents=problem.latents[images], pictures=problem.pictures[images])
        self.network = cuda.empty(problem.network.shape, "float32")
        self.latents = cuda.empty(self.host.latents.shape, "float32")
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(min(streams, len(groups)))]
        self.copy_stream, self.call = cupy.cuda.Stream(non_blocking=True), self.enqueue
        self.first_latents_copied, self.latents_copied = self.event(), self.event()
        batch = max(length(group_images(group)) for group in groups)
        self.generators = [gpu.generator(self.network, sizes, batch=batch, **options) for _ in self.streams]
        lengths = [length(part) for group in groups for part in group]
        count = min(len(lengths), max(MIN_SLOTS, SLOTS_PER_STREAM * len(self.streams)))
        shape = max(lengths), *problem.pictures.shape[1:]
        self.slots = [self.slot(shape, sizes["pictures"]) for _ in range(count)]
        self.batches = [*self.plan_batches(groups)]

    def slot(self, shape, dtype):
        """A Slot for batches of at most this shape."""
        pictures = cuda.empty(shape, dtype)
        staging = cuda.empty_pinned(pictures.shape, pictures.dtype) if self.memory == "staged" else None
        return Slot(pictures, staging, self.event(), self.event())

    @staticmethod
    def event():
        """A CUDA event without timing."""
        return cuda.load_cupy().cuda.Event(disable_timing=True)

    def plan_batches(self, groups):
        """The Batches in the order in which they are drawn."""
        slots = itertools.cycle(self.slots)
        pairs = itertools.cycle(zip(self.streams, self.generators, strict=True))
        for number, (group, (stream, generator)) in enumerate(zip(groups, pairs, strict=False)):
            group_slots = [next(slots) for _ in group]
            pictures = [slot.pictures[: length(images)] for slot, images in zip(group_slots, group, strict=True)]
            group_steps = generator.steps(self.latents[group_images(group)], pictures)
            copy_stream = self.copy_stream if self.hides_copies else stream
            for images, steps, slot in zip(group, group_steps, group_slots, strict=True):
                yield Batch(images, number, chain_steps(steps), slot, stream, copy_stream)

    def load(self, network, graph):
        """Copy the network to the GPU, prepare its layers, and capture the call if `graph` is set."""
        with self.device:
            self.network.set(network)
            for generator in self.generators:
                chain_steps(generator.prepare)()
            cuda.synchronize()
            if graph and self.call == self.enqueue:
                self.call = cuda.capture(self.enqueue, self.streams[0])

    def run(self):
        """Draw all pictures and wait until they are in the host's array."""
        with self.device, self.streams[0]:
            self.call()
            self.streams[0].synchronize()

    def enqueue(self):
        """Enqueue all work: at first other streams wait for the first stream, and in the end it waits for them."""
        streams = len(self.streams)
        self.copy_latents(max(batch.images.stop for batch in self.batches if batch.group < streams))
        pending = []  # batches whose copies the host must complete
        for number, batch in enumerate(self.batches):
            if streams <= batch.group < 2 * streams:
                batch.stream.wait_event(self.latents_copied)
            if number >= len(self.slots):
                batch.stream.wait_event(batch.slot.copied_event)
            self.draw(batch)
            batch.slot.drawn_event.record(batch.stream)
            self.enqueue_copy(batch)
            pending.append(batch)
            if len(pending) == (len(self.slots) if self.hides_copies else 1):
                self.complete(pending.pop(0))
        for batch in pending:
            self.complete(batch)
        for slot in self.slots:
            self.streams[0].wait_event(slot.copied_event)

    def copy_latents(self, first):
        """Copy the latents: first those of `first` images, which the streams' first groups read, then the rest."""
        cuda.copy_in(self.latents[:first], self.host.latents[:first], self.streams[0])
        self.first_latents_copied.record(self.streams[0])
        for stream in (*self.streams[1:], self.copy_stream):
            stream.wait_event(self.first_latents_copied)
        if first < len(self.latents):
            cuda.copy_in(self.latents[first:], self.host.latents[first:], self.copy_stream)
            self.latents_copied.record(self.copy_stream)

    def enqueue_copy(self, batch):
        """Enqueue the copy of a batch; to pageable memory `complete` copies, because the call blocks the host."""
        if self.memory == "pageable":
            return
        staging, pictures = batch.slot.staging, self.host.pictures[batch.images]
        batch.copy_stream.wait_event(batch.slot.drawn_event)
        self.copy(batch, pictures if staging is None else staging[: len(pictures)])
        batch.slot.copied_event.record(batch.copy_stream)

    def complete(self, batch):
        """Do the host's part of a copy: copy from the staging buffer, or have the driver copy to pageable memory."""
        if self.memory == "staged":
            batch.slot.copied_event.synchronize()
            self.fetch(batch)
        elif self.memory == "pageable":
            batch.slot.drawn_event.synchronize()
            self.copy(batch, self.host.pictures[batch.images])
            batch.slot.copied_event.record(batch.copy_stream)

    def draw(self, batch):
        """Enqueue the drawing of a batch."""
        with batch.stream:
            batch.draw()

    def copy(self, batch, target):
        """Enqueue the copy of a batch to the host."""
        cuda.copy_out(batch.slot.pictures[: len(target)], target, batch.copy_stream)

    def fetch(self, batch):
        """Copy a batch from the staging buffer."""
        pictures = self.host.pictures[batch.images]
        pictures[...] = batch.slot.staging[: len(pictures)]


class TracedShare(GpuShare):
    """The same as a given GpuShare, but records when each batch is drawn and copied.

    Batches are named by their numbers. Times are relative to `start`. Lanes are named by GPU if there are several GPUs,
    and by stream if there are several streams.
    """

    def __init__(self, share, start, several_gpus):
        vars(self).update(vars(share))
        with self.device:
            self.recorder = Recorder(start, f"card {self.device.id} " if several_gpus else "")
        self.numbers = {batch.images.start: str(number) for number, batch in enumerate(self.batches, 1)}

    def rows(self):
        """The rows of the trace of a run without a graph."""
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
        self.recorder.record("copy", self.numbers[batch.images.start], batch.copy_stream, copy)

    def fetch(self, batch):
        self.recorder.record_host("host", self.numbers[batch.images.start], functools.partial(super().fetch, batch))
