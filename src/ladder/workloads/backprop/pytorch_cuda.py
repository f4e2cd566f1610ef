"""Peer: the training in PyTorch on a GPU, by the formulas of `pytorch`: eager, as one CUDA graph, compiled, or both.

`compiled` is `torch.compile`, which fuses the operations between the products. `math` = tf32 allows products to round
their operands to 11 significant bits.
"""

from typing import Literal

import torch

from ladder.build import torch_compiler
from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import pytorch, reference
from ladder.workloads.mlp.pytorch_cuda import capture_graph

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("torch", "cupy")


def setup(
    problem: Problem,
    *,
    graph: Literal["off", "on"] = "off",
    compiled: Literal["off", "on"] = "off",
    math: Literal["default", "tf32"] = "default",
) -> Run:
    """One epoch; weights and weight changes share their memory with the problem's arrays.

    Raises LadderError if PyTorch can't compile it.
    """
    torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
    layers = range(1, len(reference.widths(problem.sizes)))
    # ranpat is the order of the patterns.
    data = [torch.from_dlpack(getattr(problem, name)) for name in ("images", "targets", "ranpat", "error")]
    weights, changes = (
        [torch.from_dlpack(getattr(problem, f"{name}{layer}")) for layer in layers] for name in ("w", "dw")
    )
    rate, momentum = problem.sizes["rate"], problem.sizes["momentum"]
    train = torch_compiler.compile_whole(epoch) if compiled == "on" else epoch

    def run():
        train(*data, weights, changes, rate, momentum)

    if compiled == "on":
        torch_compiler.compile_ahead(run)
    return capture_graph(run) if graph == "on" else run


@torch.no_grad()
def epoch(images, targets, ranpat, error, weights, changes, rate, momentum):
    """An epoch; weights, weight changes and the error are updated in place."""
    for dw in changes:
        dw.mul_(momentum)
    error.copy_(pytorch.add_gradients(images, targets, weights, changes, rate, ranpat).reshape(1))
    for w, dw in zip(weights, changes, strict=True):
        w.add_(dw)
