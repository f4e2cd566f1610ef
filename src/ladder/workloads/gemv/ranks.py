"""What the variants on MPI ranks share: each rank's part of the rows, and its communication.

The first rank's part of matrix and result stays in place. A row is one element of an MPI datatype, so that a matrix of
more than 2**31 elements or bytes can be sent.
"""

from itertools import pairwise

import numpy as np

from ladder.harness.steps import Steps


def rows_of(count, ranks):
    """Partition `count` rows among ranks: a list of each rank's number of rows, and one of each rank's first row.

    The numbers differ by at most one.
    """
    firsts = [count * rank // ranks for rank in range(ranks + 1)]
    return [end - first for first, end in pairwise(firsts)], firsts[:-1]


def types(sizes):
    """The MPI datatypes of an element and of a row of the matrix."""
    from mpi4py.util.dtlib import from_numpy_dtype

    element = from_numpy_dtype(np.dtype(sizes["dtype"]))
    return element, element.Create_contiguous(sizes["m"]).Commit()


def in_place():
    """MPI's marker for the first rank's own part, which stays in place."""
    from mpi4py import MPI

    return MPI.IN_PLACE


def steps(problem, multiply, mode):
    """The Steps of a product: `multiply(matrix, x, y)` computes a rank's part.

    In the mode `ship` every timed call scatters the matrix; in `resident` it is scattered beforehand, and a call
    communicates only x and y.
    """
    world, n, m = problem.device.communicator(), problem.sizes["n"], problem.sizes["m"]
    dtype = np.dtype(problem.sizes["dtype"])
    counts, firsts = rows_of(n, world.size)
    count, is_first = counts[world.rank], world.rank == 0
    element, row = types(problem.sizes)
    if is_first:
        matrix, x, y = problem.matrix[:count], problem.x, problem.y[:count]
    else:
        matrix, x, y = (problem.device.empty(shape, dtype) for shape in ((count, m), (m,), (count,)))

    def scatter():
        whole = [problem.matrix, counts, firsts, row] if is_first else None
        world.Scatterv(whole, in_place() if is_first else [matrix, count, row])

    def gather():
        whole = [problem.y, counts, firsts, element] if is_first else None
        world.Gatherv(in_place() if is_first else [y, count, element], whole)

    sending = [("scatter", scatter)]
    rest = [
        ("broadcast", lambda: world.Bcast([x, element])),
        ("compute", lambda: multiply(matrix, x, y)),
        ("gather", gather),
    ]
    return Steps([*sending, *rest]) if mode == "ship" else Steps(rest, prepare=sending)
