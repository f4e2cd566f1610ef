"""GEMV on ranks of MPI with a GPU each, cuBLAS computing: what travels between ranks goes from card to card by NCCL.

When the matrix travels (`mode` = ship), bound by the link of the first rank's host to its card, which all of it takes:
rows for other cards go on while the next arrive. When it stays (resident), bound by the cards' memory, plus the latency
of a broadcast, a gathering and two copies. `chunks` > 1 lets a card work while the next rows, or the results so far,
are on their way. With `graph` on, a card's part of a product on a resident matrix is one CUDA graph.
"""

import functools
from collections import deque
from typing import Literal

from ladder.devices import cuda, mpi
from ladder.errors import LadderError
from ladder.workloads.gemv import cards

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")
# The bytes of the first card's memory in which rows for another arrive, before they go on.
PART = 2**28


class Link:
    """NCCL between cards; where there are several pieces, in a stream of its own beside the one that computes.

    What comes from the first rank's host comes in another.
    """

    def __init__(self, problem, rank):
        self.nccl = load_nccl()
        self.rank, self.whole = rank, problem.matrix
        self.type = {"float64": self.nccl.NCCL_FLOAT64, "float32": self.nccl.NCCL_FLOAT32}[problem.sizes["dtype"]]
        self.columns = problem.sizes["m"]
        stream = functools.partial(cuda.load_cupy().cuda.Stream, non_blocking=True)
        self.stream, self.copying = rank.stream if len(rank.pieces) == 1 else stream(), stream()
        self.rows = max(PART // rank.x.nbytes, 1)
        # Rows of other ranks pass through one of two buffers while those before leave the other; each has an event that
        # tells when it is free.
        others = [rows for parts in rank.parts[1:] for _, rows in parts] if rank.is_first else []
        shape, free = (min(self.rows, max(others, default=0)), self.columns), self.stream.record()
        self.passing = deque((cuda.empty(shape, rank.x.dtype), free) for _ in range(2))
        self.arrived = {}
        self.cards = communicator()

    def to(self, array, peer):
        """Have an array of the card sent to another rank's."""
        if array.size:
            self.cards.send(array.data.ptr, array.size, self.type, peer, self.stream.ptr)

    def into(self, array, peer):
        """Have an array of the card received from another rank's."""
        if array.size:
            self.cards.recv(array.data.ptr, array.size, self.type, peer, self.stream.ptr)

    def broadcast(self):
        """x to every card."""
        x = self.rank.x
        follow(self.stream, self.rank.stream)
        if self.rank.is_first:
            cuda.copy_in(x, self.rank.host.x, self.stream)
        self.cards.bcast(x.data.ptr, x.size, self.type, 0, self.stream.ptr)
        follow(self.rank.stream, self.stream)

    def send(self, piece):
        """Have a piece of the matrix sent to every card, the first rank's own last."""
        matrix = self.rank.matrix[self.rank.pieces[piece]]
        if self.rank.is_first:
            for peer, parts in reversed(list(enumerate(self.rank.parts))):
                first, count = parts[piece]
                rows = self.whole[first : first + count]
                if peer:
                    for part in self.parts(rows):
                        self.pass_on(part, peer)
                elif count:
                    matrix.set(rows, stream=self.copying)
            self.arrived[piece] = self.copying.record()
        else:
            for part in self.parts(matrix):
                self.into(part, 0)
            self.arrived[piece] = self.stream.record()

    def parts(self, rows):
        """Rows in the parts in which they travel."""
        return [rows[first : first + self.rows] for first in range(0, len(rows), self.rows)]

    def pass_on(self, rows, peer):
        """Have rows of the first rank's host sent to another card."""
        buffer, free = self.passing.popleft()
        here = buffer[: len(rows)]
        self.copying.wait_event(free)
        here.set(rows, stream=self.copying)
        follow(self.stream, self.copying)
        self.to(here, peer)
        self.passing.append((buffer, self.stream.record()))

    def receive(self, piece):
        """Let the computing stream wait for a piece."""
        self.rank.stream.wait_event(self.arrived.pop(piece))

    def collect(self, piece):
        """Have a piece of y sent to the first card once it is computed."""
        follow(self.stream, self.rank.stream)
        self.nccl.groupStart()
        if self.rank.is_first:
            for peer, parts in enumerate(self.rank.parts):
                first, count = parts[piece]
                if peer:
                    self.into(self.rank.y[first : first + count], peer)
        else:
            self.to(self.rank.y[self.rank.pieces[piece]], 0)
        self.nccl.groupEnd()

    def finish(self):
        """Have y copied to the host once it is whole."""
        if self.rank.is_first:
            cuda.copy_out(self.rank.y, self.rank.host.y, self.stream)
        follow(self.rank.stream, self.stream)


def follow(stream, other):
    """Have what is put into a stream from now on wait for what is in the other."""
    if stream is not other:
        stream.wait_event(other.record())


@functools.cache
def communicator():
    """NCCL's communicator of all ranks, one for all products of a process: most take less time than making it."""
    nccl, world = load_nccl(), mpi.communicator()
    name = world.bcast(nccl.get_unique_id() if world.rank == 0 else None)
    return nccl.NcclCommunicator(world.size, name, world.rank)


def load_nccl():
    """CuPy's NCCL. Raises LadderError where there is none."""
    cuda.load_cupy()
    from cupy.cuda import nccl

    if not nccl.available:
        raise LadderError("CuPy finds no NCCL: `pip install 'ladder[gpu]'` brings it.")
    return nccl


def setup(
    problem, *, ranks: int, mode: Literal["ship", "resident"], chunks: int = 1, graph: Literal["off", "on"] = "off"
):
    """The product's steps on the ranks that the launcher has started, each rank's rows in `chunks` pieces."""
    return cards.steps(problem, mode, chunks, Link, graph)
