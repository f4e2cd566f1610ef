"""Peer: PyTorch on a GPU, from latents to pictures in the caller's page-locked array on the host.

Like `pytorch_cuda`; a separate stream copies a batch's pictures to the host while the next batch is drawn.
"""

from typing import Literal

import torch

from ladder import cuda
from ladder.harness.steps import Steps
from ladder.workloads.dcgan import in_torch

DEVICE = "offload"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("torch", "cupy")
LIMITS = {"pictures": ("float32",)}


def setup(
    problem,
    *,
    batch: int = 512,
    math: Literal["default", "tf32", "float16", "bfloat16"] = "default",
    compiled: Literal["off", "on"] = "off",
    turned: Literal["off", "on"] = "off",
):
    """The timed batches with their copies, and the loading of the network."""
    for array in (problem.latents, problem.pictures):
        cuda.lock_pages(array)
    latents, host_network, pictures = map(torch.from_numpy, (problem.latents, problem.network, problem.pictures))
    network = torch.empty_like(host_network, device="cuda")
    generator = in_torch.on_card(network, problem.sizes["channels"], math, turned)
    draw, link = in_torch.drawing(generator, compiled), torch.cuda.Stream()

    def load():
        network.copy_(host_network)
        generator.load()
        torch.cuda.synchronize()

    @torch.inference_mode()
    def run():
        device_latents = latents.cuda(non_blocking=True)
        kept = []  # until the end, so that their memory isn't reused while it is copied
        for part, out in zip(device_latents.split(batch), pictures.split(batch), strict=True):
            drawn = draw(part).permute(0, 2, 3, 1).float()
            kept.append(drawn)
            link.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(link):
                out.copy_(drawn, non_blocking=True)
        link.synchronize()

    return Steps([(None, run)], prepare=[("load", load)])
