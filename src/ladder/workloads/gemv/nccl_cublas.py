"""GEMV by cuBLAS on MPI ranks with a GPU each: ranks communicate between GPUs by NCCL.

If every product sends the matrix (`mode` = ship), the product is bound by the link of the first rank's host to its GPU,
which all rows cross: rows for other GPUs are forwarded while the next arrive. If the matrix is resident, it is bound by
the GPUs' memory, plus the latency of a broadcast, a gather and two copies. With `chunks` > 1 a GPU computes while the
next rows, or the previous results, are sent. With `graph` on, a GPU's part of a product with a resident matrix is one
CUDA graph.
"""

import functools
from collections import deque
from typing import Literal

from ladder import cuda
from ladder.devices import mpi
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemv import gpus

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")
# The size of a buffer on the first GPU for rows that are forwarded to another.
BUFFER_BYTES = 2**28


class Link:
    """NCCL between GPUs in `stream`: with one piece the rank's stream, which computes, else a separate one.

    Rows of the matrix are copied from the first rank's host in a stream of their own, `copy_stream`, so that NCCL
    sends earlier rows meanwhile; x and y are copied in `stream`.
    """

    def __init__(self, problem, rank):
        self.nccl = load_nccl()
        self.rank, self.matrix = rank, problem.matrix
        self.type = {"float64": self.nccl.NCCL_FLOAT64, "float32": self.nccl.NCCL_FLOAT32}[problem.sizes["dtype"]]
        make_stream = functools.partial(cuda.load_cupy().cuda.Stream, non_blocking=True)
        self.stream = rank.stream if len(rank.slices) == 1 else make_stream()
        self.copy_stream = make_stream()
        self.buffer_rows = max(BUFFER_BYTES // rank.x.nbytes, 1)  # a row of the matrix has as many bytes as x
        # Rows of other ranks arrive in one of two buffers while earlier rows are sent from the other. The event of a
        # buffer marks it as free.
        counts = [rows for pieces in rank.pieces_by_rank[1:] for _, rows in pieces] if rank.is_first else []
        shape = (min(self.buffer_rows, max(counts, default=0)), problem.sizes["m"])
        free_event = self.stream.record()
        self.buffers = deque((cuda.empty(shape, rank.x.dtype), free_event) for _ in range(2))
        self.arrival_events = {}
        self.communicator = communicator()

    def send_array(self, array, peer):
        """Enqueue the sending of an array to another rank's GPU."""
        if array.size:
            self.communicator.send(array.data.ptr, array.size, self.type, peer, self.stream.ptr)

    def receive_array(self, array, peer):
        """Enqueue the receiving of an array from another rank's GPU."""
        if array.size:
            self.communicator.recv(array.data.ptr, array.size, self.type, peer, self.stream.ptr)

    def broadcast(self):
        """Broadcast x to every GPU."""
        x = self.rank.x
        wait_for_stream(self.stream, self.rank.stream)
        if self.rank.is_first:
            cuda.copy_in(x, self.rank.host.x, self.stream)
        self.communicator.bcast(x.data.ptr, x.size, self.type, 0, self.stream.ptr)
        wait_for_stream(self.rank.stream, self.stream)

    def start_scatter(self, piece):
        """Enqueue the transfer of a piece of the matrix from the first rank's host to every GPU, its own last."""
        rows = self.rank.matrix[self.rank.slices[piece]]
        if self.rank.is_first:
            for peer, pieces in reversed(list(enumerate(self.rank.pieces_by_rank))):
                first, count = pieces[piece]
                host_rows = self.matrix[first : first + count]
                if peer:
                    for part in self.split(host_rows):
                        self.forward(part, peer)
                elif count:
                    rows.set(host_rows, stream=self.copy_stream)
            self.arrival_events[piece] = self.copy_stream.record()
        else:
            for part in self.split(rows):
                self.receive_array(part, 0)
            self.arrival_events[piece] = self.stream.record()

    def split(self, rows):
        """The parts of rows that are sent one by one, each at most a buffer."""
        return [rows[first : first + self.buffer_rows] for first in range(0, len(rows), self.buffer_rows)]

    def forward(self, rows, peer):
        """Enqueue the transfer of rows from the first rank's host to another GPU."""
        buffer, free_event = self.buffers.popleft()
        array = buffer[: len(rows)]
        self.copy_stream.wait_event(free_event)
        array.set(rows, stream=self.copy_stream)
        wait_for_stream(self.stream, self.copy_stream)
        self.send_array(array, peer)
        self.buffers.append((buffer, self.stream.record()))

    def await_piece(self, piece):
        """Let the computing stream wait for a piece."""
        self.rank.stream.wait_event(self.arrival_events.pop(piece))

    def collect(self, piece):
        """Enqueue the transfer of a piece of y to the first GPU, after its computation."""
        wait_for_stream(self.stream, self.rank.stream)
        self.nccl.groupStart()
        if self.rank.is_first:
            for peer, pieces in enumerate(self.rank.pieces_by_rank):
                first, count = pieces[piece]
                if peer:
                    self.receive_array(self.rank.y[first : first + count], peer)
        else:
            self.send_array(self.rank.y[self.rank.slices[piece]], 0)
        self.nccl.groupEnd()

    def finish(self):
        """Enqueue the copy of y to the host, once it is complete."""
        if self.rank.is_first:
            cuda.copy_out(self.rank.y, self.rank.host.y, self.stream)
        wait_for_stream(self.rank.stream, self.stream)


def wait_for_stream(stream, other):
    """Let later work in `stream` wait for all work enqueued in `other`."""
    if stream is not other:
        stream.wait_event(other.record())


@functools.cache
def communicator():
    """NCCL's communicator of all ranks, cached per process: its creation takes longer than most products."""
    nccl, world = load_nccl(), mpi.communicator()
    unique_id = world.bcast(nccl.get_unique_id() if world.rank == 0 else None)
    return nccl.NcclCommunicator(world.size, unique_id, world.rank)


def load_nccl():
    """CuPy's module of NCCL. Raises LadderError if there is none."""
    cuda.load_cupy()
    from cupy.cuda import nccl

    if not nccl.available:
        raise LadderError("CuPy finds no NCCL: run `make setup GPU=1` in the project's folder.")
    return nccl


def setup(
    problem: Problem,
    *,
    ranks: int,
    mode: Literal["ship", "resident"],
    chunks: int = 1,
    graph: Literal["off", "on"] = "off",
) -> Run:
    """The product's steps on the ranks that the launcher has started, each rank's rows in `chunks` pieces."""
    return gpus.steps(problem, mode, chunks, Link, graph)
