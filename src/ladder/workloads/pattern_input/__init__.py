"""Reading the patterns of a training: images of an IDX file become rows of numbers in [0, 1], as `backprop` takes them.

A run opens the file, reads its bytes from the page cache, and writes every pixel divided by 255 in float32; the check
compares the numbers bitwise. The first round reads the file's first images, the second round its last.

Shapes: path (4096,) uint8, the file's name as a C string; first (1,) int64, the number of the first image; the output
out (images, 784).
"""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.data import dataset
from ladder.data import sizes as data_sizes
from ladder.errors import LadderError
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare
from ladder.workloads.backprop import reference

RUNGS = {
    "serial": "one piece of the file after the other",
    "openmp_tasks": "an OpenMP task per block of images",
}
SIZES = {"images": int, "dtype": ("float32", "float64"), "source": ("mnist", "digits")}
PATH_SIZE = 4096  # bytes of a path with the final 0
CHUNK = 4096  # images that are checked at once


def refuse(sizes: Sizes) -> str | None:
    """The reason why these sizes are invalid, as a sentence, or None."""
    return data_sizes.too_many_images_reason("pattern_input", sizes)


def data_set(sizes: Sizes) -> str | None:
    """The data set whose images are read."""
    return sizes["source"]


def load_data(folder: Path) -> Any:
    """The path of the images for training, as bytes, and the images themselves, uint8."""
    path = bytes(Path(folder, dataset.TRAIN_IMAGES).resolve())
    if len(path) >= PATH_SIZE:
        raise LadderError(f"The path of {folder} is longer than the {PATH_SIZE - 1} bytes that pattern_input takes.")
    return SimpleNamespace(path=path, images=dataset.load(folder).train_images)


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    inputs = {"path": ((PATH_SIZE,), "uint8"), "first": ((1,), "int64")}
    return inputs, {"out": ((sizes["images"], 784), sizes["dtype"])}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write the path and the first image's number of a round in place; returns the names of both inputs."""
    inputs["path"][...] = 0
    inputs["path"][: len(data.path)] = np.frombuffer(data.path, np.uint8)
    inputs["first"][0] = first_image(sizes, round, data)
    return list(inputs)


def first_image(sizes, round, data):
    """The number of the first image of a round."""
    return len(data.images) - sizes["images"] if round else 0


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs: a division per pixel. Bytes: a byte read and a number written per pixel."""
    pixels = sizes["images"] * 784
    return SimpleNamespace(
        flops=pixels, bytes=pixels * (1 + np.dtype(sizes["dtype"]).itemsize), precision=sizes["dtype"]
    )


def check(sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, exact: Any, precision: str) -> Round:
    """Compare every number with the quotient in float32, in chunks; returns the worst check."""
    first, checks = first_image(sizes, round, data), []
    for start in range(0, sizes["images"], CHUNK):
        end = min(start + CHUNK, sizes["images"])
        expected = reference.scale_pixels(data.images[first + start : first + end])
        checks.append(compare("patterns", outputs["out"][start:end], expected, 0.0, range(start, end)))
    return [max(checks, key=lambda check: check.error)], None
