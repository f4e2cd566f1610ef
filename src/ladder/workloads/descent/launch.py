"""What the CUDA variants with kernels of their own share: workspace, and the distribution of rows among blocks."""

from dataclasses import dataclass

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda.gpus import load_cupy

ALGORITHMS = ("steepest", "cg", "jacobi")
ACCESS = 16  # bytes
SCRATCH = 64  # elements of a block's shared memory for reductions
# Beyond this size several warps share a row.
LARGE = 3072


def shares_of(problem, tiles, blocks=0, **tiling):
    """The Shares of this tiling, or by default of the one of two `tiles` for n.

    By default, there are as many `blocks` as have rows, at most one per multiprocessor. Raises LadderError if a part of
    the tiling is missing.
    """
    n = problem.sizes["n"]
    (tiling,) = binaries.tiling_or((tiles[n > LARGE],), **tiling)
    return Shares(n, problem.x.dtype.itemsize, blocks or enough(n, tiling), **tiling)


def shared_memory():
    """The maximum bytes of shared memory per block."""
    return load_cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]


@dataclass(frozen=True)
class Shares:
    """The distribution of n rows among `blocks` blocks with a tiling, and the shared memory that they need."""

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
        width = ACCESS // self.itemsize
        return -(-self.n // width) * width

    def tiling(self):
        """The tiling by its names."""
        return {"block": self.block, "team": self.team, "rows": self.rows, "unroll": self.unroll}

    def fixed(self):
        """The elements of shared memory without the staged part of a vector."""
        return self.max_rows * (1 + self.team // 32) + SCRATCH

    def resident(self):
        """The bytes of shared memory with the share of A and a whole vector."""
        return ((self.max_rows + 1) * self.stride + SCRATCH) * self.itemsize

    def columns(self):
        """The elements of a vector that are staged at once: all, or equal parts that fill the threads' accesses."""
        capacity = shared_memory() // self.itemsize - self.fixed()
        if self.stride <= capacity:
            return self.stride
        step = self.team * self.unroll * ACCESS // self.itemsize
        parts = -(-self.n // (capacity // step * step))
        return -(-self.n // (parts * step)) * step

    def staged(self):
        """The bytes of shared memory with a part of a vector."""
        return (self.columns() + self.fixed()) * self.itemsize


def enough(n, tiling):
    """The largest number of blocks such that every team has rows, at most that of the GPU's multiprocessors."""
    teams = tiling["block"] // tiling["team"]
    return min(cuda.multiprocessors(), -(-n // (teams * tiling["rows"])))


def arguments(problem, blocks):
    """The arguments of `struct Solve` in `iteration.cuh`, including the workspace."""
    sizes, empty = problem.sizes, problem.device.empty
    n, dtype = sizes["n"], problem.x.dtype
    memory = (empty((6 * n + 2 * blocks,), dtype), empty((n,), dtype), empty((sizes["iterations"] + 1,), dtype))
    return (*outer(problem), *memory, np.int32(n), *limits(problem))


def outer(problem):
    """The problem's arrays as arguments of kernels."""
    return problem.matrix, problem.b, problem.x, problem.history, problem.steps


def limits(problem):
    """The number of iterations, the algorithm and the tolerance as arguments of kernels."""
    sizes = problem.sizes
    tolerance = problem.x.dtype.type(sizes["tolerance"])
    return np.int32(sizes["iterations"]), np.int32(ALGORITHMS.index(sizes["algorithm"])), tolerance
