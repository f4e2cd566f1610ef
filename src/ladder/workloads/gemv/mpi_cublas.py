"""GEMV on ranks of MPI with a GPU each, cuBLAS computing: everything that travels goes through the hosts' memory.

When the matrix travels (`mode` = ship), bound by MPI's copies of it from one process's memory to another's, and by the
link to the cards; when it stays (resident), by the cards' memory, plus the latency of a broadcast, a gathering and
four copies. `chunks` > 1 lets the card work while MPI sends.
"""

from typing import Literal

from ladder.workloads.gemv import cards, ranks

DEVICE = "mpi_cuda"
RUNTIME = "cuda"
REQUIRES = ("mpi4py", "cupy")


class Link:
    """MPI between pinned arrays of the hosts, copied from and to the cards in the rank's stream."""

    def __init__(self, problem, rank):
        self.rank, self.whole, self.is_first = rank, problem.matrix, rank.is_first
        # The first rank's rows go to its card from where they are.
        self.staged = problem.matrix if rank.is_first else problem.device.empty(rank.matrix.shape, rank.matrix.dtype)
        self.element, self.row = ranks.types(problem.sizes)
        self.sent, self.leaving = {}, []

    def broadcast(self):
        """x to every card."""
        self.rank.world.Bcast([self.rank.host.x, self.element])
        self.rank.x.set(self.rank.host.x, stream=self.rank.stream)

    def layout(self, piece):
        """Rows and first rows of a piece of every rank."""
        firsts, counts = zip(*(parts[piece] for parts in self.rank.parts), strict=True)
        return list(counts), list(firsts)

    def send(self, piece):
        """Have a piece of the matrix sent to every host."""
        here, mine = self.rank.pieces[piece], self.rank.parts[self.rank.world.rank][piece][1]
        whole = [self.whole, *self.layout(piece), self.row] if self.is_first else None
        own = ranks.in_place() if self.is_first else [self.staged[here], mine, self.row]
        self.sent[piece] = self.rank.world.Iscatterv(whole, own)

    def receive(self, piece):
        """Have a piece copied to the card once it is here."""
        self.sent.pop(piece).Wait()
        here = self.rank.pieces[piece]
        if here.stop > here.start:
            self.rank.matrix[here].set(self.staged[here], stream=self.rank.stream)

    def collect(self, piece):
        """Have a piece of y copied to the host once it is computed."""
        here = self.rank.pieces[piece]
        if here.stop > here.start:
            self.rank.y[here].get(out=self.rank.host.y[here], stream=self.rank.stream, blocking=False)
        self.leaving.append((piece, self.rank.stream.record()))

    def finish(self):
        """Gather the pieces of y that were collected, each as soon as it is on its host."""
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
