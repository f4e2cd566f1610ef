"""The generator of a DCGAN: pictures from noise by a projection and four transposed convolutions, in batches.

    latent (100) -> projection (4, 4, channels) -> (8, 8, channels / 2) -> (16, 16, channels / 4)
    -> (32, 32, channels / 8) -> (64, 64, 3)

The projection is a matrix product, each further arrow a transposed convolution as in `tconv`. Every layer is followed
by batch normalisation with given statistics and a ReLU, the last one by tanh (Radford, Metz and Chintala, Unsupervised
Representation Learning with Deep Convolutional Generative Adversarial Networks, 2016).

Shapes: latents float32 (images, 100), network float32 (`layout.count`,) in the order of `layout`, pictures (images, 64,
64, 3), float32 in [-1, 1] or 8-bit pixels, uint8: (v + 1) / 2 times 255, truncated. The reference has the pictures of
a pool of latents. A round selects its latents from the pool at random, so every image can be checked.
"""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.devices import chunked
from ladder.errors import LadderError
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare
from ladder.workloads.dcgan import formats, layout, network, reference

RUNGS = {
    "host": "on the CPU, layers by any host variants of `tconv`, batch norms folded into the weights",
    "cuda": "on one GPU, layers by any CUDA variants of `tconv`",
    "home": "with device-to-host copies, hidden behind the next batch, on one or more GPUs",
    "mpi_home": "the same on MPI ranks with a GPU each, also on several nodes",
    "pytorch": "peer: PyTorch on the CPU, batch norms folded, channels last",
    "pytorch_cuda": "peer: PyTorch on a GPU by cuDNN, tuned",
    "pytorch_home": "peer: PyTorch on a GPU, with device-to-host copies",
}
SIZES = {
    "images": int,
    "channels": layout.CHANNELS,
    "weights": ("random", "trained"),
    "pictures": ("float32", "uint8"),
    "dtype": ("float32",),
    "seed": 1,
}
# Cases in which errors are injected, to see what the checks detect.
SENSITIVITY = [("host", {"threads": 1}, {"images": 3, "channels": 16})]
# Images that a thread compares at once. It bounds the memory of their float64 copies.
CHUNK = 64


def refuse(sizes: Sizes) -> str | None:
    """The reason why these sizes are invalid, as a sentence, or None."""
    if sizes["channels"] % 8:
        return f"channels={sizes['channels']} of dcgan must be a multiple of 8: three layers halve them."
    if sizes["weights"] == "trained" and sizes["channels"] != layout.CHANNELS:
        return f"channels={sizes['channels']} of dcgan with weights=trained must be {layout.CHANNELS}, as trained."
    return None


def data_set(sizes: Sizes) -> str | None:
    """The trained network, an artefact; None for random weights, which come from the seed."""
    return "dcgan/learned.bin" if sizes["weights"] == "trained" else None


def load_data(path: Path) -> Any:
    """A network (count,) of 512 channels, float32, from a file in the earlier study's format. Raises LadderError."""
    weights, channels = formats.read_network(path)
    if channels != layout.CHANNELS:
        raise LadderError(f"{path} is a network of {channels} channels, but the trained one has {layout.CHANNELS}.")
    return weights


def reference_sizes(sizes: Sizes) -> Sizes | None:
    """The sizes that the pool's pictures depend on."""
    return {name: sizes[name] for name in ("channels", "weights", "seed")}


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    images, dtype = sizes["images"], sizes["dtype"]
    inputs = {"latents": ((images, layout.LATENT), dtype), "network": ((layout.count(sizes["channels"]),), dtype)}
    return inputs, {"pictures": ((images, layout.PICTURE_SIDE, layout.PICTURE_SIDE, layout.COLOURS), sizes["pictures"])}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write a round's latents in place and, in the first round, the network. Return the names of the arrays written."""
    index = network.pool_indices(sizes["images"], sizes["seed"], round)
    inputs["latents"][...] = network.latents(sizes["seed"])[index]
    if round:
        return ["latents"]
    inputs["network"][...] = network.from_sizes(sizes, data)
    return ["latents", "network"]


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs (an FMA is two) without products by zero, and the minimum of bytes moved: each array once."""
    channels = sizes["channels"]
    products = layout.LATENT * layout.BASE_SIDE**2 * channels
    # Along each axis, 3 products of a row and a tap fall outside of the result.
    products += sum((layout.FILTER_SIDE * h - 3) ** 2 * c * k for h, c, k in layout.layers(channels))
    specs = [spec for group in arrays(sizes) for spec in group.values()]
    return SimpleNamespace(
        flops=2 * sizes["images"] * products,
        bytes=sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in specs),
        precision=sizes["dtype"],
    )


def check(sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, exact: Any, precision: str) -> Round:
    """Compare every number of every picture with the pool's."""
    index, tolerance = network.pool_indices(sizes["images"], sizes["seed"], round), reference.bound(exact, precision)
    expected = exact["pictures"]
    if sizes["pictures"] == "uint8":  # truncation subtracts up to 1
        expected, tolerance = (expected + 1) / 2 * 255 - 0.5, 255 / 2 * tolerance + 0.5

    def compare_chunk(start):
        part = slice(start, start + CHUNK)
        rows = range(start, len(index))
        return compare("pictures", outputs["pictures"][part], expected[index[part]], tolerance, rows)

    return chunked.map_on_threads(compare_chunk, range(0, len(index), CHUNK)), None
