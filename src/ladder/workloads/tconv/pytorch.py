"""Peer: PyTorch's transposed convolution on the CPU, channels last.

With a padding of 1, PyTorch's output begins where ours does, and has an additional last row and column, which are cut
off. The more usual padding of 2, to whose output `output_padding` adds the last row and column, is a different
operator. A view permutes the filter's axes to PyTorch's order.
"""

import torch

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "torch"
PEER = True
REQUIRES = ("torch",)


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed convolution, with the copy to the caller's array."""
    torch.set_num_threads(threads)
    image, weights, bias, out = map(torch.from_numpy, (problem.image, problem.filter, problem.bias, problem.out))
    image, weights, out = image.permute(0, 3, 1, 2), weights.permute(3, 2, 0, 1), out.permute(0, 3, 1, 2)
    side = out.shape[-1]

    @torch.inference_mode()
    def run():
        result = torch.nn.functional.conv_transpose2d(image, weights, bias, stride=2, padding=1)
        out.copy_(result[:, :, :side, :side])

    return run
