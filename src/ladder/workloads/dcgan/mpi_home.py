"""The generator on MPI ranks with a GPU each, from latents to pictures in the first rank's array on the host.

Like `home` with hidden copies, but with a rank for each GPU instead of a thread. Ranks on the first rank's node share
its arrays, so every GPU copies directly to its share, and a barrier ends the call. With `memory` = staged, a rank's GPU
copies to a page-locked buffer of the rank, and the rank from there to its share. Ranks on other nodes send their
pictures by MPI, while the next batches are drawn or, with `graph`, after the last batch. The bottlenecks are those of
`home` and, for several nodes, the network between them.

The earlier study had a rank per GPU too, and staged its pictures. Its program is first=cuda_im2col, last=cuda_parity,
product=cuda_columns, split=3, batch=100, epilogue=separate, streams=1, memory=staged. It copied a batch from the buffer
between two kernels of the next batch; here the host does so once it has enqueued the batches for which there are slots.
"""

import functools
import itertools
from types import SimpleNamespace
from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads import dcgan
from ladder.workloads.dcgan import home
from ladder.workloads.dcgan.batches import SCHEDULES

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
KERNELS = ("cuda",)
LIMITS = {"split": (0, 4), "batch": (1, 65535)}  # the maximum batch is that of `images` in CUDA variants of tconv


def setup(
    problem: Problem,
    *,
    ranks: int,
    memory: Literal["pinned", "staged"] = "pinned",
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
    """The timed run of all ranks' GPUs, and the loading of the network on each before it.

    Raises LadderError if `graph` is on and the host takes part in copies.
    """
    home.require_graph_of_pinned(graph, memory)
    options = {"first": first, "last": last, "split": split, "epilogue": epilogue, "math": math, "product": product}
    schedule = functools.partial(SCHEDULES[batches], batch=batch)
    rank = Rank(problem, schedule, memory, streams, graph == "on", options)
    return Steps([(None, rank.run)], [("load", rank.load)])


class Rank:
    """A rank's share of the images, and its GPU; the share is in the first rank's arrays unless the rank is remote.

    A remote rank is on another node than the first rank and has arrays of its own. If there are fewer images than
    ranks, the last ranks have none, but take part in collective operations.
    """

    def __init__(self, problem, schedule, memory, streams, graph, options):
        """`schedule` returns the groups of batches for a number of images."""
        world, device, sizes = problem.device.communicator(), problem.device, problem.sizes
        self.world, self.problem, self.schedule, self.graph = world, problem, schedule, graph
        self.requests, self.gpu_share = [], None  # requests are the pending ones of MPI
        shares = home.image_shares(sizes["images"], world.size)
        share = shares[world.rank] if world.rank < len(shares) else slice(0, 0)
        inputs, outputs = dcgan.arrays(sizes)
        self.network = problem.network if device.is_first() else device.empty(*inputs["network"])
        latents, pictures = device.map_shared(problem.latents), device.map_shared(problem.pictures)
        self.is_remote = latents is None
        if self.is_remote:
            specs, share = (inputs["latents"], outputs["pictures"]), slice(0, share.stop - share.start)
            latents, pictures = (device.empty((share.stop, *shape[1:]), dtype) for shape, dtype in specs)
        self.latents, self.pictures = latents[share], pictures[share]
        are_remote, self.remote_shares = world.allgather(self.is_remote), []
        if device.is_first():
            # The remote ranks with their shares, which only the first rank needs.
            self.remote_shares = [(rank, share) for rank, share in enumerate(shares) if are_remote[rank]]
        if len(self.latents):
            rank_problem = SimpleNamespace(sizes=sizes, network=self.network, latents=latents, pictures=pictures)
            self.gpu_share = RankShare(self, rank_problem, share, schedule(len(self.latents)), memory, streams, options)

    def load(self):
        """Load the first rank's network on every GPU."""
        self.world.Bcast(self.network)
        if self.gpu_share:
            self.gpu_share.load(self.network, self.graph)
        self.world.Barrier()  # capturing a graph drew pictures; from now on the first rank writes to the same memory

    def run(self):
        """Draw all pictures; when this returns on the first rank, they are in its array."""
        self.world.Barrier()  # the first rank has written the latents and read the previous pictures
        self.requests = [
            self.world.Isend(mpi_buffer(self.problem.latents[share]), rank) for rank, share in self.remote_shares
        ]
        if self.is_remote and self.gpu_share:
            self.world.Recv(mpi_buffer(self.latents), 0)
        self.wait()
        for rank, share in self.remote_shares:
            pictures = self.problem.pictures[share]
            batches = itertools.chain(*self.schedule(len(pictures)))
            self.requests += [self.world.Irecv(mpi_buffer(pictures[part]), rank) for part in batches]
        if self.gpu_share:
            self.gpu_share.run()
            if self.is_remote and self.graph:
                for batch in self.gpu_share.batches:
                    self.send(self.pictures[batch.images])
        self.wait()
        self.world.Barrier()

    def wait(self):
        """Wait for MPI's pending requests."""
        for request in self.requests:
            request.Wait()
        self.requests = []

    def send(self, pictures):
        """Start to send a batch, which must be on the host, to the first rank."""
        self.requests.append(self.world.Isend(mpi_buffer(pictures), 0))

    def make_progress(self):
        """Call MPI, because it makes progress only while it is called."""
        for request in self.requests:
            request.Test()


class RankShare(home.GpuShare):
    """A rank's GPU. Unless all batches are one graph, a remote rank sends pictures between batches."""

    def __init__(self, rank, problem, images, groups, memory, streams, options):
        super().__init__(0, problem, images, groups, memory, "hidden", streams, options)
        self.rank = rank

    def complete(self, batch):
        """Do the host's part of a copy; if the rank is remote, start to send the batch; let MPI make progress."""
        if self.rank.graph:
            return
        super().complete(batch)
        if self.rank.is_remote:
            batch.slot.copied_event.synchronize()
            self.rank.send(self.host.pictures[batch.images])
        self.rank.make_progress()


def mpi_buffer(array):
    """An MPI buffer of an array, of which a row is one element, because MPI counts at most 2**31 - 1 elements."""
    return [array, len(array), row_type(array.strides[0])]


@functools.cache
def row_type(size):
    """The MPI datatype of a row of `size` bytes."""
    from mpi4py import MPI

    return MPI.BYTE.Create_contiguous(size).Commit()
