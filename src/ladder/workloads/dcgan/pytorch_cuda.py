"""Peer: PyTorch's transposed convolutions on a GPU, by cuDNN's fastest algorithms, batch by batch.

Batch norms are folded, and the memory format is channels last. `math` is the precision. `graph` makes all batches one
CUDA graph. `compiled` applies `torch.compile`, which fuses the operations between the convolutions. `turned`
computes pictures rotated by 180 degrees, which saves the copies that cut off a row and a column (see
`torch_generator`).
"""

from typing import Literal

import torch

from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.dcgan import torch_generator
from ladder.workloads.mlp.pytorch_cuda import capture_graph

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("torch", "cupy")
LIMITS = {"pictures": ("float32",)}


def setup(
    problem: Problem,
    *,
    batch: int = 512,
    math: Literal["default", "tf32", "float16", "bfloat16"] = "default",
    graph: Literal["off", "on"] = "off",
    compiled: Literal["off", "on"] = "off",
    turned: Literal["off", "on"] = "off",
) -> Run:
    """The timed batches. The network is loaded in an untimed step before them or, with a graph, once, here."""
    latents, network, pictures = map(torch.from_dlpack, (problem.latents, problem.network, problem.pictures))
    generator = torch_generator.gpu_generator(network, problem.sizes["channels"], math, turned)
    draw = torch_generator.draw_function(generator, latents, batch, compiled)

    @torch.inference_mode()
    def run():
        for part, out in zip(latents.split(batch), pictures.split(batch), strict=True):
            out.copy_(draw(part).permute(0, 2, 3, 1))

    if graph == "off":
        return Steps([(None, run)], prepare=[("load", generator.load)])
    # A graph holds the addresses of the loaded filters; later rounds only change the latents.
    generator.load()
    replay = capture_graph(run)
    return Steps([(None, replay)])
