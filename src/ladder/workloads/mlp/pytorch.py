"""Peer: the training in idiomatic PyTorch on the CPU: autograd, `cross_entropy` and `optim.SGD`."""

import torch

DEVICE = "host"
RUNTIME = "torch"
PEER = True
REQUIRES = ("torch",)


def setup(problem, *, threads: int):
    """One epoch of mini-batch SGD; the parameters share their memory with the problem's arrays."""
    torch.set_num_threads(threads)
    return epoch(problem, torch.from_numpy)


def epoch(problem, tensor):
    """A function that trains one epoch; `tensor` turns an array of the problem into a tensor on the same memory."""
    sizes, dtype = problem.sizes, getattr(torch, problem.sizes["dtype"])
    count = len(sizes["layers"].split("-")) - 1
    parameters = [
        tensor(getattr(problem, f"{letter}{layer + 1}")).requires_grad_() for layer in range(count) for letter in "wb"
    ]
    optimizer = torch.optim.SGD(parameters, lr=sizes["rate"])
    hidden = {"sigmoid": torch.sigmoid, "relu": torch.relu}[sizes["activation"]]
    pixels = tensor(problem.pixels).to(dtype) / 255.0
    labels, order = tensor(problem.labels), tensor(problem.order)
    losses = tensor(problem.loss)

    def run():
        for step, start in enumerate(range(0, sizes["images"], sizes["batch"])):
            chosen = order[start : start + sizes["batch"]]
            z = pixels[chosen]
            for layer in range(count):
                z = torch.addmm(parameters[2 * layer + 1], z, parameters[2 * layer])
                z = hidden(z) if layer < count - 1 else z
            loss = torch.nn.functional.cross_entropy(z, labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[step] = loss.detach()

    return run
