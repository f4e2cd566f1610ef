"""Peer: the training in PyTorch on a GPU, by the same formulas: eager, as one CUDA graph, compiled, or both.

`compiled` is `torch.compile`, which fuses the operations between the products. `math` = tf32 allows products to round
their operands to 11 significant bits.
"""

from typing import Literal

import torch

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import reference
from ladder.workloads.mlp.pytorch_cuda import captured

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
    """One epoch; weights and steps share their memory with the problem's arrays."""
    torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
    layers = range(1, len(reference.widths(problem.sizes)))
    data = [torch.from_dlpack(getattr(problem, name)) for name in ("images", "targets", "ranpat", "error")]
    weights, steps = (
        [torch.from_dlpack(getattr(problem, f"{name}{layer}")) for layer in layers] for name in ("w", "dw")
    )
    rate, momentum = problem.sizes["rate"], problem.sizes["momentum"]
    train = torch.compile(epoch, fullgraph=True) if compiled == "on" else epoch

    def run():
        train(*data, weights, steps, rate, momentum)

    return captured(run) if graph == "on" else run


@torch.no_grad()
def epoch(images, targets, ranpat, error, weights, steps, rate, momentum):
    """An epoch; weights, steps and the error are updated in place."""
    out = [images[ranpat]]
    for w in weights:
        out.append(torch.sigmoid(torch.addmm(w[0], out[-1], w[1:])))
    residual = targets[ranpat] - out[-1]
    error.copy_(0.5 * (residual * residual).sum().reshape(1))
    delta = residual * out[-1] * (1 - out[-1])
    for index in reversed(range(len(weights))):
        below = delta @ weights[index][1:].T * out[index] * (1 - out[index]) if index else None
        steps[index].mul_(momentum)
        steps[index][1:].add_(out[index].T @ delta, alpha=rate)
        steps[index][0].add_(delta.sum(0), alpha=rate)
        delta = below
    for w, dw in zip(weights, steps, strict=True):
        w.add_(dw)
