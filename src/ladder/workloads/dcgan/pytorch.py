"""Peer: PyTorch's transposed convolutions on the CPU, batch by batch, with folded batch norms.

`compiled` applies `torch.compile`, which fuses the operations between the convolutions. `turned` computes pictures
rotated by 180 degrees, which saves the copies that cut off a row and a column (see `torch_generator`).
"""

from typing import Literal

import torch

from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.dcgan.torch_generator import Generator, draw_function

DEVICE = "host"
RUNTIME = "torch"
PEER = True
REQUIRES = ("torch",)
LIMITS = {"pictures": ("float32",)}


def setup(
    problem: Problem,
    *,
    threads: int,
    batch: int = 16,
    compiled: Literal["off", "on"] = "off",
    turned: Literal["off", "on"] = "off",
) -> Run:
    """The timed batches, each with a copy to the caller's array, and the loading of the network before them."""
    torch.set_num_threads(threads)
    latents, network, pictures = map(torch.from_numpy, (problem.latents, problem.network, problem.pictures))
    generator = Generator(network, problem.sizes["channels"], turned=turned == "on")
    draw = draw_function(generator, latents, batch, compiled)

    @torch.inference_mode()
    def run():
        for part, out in zip(latents.split(batch), pictures.split(batch), strict=True):
            out.copy_(draw(part).permute(0, 2, 3, 1))

    return Steps([(None, run)], prepare=[("load", generator.load)])
