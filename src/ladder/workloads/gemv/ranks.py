"""The partition of the rows among MPI ranks, for all variants on ranks, and the steps of a product on the host.

The first rank's parts of the matrix and the result stay in place. Messages are counted in an MPI datatype of a whole
row, so that a matrix of more than 2**31 elements or bytes can be sent.
"""

from itertools import pairwise

import numpy as np

from ladder.harness.steps import Steps


def partition(count, ranks):
    """Partition `count` rows among ranks: the list of their numbers of rows, and that of their first rows.

    The numbers differ by at most one.
    """
    firsts = [count * rank // ranks for rank in range(ranks + 1)]
    return [end - first for first, end in pairwise(firsts)], firsts[:-1]


def mpi_types(sizes):
    """The MPI datatypes of an element and of a row of the matrix."""
    from mpi4py.util.dtlib import from_numpy_dtype

    element = from_numpy_dtype(np.dtype(sizes["dtype"]))
    return element, element.Create_contiguous(sizes["m"]).Commit()


def in_place():
    """MPI's marker for the first rank's own part, which stays in place."""
    from mpi4py import MPI

    return MPI.IN_PLACE


def steps(problem, multiply, mode):
    """The Steps of a product, of which `multiply(matrix, x, y)` computes a rank's part.

    With `mode` = ship, every timed call scatters the matrix. With resident, it is scattered beforehand, and a call
    communicates only x and y.
    """
    world, n, m = problem.device.communicator(), problem.sizes["n"], problem.sizes["m"]
    dtype = np.dtype(problem.sizes["dtype"])
    counts, firsts = partition(n, world.size)
    count = counts[world.rank]
    is_first = world.rank == 0
    element, row = mpi_types(problem.sizes)
    if is_first:
        matrix, x, y = problem.matrix[:count], problem.x, problem.y[:count]
    else:
        matrix, x, y = (problem.device.empty(shape, dtype) for shape in ((count, m), (m,), (count,)))

    def scatter():
        send_buffer = [problem.matrix, counts, firsts, row] if is_first else None
        world.Scatterv(send_buffer, in_place() if is_first else [matrix, count, row])

    def gather():
        receive_buffer = [problem.y, counts, firsts, element] if is_first else None
        world.Gatherv(in_place() if is_first else [y, count, element], receive_buffer)

    scattering = [("scatter", scatter)]
    product = [
        ("broadcast", lambda: world.Bcast([x, element])),
        ("compute", lambda: multiply(matrix, x, y)),
        ("gather", gather),
    ]
    return Steps([*scattering, *product]) if mode == "ship" else Steps(product, prepare=scattering)
