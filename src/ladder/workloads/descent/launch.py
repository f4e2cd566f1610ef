"""What the variants with CUDA kernels for a whole step share: arguments, and the distribution of rows among blocks."""

from dataclasses import dataclass

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda.gpus import load_cupy

ALGORITHMS = ("steepest", "cg", "jacobi")
ACCESS_BYTES = 16  # of the widest load
SCRATCH_ELEMENTS = 64  # elements of a block's shared memory for reductions
# For a larger n, several warps share a row.
MAX_SMALL_N = 3072


def make_shares(problem, tiles, blocks=0, **tiling):
    """The Shares with this tiling or, by default, with one of two `tiles`: the second for a large n.

    By default, enough `blocks` compute all rows in one pass of their teams, but at most one per multiprocessor. Raises
    LadderError if a part of the tiling is missing.
    """
    n = problem.sizes["n"]
    (tiling,) = binaries.tiling_or((tiles[n > MAX_SMALL_N],), **tiling)
    return Shares(n, problem.x.dtype.itemsize, blocks or default_blocks(n, tiling), **tiling)


def max_shared_bytes():
    """The maximum bytes of shared memory per block."""
    return load_cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]


@dataclass(frozen=True)
class Shares:
    """The distribution of n rows among `blocks` blocks, and the shared memory that a block needs.

    The tiling: a block has `block` threads in teams of `team`; a team computes `rows` rows at once, and each of its
    threads issues `unroll` loads per row at once.
    """

    n: int
    itemsize: int
    blocks: int
    block: int
    team: int
    rows: int
    unroll: int

    @property
    def max_rows(self):
        """The maximum number of rows of a block."""
        return -(-self.n // self.blocks)

    @property
    def stride(self):
        """The elements of a row, rounded up to whole accesses."""
        width = ACCESS_BYTES // self.itemsize
        return -(-self.n // width) * width

    def tiling(self):
        """The tiling as keyword arguments."""
        return {"block": self.block, "team": self.team, "rows": self.rows, "unroll": self.unroll}

    def fixed_elements(self):
        """The elements of shared memory without the staged part of a vector."""
        return self.max_rows * (1 + self.team // 32) + SCRATCH_ELEMENTS

    def resident_bytes(self):
        """The bytes of shared memory for the largest share of A and a whole vector."""
        return ((self.max_rows + 1) * self.stride + SCRATCH_ELEMENTS) * self.itemsize

    def staged_columns(self):
        """The elements of a vector that are staged at once: all, or those of one of several equal parts.

        A part is a multiple of the elements that a team multiplies at once.
        """
        capacity = max_shared_bytes() // self.itemsize - self.fixed_elements()
        if self.stride <= capacity:
            return self.stride
        step = self.team * self.unroll * ACCESS_BYTES // self.itemsize
        parts = -(-self.n // (capacity // step * step))
        return -(-self.n // (parts * step)) * step

    def staged_bytes(self):
        """The bytes of shared memory for a staged part of a vector, without A."""
        return (self.staged_columns() + self.fixed_elements()) * self.itemsize


def default_blocks(n, tiling):
    """The number of blocks that compute all rows in one pass of their teams, but at most one per multiprocessor."""
    teams = tiling["block"] // tiling["team"]
    return min(cuda.multiprocessors(), -(-n // (teams * tiling["rows"])))


def arguments(problem, blocks):
    """The members of `struct SolveState` in `iteration.cuh`, including the workspace."""
    sizes, empty = problem.sizes, problem.device.empty
    n, dtype = sizes["n"], problem.x.dtype
    workspace = (empty((6 * n + 2 * blocks,), dtype), empty((n,), dtype), empty((sizes["iterations"] + 1,), dtype))
    return (*problem_arrays(problem), *workspace, np.int32(n), *solve_parameters(problem))


def problem_arrays(problem):
    """The problem's arrays as arguments of kernels."""
    return problem.matrix, problem.b, problem.x, problem.history, problem.steps


def solve_parameters(problem):
    """The number of iterations, the algorithm and the tolerance, as arguments of kernels."""
    sizes = problem.sizes
    tolerance = problem.x.dtype.type(sizes["tolerance"])
    return np.int32(sizes["iterations"]), np.int32(ALGORITHMS.index(sizes["algorithm"])), tolerance
