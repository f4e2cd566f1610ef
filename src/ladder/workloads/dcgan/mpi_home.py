"""The generator on MPI ranks with a GPU each, from latents to pictures in the first rank's arrays on the host.

Like `home`, pinned and with hidden copies, with a rank instead of a thread. Ranks on the first one's node share these
arrays, so that every GPU copies to its share directly, and a barrier ends the call. Pictures of other nodes are sent by
MPI, while the next batches are drawn, or after a graph. The bottlenecks are those of `home`, and for several nodes the
network between them.
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
    """The timed run of all ranks' GPUs, and the loading of the network on each before it."""
    how = {"first": first, "last": last, "split": split, "epilogue": epilogue, "math": math, "product": product}
    cut = functools.partial(CUTS[batches], batch=batch)
    rank = Rank(problem, cut, streams, graph == "on", how)
    return Steps([(None, rank.run)], [("load", rank.load)])


class Rank:
    """A rank's share of the images, in the first rank's arrays or, on another node, in its own; and its GPU.

    If there are fewer images than ranks, the last ranks have none, but take part in collective operations.
    """

    def __init__(self, problem, cut, streams, graph, how):
        """`cut` returns the groups of batches for a number of images."""
        world, device, sizes = problem.device.communicator(), problem.device, problem.sizes
        self.world, self.whole, self.cut, self.graph = world, problem, cut, graph
        self.requests, self.card = [], None  # MPI's pending requests
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
        """Load the first rank's network on every GPU."""
        self.world.Bcast(self.network)
        if self.card:
            self.card.load(self.network, self.graph)
        self.world.Barrier()  # capturing a graph drew pictures, in memory that the first rank writes to from now on

    def run(self):
        """Draw all pictures: when it ends on the first rank, they are in its array."""
        self.world.Barrier()  # now the latents are complete, and the pictures may be overwritten
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
        """Wait for MPI's pending requests."""
        for request in self.requests:
            request.Wait()
        self.requests = []

    def send(self, pictures):
        """Send a batch, once it is on the host, from another node to the first rank."""
        self.requests.append(self.world.Isend(rows(pictures), 0))

    def get_on(self):
        """Let MPI make progress, which it does only while it is called."""
        for request in self.requests:
            request.Test()


class Card(home.Card):
    """A rank's GPU. Between batches, unless they are a graph, MPI sends pictures from other nodes to the first rank."""

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
    """An MPI buffer of an array, with elements of an MPI datatype along its first axis, fewer than 2**31."""
    return [array, len(array), row_type(array.strides[0])]


@functools.cache
def row_type(size):
    """An MPI datatype of `size` bytes."""
    from mpi4py import MPI

    return MPI.BYTE.Create_contiguous(size).Commit()
