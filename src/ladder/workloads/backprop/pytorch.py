"""Peer: the same training in PyTorch on the CPU, `block` patterns at a time.

`gradients` are computed by `autograd`, as most users do, or `by_hand`: by the formulas of the layers, on preallocated
tensors or, with `compiled`, by `torch.compile`, which fuses what lies between the products. The update is written out
because PyTorch's optimizers define the momentum differently.
"""

import functools
import itertools
from typing import Literal

import torch

from ladder.build import torch_compiler
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "torch"
PEER = True
REQUIRES = ("torch",)
LIMITS = {"block": (1, 65536)}


def setup(
    problem: Problem,
    *,
    threads: int,
    gradients: Literal["autograd", "by_hand"] = "autograd",
    compiled: Literal["off", "on"] = "off",
    block: int = 65536,
) -> Run:
    """The timed epoch; weights and weight changes share their memory with the problem's arrays.

    Raises LadderError for autograd with `compiled`, and if PyTorch can't compile the formulas.
    """
    if (gradients, compiled) == ("autograd", "on"):
        raise LadderError("compiled=on of backprop/pytorch needs gradients=by_hand: only these formulas are compiled.")
    torch.set_num_threads(threads)
    weights, changes = (
        [bias_and_weights(torch.from_numpy(array)) for array in layer_arrays(problem, name)] for name in ("w", "dw")
    )
    make_adder = {"autograd": autograd_adder, "by_hand": formula_adder if compiled == "off" else compiled_adder}[
        gradients
    ]
    add = make_adder(problem, weights, changes, block)
    parameters, flat_changes = list(itertools.chain(*weights)), list(itertools.chain(*changes))
    blocks, error = torch.from_numpy(problem.ranpat).split(block), torch.from_numpy(problem.error)

    @torch.no_grad()
    def epoch():
        error.zero_()
        torch._foreach_mul_(flat_changes, problem.sizes["momentum"])
        for rows in blocks:
            error.add_(add(rows))
        torch._foreach_add_(parameters, flat_changes)

    if compiled == "on":
        torch_compiler.compile_ahead(epoch)  # the last block may be smaller, so all of them
    return epoch


def layer_arrays(problem, name):
    """The problem's arrays `name`1, `name`2, ..., by layer; `name` is w for weights, dw for weight changes."""
    return [getattr(problem, f"{name}{layer}") for layer in range(1, problem.sizes["layers"].count("-") + 1)]


def bias_and_weights(tensor):
    """(bias, weights) of a layer."""
    return tensor[0], tensor[1:]


def autograd_adder(problem, weights, changes, block):
    """A function that adds the gradients of some patterns to the weight changes, by autograd, and returns the error."""
    images, targets = torch.from_numpy(problem.images), torch.from_numpy(problem.targets)
    leaves = [tensor.requires_grad_() for pair in weights for tensor in pair]
    flat_changes = list(itertools.chain(*changes))

    def add(rows):
        with torch.enable_grad():
            out = images[rows]
            for bias, weight in weights:
                out = torch.sigmoid(torch.addmm(bias, out, weight))
            loss = 0.5 * torch.nn.functional.mse_loss(out, targets[rows], reduction="sum")
            gradients = torch.autograd.grad(loss, leaves)
        torch._foreach_add_(flat_changes, gradients, alpha=-problem.sizes["rate"])
        return loss.detach()

    return add


def formula_adder(problem, weights, changes, block):
    """The same as `autograd_adder`, by the formulas of the layers and without allocations per block."""
    images, targets = torch.from_numpy(problem.images), torch.from_numpy(problem.targets)
    size, sigmoid_backward = min(block, len(problem.ranpat)), torch.ops.aten.sigmoid_backward.grad_input
    widths = [len(bias) for bias, _ in weights]
    outs, deltas = ([images.new_empty(size, width) for width in [first, *widths]] for first in (images.shape[1], 0))

    def add(rows):
        out, delta = ([array[: len(rows)] for array in arrays] for arrays in (outs, deltas))
        torch.index_select(images, 0, rows, out=out[0])
        torch.index_select(targets, 0, rows, out=delta[-1])
        for out_below, out_above, (bias, weight) in zip(out, out[1:], weights, strict=False):
            torch.addmm(bias, out_below, weight, out=out_above).sigmoid_()
        delta[-1].sub_(out[-1])
        error = 0.5 * delta[-1].square().sum()
        for layer in range(len(weights), 0, -1):
            sigmoid_backward(delta[layer], out[layer], grad_input=delta[layer])
            bias_change, weight_change = changes[layer - 1]
            weight_change.addmm_(out[layer - 1].t(), delta[layer], alpha=problem.sizes["rate"])
            bias_change.add_(delta[layer].sum(dim=0), alpha=problem.sizes["rate"])
            if layer > 1:
                torch.mm(delta[layer], weights[layer - 1][1].t(), out=delta[layer - 1])
        return error

    return add


def compiled_adder(problem, weights, changes, block):
    """The same as `formula_adder`, compiled; the weights and the bias of a layer are one argument."""
    images, targets = torch.from_numpy(problem.images), torch.from_numpy(problem.targets)
    arrays = ([torch.from_numpy(array) for array in layer_arrays(problem, name)] for name in ("w", "dw"))
    return functools.partial(
        torch_compiler.compile_whole(add_gradients), images, targets, *arrays, problem.sizes["rate"]
    )


def add_gradients(images, targets, weights, changes, rate, rows):
    """Add the gradients of the patterns `rows` to the weight changes, by the formulas of the layers; returns the error.

    No operation has an `alpha`, because PyTorch 2.14 drops it where it fuses a product with an addition (its issue
    167313).
    """
    out = [images[rows]]
    for w in weights:
        out.append(torch.sigmoid(torch.addmm(w[0], out[-1], w[1:])))
    residual = targets[rows] - out[-1]
    delta = residual * out[-1] * (1 - out[-1])
    for index in reversed(range(len(weights))):
        delta_below = delta @ weights[index][1:].T * out[index] * (1 - out[index]) if index else None
        scaled_delta = rate * delta
        changes[index][1:].addmm_(out[index].T, scaled_delta)
        changes[index][0].add_(scaled_delta.sum(0))
        delta = delta_below
    return 0.5 * (residual * residual).sum()
