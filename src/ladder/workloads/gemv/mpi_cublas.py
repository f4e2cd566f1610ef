"""GEMV by cuBLAS on MPI ranks with a GPU each: all communication goes through the hosts' memory.

If every product sends the matrix (`mode` = ship), the product is bound by MPI's copies between processes and by the
link to the GPUs. If the matrix is resident, it is bound by the GPUs' memory, plus the latency of a broadcast, a gather
and four copies. With `chunks` > 1 the GPU computes while MPI sends.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemv import gpus, ranks

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")


class Link:
    """MPI between pinned arrays of the hosts, copied from and to the GPUs in the rank's stream."""

    def __init__(self, problem, rank):
        self.rank, self.matrix, self.is_first = rank, problem.matrix, rank.is_first
        # The first rank's rows are copied to its GPU directly.
        self.host_matrix = (
            problem.matrix if rank.is_first else problem.device.empty(rank.matrix.shape, rank.matrix.dtype)
        )
        self.element, self.row = ranks.mpi_types(problem.sizes)
        self.requests, self.copies = {}, []  # of pieces of the matrix; of pieces of y to the host

    def broadcast(self):
        """Broadcast x to every GPU."""
        self.rank.world.Bcast([self.rank.host.x, self.element])
        self.rank.x.set(self.rank.host.x, stream=self.rank.stream)

    def layout(self, piece):
        """The numbers of rows, and the first rows, of a piece of every rank."""
        firsts, counts = zip(*(pieces[piece] for pieces in self.rank.pieces_by_rank), strict=True)
        return list(counts), list(firsts)

    def local_rows(self, piece):
        """The slice and the number of this rank's rows in a piece."""
        return self.rank.slices[piece], self.rank.pieces_by_rank[self.rank.world.rank][piece][1]

    def start_scatter(self, piece):
        """Start the transfer of a piece of the matrix from the first rank's host to every host."""
        rows, count = self.local_rows(piece)
        send_buffer = [self.matrix, *self.layout(piece), self.row] if self.is_first else None
        receive_buffer = ranks.in_place() if self.is_first else [self.host_matrix[rows], count, self.row]
        self.requests[piece] = self.rank.world.Iscatterv(send_buffer, receive_buffer)

    def await_piece(self, piece):
        """Wait for a piece on the host, then enqueue its copy to the GPU."""
        self.requests.pop(piece).Wait()
        rows = self.rank.slices[piece]
        if rows.stop > rows.start:
            self.rank.matrix[rows].set(self.host_matrix[rows], stream=self.rank.stream)

    def collect(self, piece):
        """Enqueue the copy of a piece of y to the host, after its computation."""
        rows = self.rank.slices[piece]
        if rows.stop > rows.start:
            self.rank.y[rows].get(out=self.rank.host.y[rows], stream=self.rank.stream, blocking=False)
        self.copies.append((piece, self.rank.stream.record()))

    def finish(self):
        """Gather the collected pieces of y, each as soon as it is on its host."""
        requests = []
        for piece, copy_event in self.copies:
            copy_event.synchronize()
            rows, count = self.local_rows(piece)
            receive_buffer = [self.rank.host.y, *self.layout(piece), self.element] if self.is_first else None
            send_buffer = ranks.in_place() if self.is_first else [self.rank.host.y[rows], count, self.element]
            requests.append(self.rank.world.Igatherv(send_buffer, receive_buffer))
        for request in requests:
            request.Wait()
        self.copies.clear()


def setup(problem: Problem, *, ranks: int, mode: Literal["ship", "resident"], chunks: int = 1) -> Run:
    """The product's steps on the ranks that the launcher has started, each rank's rows in `chunks` pieces."""
    return gpus.steps(problem, mode, chunks, Link)
