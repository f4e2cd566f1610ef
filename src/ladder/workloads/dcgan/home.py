"""The generator on one or more cards, from latents to pictures in the caller's arrays in the host's memory.

A batch's pictures go home while the next one is computed (`copies` = hidden), or before it (`after`). Where they go is
`memory`: into the caller's array, which is page-locked when the network is loaded, as a caller might allocate it
(pinned), so that the card writes to it by itself; into a page-locked buffer, from where the host copies (staged), where
the caller's array can't be locked; or into that as it is, for which the driver has a buffer (pageable). `gpus` cards
have equal shares of the images, and a thread of this process each. Bound by the multiply-adds of the layers or by the
link, whichever takes longer.
"""

import functools
import itertools
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from ladder.devices import card as cards
from ladder.devices import cuda, cuda_trace
from ladder.harness import traces
from ladder.harness.steps import Steps, in_order
from ladder.workloads.dcgan import card
from ladder.workloads.dcgan.batches import parts

DEVICE = "offload"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
KERNELS = ("cuda",)
LIMITS = {"split": (0, 4), "batch": (1, 65535)}
BUFFERS = 2


def setup(
    problem,
    *,
    gpus: int = 1,
    memory: Literal["pinned", "staged", "pageable"] = "pinned",
    copies: Literal["hidden", "after"] = "hidden",
    first: str = "cuda_implicit",
    last: str = "cuda_window",
    split: int = 3,
    batch: int = 512,
    epilogue: Literal["fused", "folded", "separate"] = "fused",
    math: Literal["default", "tf32", "float16", "bfloat16"] = "default",
    product: str = "cublas",
):
    """The timed run of all cards, before it the network's loading on each, and a trace where its rows aren't many."""
    latents, pictures = problem.latents, problem.pictures
    if memory == "pinned":
        cuda.lock_pages(latents)
        cuda.lock_pages(pictures)
    how = {"first": first, "last": last, "split": split, "epilogue": epilogue, "math": math, "product": product}
    shares = shares_of(problem.sizes["images"], gpus)
    pool = ThreadPoolExecutor(gpus)

    def on_all(work):
        """A function that does `work(card, share)` on all cards that have images, side by side."""
        return lambda: list(pool.map(work, works, shares))

    def begin(number, share):
        with cuda.load_cupy().cuda.Device(number):
            count = share.stop - share.start
            return Card(number, problem, memory, copies, min(batch, count), count, how)

    works = list(pool.map(begin, range(len(shares)), shares))
    load = on_all(lambda one, share: one.load(problem.network))

    def trace():
        cards.synchronize()
        began = time.perf_counter()
        rows = on_all(lambda one, share: Traced(one, began, len(shares) > 1).rows(latents[share], pictures[share]))()
        return [*itertools.chain(*rows)]

    lanes = 3 if memory == "staged" else 2
    is_short = lanes * sum(len(parts(share.stop - share.start, batch)) for share in shares) <= traces.MOST
    timed = [(None, on_all(lambda one, share: one.run(latents[share], pictures[share])))]
    return Steps(timed, [("load", load)], trace=trace if is_short else None)


def shares_of(images, gpus):
    """Slices of all images, a share of each card, none empty; their lengths differ by at most one."""
    ends = [images * (number + 1) // gpus for number in range(gpus)]
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False) if end > start]


