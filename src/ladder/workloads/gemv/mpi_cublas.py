"""GEMV by cuBLAS on MPI ranks with a GPU each: all communication goes through the hosts' memory.

If the matrix is sent (`mode` = ship), bound by MPI's copies between processes, and by the link to the GPUs; if it stays
(resident), by the GPUs' memory, plus the latency of a broadcast, a gather and four copies. With `chunks` > 1 the GPU
computes while MPI sends.
"""

from typing import Literal

from ladder.workloads.gemv import cards, ranks

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")


class Link:
    """MPI between pinned arrays of the hosts, copied from and to the GPUs in the rank's stream."""

    def __init__(self, problem, rank):
        self.rank, self.whole, self.is_first = rank, problem.matrix, rank.is_first
        # The first rank's rows are copied to its GPU directly.
        self.staged = problem.matrix if rank.is_first else problem.device.empty(rank.matrix.shape, rank.matrix.dtype)
        self.element, self.row = ranks.types(problem.sizes)
        self.sent, self.leaving = {}, []

    def broadcast(self):
        """Broadcast x to every GPU."""
        self.rank.world.Bcast([self.rank.host.x, self.element])
        self.rank.x.set(self.rank.host.x, stream=self.rank.stream)

    def layout(self, piece):
        """Rows and first rows of a piece of every rank."""
        firsts, counts = zip(*(parts[piece] for parts in self.rank.parts), strict=True)
        return list(counts), list(firsts)

    def send(self, piece):
        """Start to send a piece of the matrix to every host."""
        here, mine = self.rank.pieces[piece], self.rank.parts[self.rank.world.rank][piece][1]
        whole = [self.whole, *self.layout(piece), self.row] if self.is_first else None
        own = ranks.in_place() if self.is_first else [self.staged[here], mine, self.row]
        self.sent[piece] = self.rank.world.Iscatterv(whole, own)

    def receive(self, piece):
        """Copy a piece to the GPU once it has arrived."""
        self.sent.pop(piece).Wait()
        here = self.rank.pieces[piece]
        if here.stop > here.start:
            self.rank.matrix[here].set(self.staged[here], stream=self.rank.stream)

    def collect(self, piece):
        """Enqueue the copy of a piece of y to the host, after its computation."""
        here = self.rank.pieces[piece]
        if here.stop > here.start:
            self.rank.y[here].get(out=self.rank.host.y[here], stream=self.rank.stream, blocking=False)
        self.leaving.append((piece, self.rank.stream.record()))

    def finish(self):
        """Gather the collected pieces of y, each as soon as it is on its host."""
        requests = []
        for piece, copied in self.leaving:
            copied.synchronize()
            here, mine = self.rank.pieces[piece], self.rank.parts[self.rank.world.rank][piece][1]
            whole = [self.rank.host.y, *self.layout(piece), self.element] if self.is_first else None
            own = ranks.in_place() if self.is_first else [self.rank.host.y[here], mine, self.element]
            requests.append(self.rank.world.Igatherv(own, whole))
        for request in requests:
            request.Wait()
        self.leaving.clear()


def setup(problem, *, ranks: int, mode: Literal["ship", "resident"], chunks: int = 1):
    """The product's steps on the ranks that the launcher has started, each rank's rows in `chunks` pieces."""
    return cards.steps(problem, mode, chunks, Link)
