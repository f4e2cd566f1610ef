"""What the variants on ranks with a GPU each share: a rank's rows on its card in pieces, and the product's steps.

A variant's link brings pieces of the matrix from the first rank to the cards, x to all of them, and y back. With more
than one piece a card works on one while the next is on its way, or while the result of the one before is.
"""

from types import SimpleNamespace

from ladder.devices import cuda
from ladder.errors import LadderError
from ladder.harness.steps import Steps, in_order
from ladder.workloads.gemv.cublas import product
from ladder.workloads.gemv.ranks import rows_of


def parts_of(count, ranks, chunks):
    """Of every rank's rows the pieces: [[(first row in the matrix, rows), ...], ...], none of them missing, some empty.

    Each rank's rows are cut into `chunks` pieces whose lengths differ by at most one.
    """
    parts = []
    for rows, start in zip(*rows_of(count, ranks), strict=True):
        counts, firsts = rows_of(rows, chunks)
        parts.append([(start + first, count) for first, count in zip(firsts, counts, strict=True)])
    return parts


def rank_of(problem, chunks):
    """What a rank has: its number, the pieces of all ranks, and matrix, x and y on its card, y its part alone.

    On the first rank y is whole, as `host.y` is, so that the results of all can be gathered in either.
    """
    world, device = problem.device.communicator(), problem.device
    n, m, dtype = (problem.sizes[name] for name in ("n", "m", "dtype"))
    parts = parts_of(n, world.size, chunks)
    own, is_first = parts[world.rank], world.rank == 0
    start, count = own[0][0], sum(rows for _, rows in own)
    host = problem if is_first else SimpleNamespace(x=device.empty((m,), dtype), y=device.empty((count,), dtype))
    return SimpleNamespace(
        world=world,
        parts=parts,
        pieces=[slice(first - start, first - start + rows) for first, rows in own],
        is_first=is_first,
        host=host,
        matrix=cuda.empty((count, m), dtype),
        x=cuda.empty((m,), dtype),
        y=cuda.empty((n if is_first else count,), dtype),
        stream=cuda.load_cupy().cuda.Stream(non_blocking=True),
    )


def steps(problem, mode, chunks, link_of, graph="off"):
    """The Steps of a product on cards that `link_of(problem, rank)` links; as in `ladder.workloads.gemv.ranks`.

    Steps follow each other on the cards without the host's waiting for them, except for the last. With `graph` on, a
    card's are one CUDA graph besides, for which the link's work must begin after the rank's stream and end before it.
    Raises LadderError for a graph of a matrix that travels.
    """
    if graph == "on" and mode != "resident":
        raise LadderError(f"graph=on needs mode=resident, but has mode={mode}.")
    rank = rank_of(problem, chunks)
    link, pieces = link_of(problem, rank), range(chunks)
    products = [
        product(rank.matrix[here], rank.x, rank.y[here]) if here.stop > here.start else lambda: None
        for here in rank.pieces
    ]

    def compute(piece):
        with rank.stream:
            products[piece]()

    def scatter(then=lambda piece: None):
        link.send(0)
        for piece in pieces:
            link.receive(piece)
            if piece + 1 < chunks:
                link.send(piece + 1)
            then(piece)

    def scatter_and_compute():
        scatter(then=compute)

    def compute_all(then=lambda piece: None):
        for piece in pieces:
            compute(piece)
            then(piece)

    def gather():
        for piece in pieces:
            link.collect(piece)
        link.finish()

    def compute_and_gather():
        compute_all(then=link.collect)
        link.finish()

    run, prepare = [("broadcast", link.broadcast)], []
    if mode == "resident":
        apart, together = [("compute", compute_all), ("gather", gather)], [("compute and gather", compute_and_gather)]
        prepare += [("scatter", scatter)]
        run += apart if chunks == 1 else together
    else:
        apart, together = (
            [("scatter", scatter), ("compute", compute_all)],
            [("scatter and compute", scatter_and_compute)],
        )
        run += [*(apart if chunks == 1 else together), ("gather", gather)]
    whole = None
    if graph == "on":
        whole = in_order(awaited([("graph", cuda.captured(in_order(run), rank.stream))]))
    return Steps(awaited(run), awaited(prepare), whole)


def awaited(steps):
    """The steps, of which the last ends when the card has done them all."""
    return [*steps[:-1], *((name, lambda step=step: (step(), cuda.synchronize())) for name, step in steps[-1:])]