class Card:
    """One card's generator, buffers and streams; whoever calls its functions makes it current."""

    def __init__(self, number, problem, memory, copies, batch, count, how):
        cupy, sizes = cuda.load_cupy(), problem.sizes
        self.device, self.memory, self.batch = cupy.cuda.Device(number), memory, batch
        self.network = cuda.empty(problem.network.shape, "float32")
        self.latents = cuda.empty((count, problem.latents.shape[1]), "float32")
        self.generator = card.generator(self.network, sizes, batch=batch, **how)
        shape = (batch, *problem.pictures.shape[1:])
        self.pictures = [cuda.empty(shape, sizes["pictures"]) for _ in range(BUFFERS)]
        self.staging = [cuda.staging({0: array})[0] for array in self.pictures] if memory == "staged" else []
        self.compute = cupy.cuda.Stream(non_blocking=True)
        self.link = cupy.cuda.Stream(non_blocking=True) if copies == "hidden" else self.compute
        self.drawn, self.gone = ([cupy.cuda.Event(disable_timing=True) for _ in range(BUFFERS)] for _ in range(2))
        self.steps = functools.cache(self.steps_of)

    def load(self, network):
        """Bring the network to the card, and do what its layers ask for once."""
        with self.device:
            self.network.set(network)
            in_order(self.generator.prepare)()
            cards.synchronize()

    def steps_of(self, start, stop, buffer):
        """One function that draws a batch into a buffer."""
        return in_order(list(self.generator.steps(self.latents[start:stop], self.pictures[buffer][: stop - start])))

    def run(self, latents, pictures):
        """Draw all pictures of latents, batch by batch, and have them in the host's array `pictures` in the end."""
        with self.device:
            cuda.copy_in(self.latents, latents, self.compute)
            under_way = []  # batches whose pictures the host must see to
            for number, part in enumerate(parts(len(latents), self.batch)):
                buffer = number % BUFFERS
                self.compute.wait_event(self.gone[buffer])
                self.draw(part, buffer)
                self.drawn[buffer].record(self.compute)
                self.send(pictures[part], buffer)
                under_way.append((pictures[part], buffer))
                if len(under_way) == (1 if self.link is self.compute else BUFFERS):
                    self.arrive(*under_way.pop(0))
            for left in under_way:
                self.arrive(*left)
            self.link.synchronize()

    def send(self, pictures, buffer):
        """Have the card send a buffer once it is drawn, unless the host must wait for that."""
        if self.memory == "pageable":
            return
        target = self.staging[buffer][: len(pictures)] if self.memory == "staged" else pictures
        self.link.wait_event(self.drawn[buffer])
        self.copy(buffer, target)
        self.gone[buffer].record(self.link)

    def arrive(self, pictures, buffer):
        """Do the host's part: copy what has arrived in staging, or have the driver copy."""
        if self.memory == "staged":
            self.gone[buffer].synchronize()
            self.fetch(buffer, pictures)
        elif self.memory == "pageable":
            self.drawn[buffer].synchronize()
            self.copy(buffer, pictures)
            self.gone[buffer].record(self.link)

    def draw(self, part, buffer):
        """Have the card draw a batch into a buffer."""
        with self.compute:
            self.steps(part.start, part.stop, buffer)()

    def copy(self, buffer, target):
        """Have the card copy what a buffer has for the host's array."""
        cuda.copy_out(self.pictures[buffer][: len(target)], target, self.link)

    def fetch(self, buffer, pictures):
        """Copy what has arrived in staging."""
        pictures[...] = self.staging[buffer][: len(pictures)]


class Traced(Card):
    """A card that records when it draws and copies each batch, with all else that the given one has.

    Batches are named by their numbers. Times count from `began`; of several cards each names its lanes.
    """

    def __init__(self, card, began, is_one_of_several):
        vars(self).update(vars(card))
        with self.device:
            self.recorder = cuda_trace.Recorder(began, f"card {self.device.id} " if is_one_of_several else "")
        self.numbers = defaultdict(lambda: itertools.count(1))

    def rows(self, latents, pictures):
        """The rows of a run."""
        with self.device:
            self.run(latents, pictures)
            return self.recorder.rows()

    def number(self, lane):
        """The name of a lane's next batch."""
        return str(next(self.numbers[lane]))

    def draw(self, *batch):
        draw = functools.partial(super().draw, *batch)
        self.recorder.around("compute", self.number("compute"), self.compute, draw)

    def copy(self, *batch):
        copy = functools.partial(super().copy, *batch)
        self.recorder.around("copy", self.number("copy"), self.link, copy)

    def fetch(self, *batch):
        self.recorder.around_host("host", self.number("host"), functools.partial(super().fetch, *batch))
