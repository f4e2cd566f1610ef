"""Peer: the training in idiomatic PyTorch on the CPU: autograd, `cross_entropy` and `optim.SGD`."""

import torch

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "torch"
PEER = True
REQUIRES = ("torch",)


def setup(problem: Problem, *, threads: int) -> Run:
    """One epoch of mini-batch SGD; the parameters share their memory with the problem's arrays."""
    torch.set_num_threads(threads)
    return epoch(problem, torch.from_numpy)


def epoch(problem, as_tensor):
    """A function that trains one epoch; `as_tensor` makes a tensor that shares the memory of a problem's array."""
    sizes, dtype = problem.sizes, getattr(torch, problem.sizes["dtype"])
    count = len(sizes["layers"].split("-")) - 1
    parameters = [
        as_tensor(getattr(problem, f"{name}{layer + 1}")).requires_grad_() for layer in range(count) for name in "wb"
    ]
    optimizer = torch.optim.SGD(parameters, lr=sizes["rate"])
    hidden = {"sigmoid": torch.sigmoid, "relu": torch.relu}[sizes["activation"]]
    pixels = as_tensor(problem.pixels).to(dtype) / 255.0
    labels, order = as_tensor(problem.labels), as_tensor(problem.order)
    losses = as_tensor(problem.loss)

    def run():
        for step, start in enumerate(range(0, sizes["images"], sizes["batch"])):
            index = order[start : start + sizes["batch"]]
            z = pixels[index]
            for layer in range(count):
                z = torch.addmm(parameters[2 * layer + 1], z, parameters[2 * layer])
                z = hidden(z) if layer < count - 1 else z
            loss = torch.nn.functional.cross_entropy(z, labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[step] = loss.detach()

    return run
