"""Peer: PyTorch on a GPU, from latents to pictures in the caller's page-locked array on the host.

Like `pytorch_cuda`, with the same tunings except `graph`, but a separate stream copies a batch's pictures to the host
while the next batch is drawn.
"""

from typing import Literal

import torch

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.dcgan import torch_generator

DEVICE = "offload"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("torch", "cupy")
LIMITS = {"pictures": ("float32",)}


def setup(
    problem: Problem,
    *,
    batch: int = 512,
    math: Literal["default", "tf32", "float16", "bfloat16"] = "default",
    compiled: Literal["off", "on"] = "off",
    turned: Literal["off", "on"] = "off",
) -> Run:
    """The timed batches with their copies, and the loading of the network."""
    for array in (problem.latents, problem.pictures):
        cuda.lock_pages(array)
    latents, host_network, pictures = map(torch.from_numpy, (problem.latents, problem.network, problem.pictures))
    network = torch.empty_like(host_network, device="cuda")
    generator = torch_generator.gpu_generator(network, problem.sizes["channels"], math, turned)
    draw = torch_generator.draw_function(generator, latents.cuda(), batch, compiled)
    copy_stream = torch.cuda.Stream()

    def load():
        network.copy_(host_network)
        generator.load()
        torch.cuda.synchronize()

    @torch.inference_mode()
    def run():
        device_latents = latents.cuda(non_blocking=True)
        batches = []  # references until the end, so PyTorch doesn't reuse memory that is still copied
        for part, out in zip(device_latents.split(batch), pictures.split(batch), strict=True):
            device_pictures = draw(part).permute(0, 2, 3, 1).float()
            batches.append(device_pictures)
            copy_stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(copy_stream):
                out.copy_(device_pictures, non_blocking=True)
        copy_stream.synchronize()

    return Steps([(None, run)], prepare=[("load", load)])
