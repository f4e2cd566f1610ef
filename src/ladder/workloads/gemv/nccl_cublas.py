"""GEMV by cuBLAS on MPI ranks with a GPU each: ranks communicate between GPUs by NCCL.

If the matrix is sent (`mode` = ship), bound by the link of the first rank's host to its GPU, which all rows pass: rows
for other GPUs are forwarded while the next arrive. If it stays (resident), bound by the GPUs' memory, plus the latency
of a broadcast, a gather and two copies. With `chunks` > 1 a GPU computes while the next rows, or previous results, are
sent. With `graph` on, a GPU's part of a product with a resident matrix is one CUDA graph.
"""

import functools
from collections import deque
from typing import Literal

from ladder import cuda
from ladder.devices import mpi
from ladder.errors import LadderError
from ladder.workloads.gemv import cards

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")
# The bytes of a buffer on the first GPU for rows that are forwarded to another.
PART = 2**28


class Link:
    """NCCL between GPUs; with several pieces, in a separate stream from the one that computes.

    Copies from the first rank's host are in a third stream.
    """

    def __init__(self, problem, rank):
        self.nccl = load_nccl()
        self.rank, self.whole = rank, problem.matrix
        self.type = {"float64": self.nccl.NCCL_FLOAT64, "float32": self.nccl.NCCL_FLOAT32}[problem.sizes["dtype"]]
        self.columns = problem.sizes["m"]
        stream = functools.partial(cuda.load_cupy().cuda.Stream, non_blocking=True)
        self.stream, self.copying = rank.stream if len(rank.pieces) == 1 else stream(), stream()
        self.rows = max(PART // rank.x.nbytes, 1)
        # Rows of other ranks arrive in one of two buffers while the previous ones are sent from the other; each has an
        # event that marks it as free.
        others = [rows for parts in rank.parts[1:] for _, rows in parts] if rank.is_first else []
        shape, free = (min(self.rows, max(others, default=0)), self.columns), self.stream.record()
        self.passing = deque((cuda.empty(shape, rank.x.dtype), free) for _ in range(2))
        self.arrived = {}
        self.cards = communicator()

    def to(self, array, peer):
        """Enqueue the sending of an array to another rank's GPU."""
        if array.size:
            self.cards.send(array.data.ptr, array.size, self.type, peer, self.stream.ptr)

    def into(self, array, peer):
        """Enqueue the receiving of an array from another rank's GPU."""
        if array.size:
            self.cards.recv(array.data.ptr, array.size, self.type, peer, self.stream.ptr)

    def broadcast(self):
        """Broadcast x to every GPU."""
        x = self.rank.x
        follow(self.stream, self.rank.stream)
        if self.rank.is_first:
            cuda.copy_in(x, self.rank.host.x, self.stream)
        self.cards.bcast(x.data.ptr, x.size, self.type, 0, self.stream.ptr)
        follow(self.rank.stream, self.stream)

    def send(self, piece):
        """Enqueue the sending of a piece of the matrix to every GPU, the first rank's last."""
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
        """Rows split into the parts in which they are sent."""
        return [rows[first : first + self.rows] for first in range(0, len(rows), self.rows)]

    def pass_on(self, rows, peer):
        """Enqueue the forwarding of rows from the first rank's host to another GPU."""
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
        """Enqueue the sending of a piece of y to the first GPU, after its computation."""
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
        """Enqueue the copy of y to the host, once it is complete."""
        if self.rank.is_first:
            cuda.copy_out(self.rank.y, self.rank.host.y, self.stream)
        follow(self.rank.stream, self.stream)


def follow(stream, other):
    """Let later work in a stream wait for the current work in the other."""
    if stream is not other:
        stream.wait_event(other.record())


@functools.cache
def communicator():
    """NCCL's communicator of all ranks, cached per process: its creation takes longer than most products."""
    nccl, world = load_nccl(), mpi.communicator()
    name = world.bcast(nccl.get_unique_id() if world.rank == 0 else None)
    return nccl.NcclCommunicator(world.size, name, world.rank)


def load_nccl():
    """CuPy's NCCL. Raises LadderError if there is none."""
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
