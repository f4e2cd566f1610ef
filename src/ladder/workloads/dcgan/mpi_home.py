"""The generator on ranks of MPI with a card each, from latents to pictures in the first rank's arrays on the host.

As `home`, pinned and with hidden copies, a rank in the place of a thread. Ranks beside the first one have these arrays
in their own memory too, so that every card copies to its share by itself, and a barrier ends the call. What those of
other nodes draw is sent by MPI, a batch while the next ones are drawn, or behind a graph. Bound as `home`, and by the
network between the nodes where there are several.
"""

import functools
import itertools
from types import SimpleNamespace
from typing import Literal

from ladder.harness.steps import Steps
from ladder.workloads import dcgan
from ladder.workloads.dcgan import home
from ladder.workloads.dcgan.batches import CUTS

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
KERNELS = ("cuda",)
LIMITS = {"split": (0, 4), "batch": (1, 65535)}


def setup(
    problem,
    *,
    ranks: int,
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
    """The timed run of all ranks' cards, and before it the network's loading on each."""
    how = {"first": first, "last": last, "split": split, "epilogue": epilogue, "math": math, "product": product}
    cut = functools.partial(CUTS[batches], batch=batch)
    rank = Rank(problem, cut, streams, graph == "on", how)
    return Steps([(None, rank.run)], [("load", rank.load)])


class Rank:
    """A rank's share of the images, in the first rank's arrays or, on another node, in some of its own; and its card.

    Where there are fewer images than ranks, the last ones have none: they take part in what all do together.
    """

    def __init__(self, problem, cut, streams, graph, how):
        """`cut` gives the groups of batches in which so many images are drawn."""
        world, device, sizes = problem.device.communicator(), problem.device, problem.sizes
        self.world, self.whole, self.cut, self.graph = world, problem, cut, graph
        self.requests, self.card = [], None  # what MPI was given to do
        shares = home.shares_of(sizes["images"], world.size)
        share = shares[world.rank] if world.rank < len(shares) else slice(0, 0)
        inputs, outputs = dcgan.arrays(sizes)
        self.network = problem.network if device.is_first() else device.empty(*inputs["network"])
        latents, pictures = device.shared(problem.latents), device.shared(problem.pictures)
        self.is_away = latents is None
        if self.is_away:
            kinds, share = (inputs["latents"], outputs["pictures"]), slice(0, share.stop - share.start)
            latents, pictures = (device.empty((share.stop, *shape[1:]), dtype) for shape, dtype in kinds)
        self.latents, self.pictures = latents[share], pictures[share]
        away = world.allgather(self.is_away)
        self.away = [(rank, one) for rank, one in enumerate(shares) if away[rank]] if device.is_first() else []
        if len(self.latents):
            given = SimpleNamespace(sizes=sizes, network=self.network, latents=latents, pictures=pictures)
            self.card = Card(self, given, share, cut(len(self.latents)), streams, how)

    def load(self):
        """Have the first rank's network on every card."""
        self.world.Bcast(self.network)
        if self.card:
            self.card.load(self.network, self.graph)
        self.world.Barrier()  # a graph's making has drawn pictures, in memory that the first rank writes to from now on

    def run(self):
        """Draw all pictures: when it ends on the first rank, they are in its array."""
        self.world.Barrier()  # from here on the latents are there, and the pictures may be written to
        self.requests = [self.world.Isend(rows(self.whole.latents[share]), rank) for rank, share in self.away]
        if self.is_away and self.card:
            self.world.Recv(rows(self.latents), 0)
        self.wait()
        for rank, share in self.away:
            pictures = self.whole.pictures[share]
            batches = itertools.chain(*self.cut(len(pictures)))
            self.requests += [self.world.Irecv(rows(pictures[part]), rank) for part in batches]
        if self.card:
            self.card.run()
            if self.is_away and self.graph:
                for batch in self.card.batches:
                    self.send(self.pictures[batch.images])
        self.wait()
        self.world.Barrier()

    def wait(self):
        """Wait until what MPI was given to do is done."""
        for request in self.requests:
            request.Wait()
        self.requests = []

    def send(self, pictures):
        """Send a batch that has come home to the first rank, from another node."""
        self.requests.append(self.world.Isend(rows(pictures), 0))

    def get_on(self):
        """Let MPI get on with what it has to do: it does while it is called."""
        for request in self.requests:
            request.Test()


class Card(home.Card):
    """A rank's card. Between batches, unless they are a graph, MPI sends home what was drawn on other nodes."""

    def __init__(self, rank, given, share, groups, streams, how):
        super().__init__(0, given, share, groups, "pinned", "hidden", streams, how)
        self.rank = rank

    def arrive(self, batch):
        """Do the host's part, as in `home`: here, MPI's."""
        if self.rank.graph:
            return
        if self.rank.is_away:
            batch.slot.gone.synchronize()
            self.rank.send(self.home.pictures[batch.images])
        self.rank.get_on()


def rows(array):
    """What MPI sends or receives: an array's first axis by elements of the rest, of which there are less than 2**31."""
    return [array, len(array), row_type(array.strides[0])]


@functools.cache
def row_type(size):
    """MPI's type of so many bytes."""
    from mpi4py import MPI

    return MPI.BYTE.Create_contiguous(size).Commit()
