"""Peer: the training in PyTorch on the CPU, as most users write it or, with `compiled`, in its fastest form.

Most users write autograd, `cross_entropy` and `optim.SGD`. With `compiled`, a step is written by hand: `torch.compile`
fuses what lies between its products, and the products of the gradients update the weights in place.
"""

from typing import Literal

import torch

from ladder.build import torch_compiler
from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "torch"
PEER = True
REQUIRES = ("torch",)


def setup(problem: Problem, *, threads: int, compiled: Literal["off", "on"] = "off") -> Run:
    """One epoch of mini-batch SGD; the parameters share their memory with the problem's arrays."""
    torch.set_num_threads(threads)
    return epoch(problem, torch.from_numpy, compiled)


def epoch(problem, as_tensor, compiled):
    """A function that trains one epoch; `as_tensor` makes a tensor that shares the memory of a problem's array.

    Raises LadderError if PyTorch can't compile it.
    """
    sizes = problem.sizes
    count = len(sizes["layers"].split("-")) - 1
    layers = [tuple(as_tensor(getattr(problem, f"{name}{layer + 1}")) for name in "wb") for layer in range(count)]
    pixels, labels, order = map(as_tensor, (problem.pixels, problem.labels, problem.order))
    step = {"off": autograd_step, "on": compiled_step}[compiled](
        layers, pixels, labels, sizes["activation"], sizes["rate"]
    )
    losses = as_tensor(problem.loss)

    def run():
        for number, start in enumerate(range(0, sizes["images"], sizes["batch"])):
            losses[number] = step(order[start : start + sizes["batch"]])

    if compiled == "on":
        torch_compiler.compile_ahead(run)  # all batches, since the last one may be shorter
    return run


def autograd_step(layers, pixels, labels, activation, rate):
    """A step as most users write it: a function of a batch's indices that returns its loss."""
    parameters = [tensor.requires_grad_() for layer in layers for tensor in layer]
    optimizer = torch.optim.SGD(parameters, lr=rate)
    activate = {"sigmoid": torch.sigmoid, "relu": torch.relu}[activation]
    pixels = pixels.to(parameters[0].dtype) / 255.0

    def step(indices):
        z = pixels[indices]
        for layer, (weights, bias) in enumerate(layers, 1):
            z = torch.addmm(bias, z, weights)
            z = activate(z) if layer < len(layers) else z
        loss = torch.nn.functional.cross_entropy(z, labels[indices])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def compiled_step(layers, pixels, labels, activation, rate):
    """The same step by the formulas of the layers, compiled."""
    compiled = torch_compiler.compile_whole(forward_backward)

    @torch.no_grad()
    def step(indices):
        loss, inputs, deltas = compiled(layers, pixels, labels, indices, activation, rate)
        for (weights, _), layer_input, delta in zip(layers, inputs, deltas, strict=True):
            weights.addmm_(layer_input.t(), delta, alpha=-rate)
        return loss

    return step


def forward_backward(layers, pixels, labels, indices, activation, rate):
    """(loss, the inputs of all layers, their deltas) of a batch, whose indices are `indices`; updates the biases."""
    inputs = [pixels[indices].to(layers[0][0].dtype) / 255.0]
    for weights, bias in layers[:-1]:
        z = torch.addmm(bias, inputs[-1], weights)
        inputs.append(torch.sigmoid(z) if activation == "sigmoid" else torch.relu(z))
    weights, bias = layers[-1]
    log_probabilities = torch.log_softmax(torch.addmm(bias, inputs[-1], weights), dim=1)
    loss = torch.nn.functional.nll_loss(log_probabilities, labels[indices])
    one_hot = torch.nn.functional.one_hot(labels[indices], log_probabilities.shape[1])
    deltas = [(log_probabilities.exp() - one_hot) / len(indices)]
    for (weights, _), a in zip(layers[:0:-1], inputs[:0:-1], strict=True):
        delta_below = deltas[0] @ weights.t()
        deltas.insert(0, delta_below * a * (1 - a) if activation == "sigmoid" else delta_below * (a > 0))
    for (_, bias), delta in zip(layers, deltas, strict=True):
        bias.sub_(rate * delta.sum(dim=0))
    return loss, inputs, deltas
