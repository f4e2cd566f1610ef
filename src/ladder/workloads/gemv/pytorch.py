"""Peer: GEMV by PyTorch on the CPU, that is, by the BLAS that PyTorch was built with.

In PyTorch's wheels for x86 this BLAS is MKL; `torch.__config__.show()` names it. Nothing is copied. The timed call is a
`functools.partial`, which adds no Python code. Large products are memory-bound; the time of a tiny one is PyTorch's
dispatch, about half a microsecond.
"""

from functools import partial

import torch

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "torch"
PEER = True
REQUIRES = ("torch",)


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed product, of tensors that share the memory of the problem's arrays."""
    torch.set_num_threads(threads)
    matrix, x, y = map(torch.from_numpy, (problem.matrix, problem.x, problem.y))
    return partial(torch.mv, matrix, x, out=y)
