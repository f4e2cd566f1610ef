"""Peer: GEMM by PyTorch on the CPU, that is, by the BLAS that PyTorch was built with.

In PyTorch's wheels for x86 this BLAS is MKL; `torch.__config__.show()` names it. Forms tn and nt pass transposed views,
so no operand is copied. An addend is copied into the result and added by BLAS with beta = 1, all in one call. The timed
call is a `functools.partial`, which adds no Python code; PyTorch's dispatch takes about a microsecond, longer than the
arithmetic of a tiny product.

On processors by AMD, MKL 2024.2 runs kernels in AVX2 (`mkl_blas_def_dgemm_kernel_zen`) even if they have AVX-512.
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
    a, b, out = map(torch.from_numpy, (problem.a, problem.b, problem.out))
    form = problem.sizes["form"]
    operands = (a.t() if form == "tn" else a, b.t() if form == "nt" else b)
    if problem.c is None:
        return partial(torch.mm, *operands, out=out)
    return partial(torch.addmm, torch.from_numpy(problem.c), *operands, out=out)
