"""The steps of a product on MPI ranks with a GPU each; each rank has a part of the rows, in pieces.

With more than one piece, a GPU computes one while the next is sent, or while the previous result is gathered. The
communication is in a variant's class `Link(problem, rank)`, where `rank` is the result of `allocate_rank`:

| method | what it does |
| --- | --- |
| `broadcast()` | copies x from the first rank's host to every GPU |
| `start_scatter(piece)` | starts the transfer of a piece of the matrix from the first rank's host to every rank |
| `await_piece(piece)` | makes later work in the rank's stream wait until the piece has arrived on its GPU |
| `collect(piece)` | starts to send the computed piece of y towards the first rank's host |
| `finish()` | completes y on the first rank's host |
"""

from types import SimpleNamespace

from ladder import cuda
from ladder.errors import LadderError
from ladder.harness.steps import Steps, chain_steps
from ladder.workloads.gemv.cublas import product
from ladder.workloads.gemv.ranks import partition


def split_rows(count, ranks, chunks):
    """The pieces of every rank's rows, [[(first row in the matrix, rows), ...], ...], some possibly empty.

    Each rank's rows are split into `chunks` pieces whose lengths differ by at most one.
    """
    pieces_by_rank = []
    for rows, start in zip(*partition(count, ranks), strict=True):
        lengths, firsts = partition(rows, chunks)
        pieces_by_rank.append([(start + first, length) for first, length in zip(firsts, lengths, strict=True)])
    return pieces_by_rank


def allocate_rank(problem, chunks):
    """A rank's data: the pieces of all ranks, its rows of the matrix in slices, and matrix, x and y on its GPU.

    On the first rank, `y` and `host.y` have all rows of the result, so that it can be gathered in either.
    """
    world, device = problem.device.communicator(), problem.device
    n, m, dtype = (problem.sizes[name] for name in ("n", "m", "dtype"))
    pieces_by_rank = split_rows(n, world.size, chunks)
    pieces = pieces_by_rank[world.rank]
    is_first = world.rank == 0
    start = pieces[0][0]
    count = sum(rows for _, rows in pieces)
    host = problem if is_first else SimpleNamespace(x=device.empty((m,), dtype), y=device.empty((count,), dtype))
    return SimpleNamespace(
        world=world,
        pieces_by_rank=pieces_by_rank,
        slices=[slice(first - start, first - start + rows) for first, rows in pieces],
        is_first=is_first,
        host=host,
        matrix=cuda.empty((count, m), dtype),
        x=cuda.empty((m,), dtype),
        y=cuda.empty((n if is_first else count,), dtype),
        stream=cuda.load_cupy().cuda.Stream(non_blocking=True),
    )


def steps(problem, mode, chunks, make_link, graph="off"):
    """The Steps of a product with the link `make_link(problem, rank)`; `mode` is as in `ladder.workloads.gemv.ranks`.

    A step may return before the GPU has finished its work; the last one waits for all of it. With `graph` = on, the
    call that is timed as a whole launches all steps of a GPU as one CUDA graph. It is captured from the rank's stream,
    so each of the link's other streams must first wait for that stream, which must wait for all of them at the end.
    Raises LadderError for a graph with `mode` = ship.
    """
    if graph == "on" and mode != "resident":
        raise LadderError(f"graph=on needs mode=resident, but has mode={mode}.")
    rank = allocate_rank(problem, chunks)
    link, pieces = make_link(problem, rank), range(chunks)
    products = [
        product(rank.matrix[rows], rank.x, rank.y[rows]) if rows.stop > rows.start else lambda: None
        for rows in rank.slices
    ]

    def compute(piece):
        with rank.stream:
            products[piece]()

    def scatter(after_piece=lambda piece: None):
        link.start_scatter(0)
        for piece in pieces:
            link.await_piece(piece)
            if piece + 1 < chunks:
                link.start_scatter(piece + 1)
            after_piece(piece)

    def scatter_and_compute():
        scatter(after_piece=compute)

    def compute_all(after_piece=lambda piece: None):
        for piece in pieces:
            compute(piece)
            after_piece(piece)

    def gather():
        for piece in pieces:
            link.collect(piece)
        link.finish()

    def compute_and_gather():
        compute_all(after_piece=link.collect)
        link.finish()

    run, prepare = [("broadcast", link.broadcast)], []
    # `separate_steps` are those for one piece, `overlapped_steps` those for several.
    if mode == "resident":
        separate_steps, overlapped_steps = (
            [("compute", compute_all), ("gather", gather)],
            [("compute and gather", compute_and_gather)],
        )
        prepare += [("scatter", scatter)]
        run += separate_steps if chunks == 1 else overlapped_steps
    else:
        separate_steps, overlapped_steps = (
            [("scatter", scatter), ("compute", compute_all)],
            [("scatter and compute", scatter_and_compute)],
        )
        run += [*(separate_steps if chunks == 1 else overlapped_steps), ("gather", gather)]
    at_once = None
    if graph == "on":
        at_once = chain_steps(with_synchronization([("graph", cuda.capture(chain_steps(run), rank.stream))]))
    return Steps(with_synchronization(run), with_synchronization(prepare), at_once=at_once)


def with_synchronization(steps):
    """The steps, with a last one that also waits until the GPU has completed all of them."""
    return [*steps[:-1], *((name, lambda step=step: (step(), cuda.synchronize())) for name, step in steps[-1:])]
