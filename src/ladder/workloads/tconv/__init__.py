"""A transposed convolution, 5 x 5 with stride 2, which doubles rows and columns; a DCGAN's generator has four.

    out[y, x, j] = bias[j] + sum over r, s < 5 and i of image[(y + 1 - r) / 2, (x + 1 - s) / 2, i] filter[r, s, j, i]

The sum is over those r and s for which both quotients are whole and inside the image: 4, 6 or 9 of the 25 taps (r, s),
depending on the parity of y and x, and fewer at the border. It equals a correlation of the reversed filter with an
image that has a zero between pixels, 3 zeros before and 2 after them (Dumoulin and Visin, A guide to convolution
arithmetic for deep learning, 2016).

Shapes, channels last: image (images, h, h, c), filter (5, 5, k, c), bias (k,), out (images, 2 h, 2 h, k). A pixel is a
position of the image with its c channels; an element is one of the 2 h x 2 h positions of the result. Inputs are
uniform in [-1, 1) from the seed. Arrays are C-contiguous and of one dtype, float32 or float64.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.devices import chunked
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare, random_sum_factor

RUNGS = {
    "loops": "the loops of the definition, with a branch that skips taps without a pixel",
    "parity": "loops that start at the right parity and step by two, vectorised sums over channels",
    "blas": "one product with all 25 taps of the filter, whose results are summed where they overlap",
    "tuned": "products without zeros in register tiles, pixels read in place",
    "cuda_naive": "a thread per element and channel, with the branch",
    "cuda_parity": "a thread per element and channel, loops at the right parity",
    "cuda_im2col": "im2col: a product with a gathered matrix that includes all zeros",
    "cuda_col2im": "col2im: a product with all 25 taps of the filter, whose results are summed where they overlap",
    "cuda_implicit": "implicit products over images, one element position at a time, without a gathered matrix",
    "cuda_implicit_mma": "implicit products on tensor cores",
    "cuda_implicit_wgmma": "tensor cores read both operands from shared memory, while the next tiles are copied",
    "cuda_implicit_tma": "a tile's pixels and their neighbours, copied once by the TMA for all products",
    "cuda_window": "for few channels: a window of pixels and its results in a thread's registers",
    "cuda_window_mma": "for few channels: the window on tensor cores",
    "pytorch": "peer: PyTorch on the CPU, channels last",
    "pytorch_cuda": "peer: cuDNN's fastest algorithm through PyTorch, channels last",
}
SIZES = {"images": int, "h": int, "c": int, "k": int, "dtype": ("float32", "float64"), "seed": 1}
# Cases in which errors are injected, to see what the checks detect.
SENSITIVITY = [
    ("tuned", {"threads": 1}, {"images": 3, "h": 5, "c": 7, "k": 3}),
    ("tuned", {"threads": 1}, {"images": 33, "h": 5, "c": 13, "k": 85}),
]
FILTER_SIDE = 5  # rows and columns of the filter
# Up to this number of products, the check recomputes every element; beyond, it samples images and projects channels.
MAX_FULL_CHECK_FMAS = 2**24
SAMPLED_IMAGES = 3


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    images, h, c, k, dtype = (sizes[name] for name in ("images", "h", "c", "k", "dtype"))
    shapes = {"image": (images, h, h, c), "filter": (FILTER_SIDE, FILTER_SIDE, k, c), "bias": (k,)}
    return {name: (shape, dtype) for name, shape in shapes.items()}, {"out": ((images, 2 * h, 2 * h, k), dtype)}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write all inputs of a round in place, with different values in every round; returns their names."""
    generator = np.random.default_rng([sizes["seed"], round])
    for name in sorted(inputs):
        array = inputs[name]
        generator.random(dtype=array.dtype, out=array)
        array *= 2
        array -= 1
    return list(inputs)


def products(sizes):
    """The number of products without those by zero: of the 5 h taps per column of pixels, 3 are outside the result."""
    return sizes["images"] * (FILTER_SIDE * sizes["h"] - 3) ** 2 * sizes["c"] * sizes["k"]


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs without products by zero (an FMA counts as two), and the minimum of bytes moved: each array once."""
    elements = sum(np.prod(shape) for specs in arrays(sizes) for shape, _ in specs.values())
    return SimpleNamespace(
        flops=2 * products(sizes),
        bytes=int(elements) * np.dtype(sizes["dtype"]).itemsize,
        precision=sizes["dtype"],
    )


def check(
    sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, reference: Any, precision: str
) -> Round:
    """Compare every value with plain float64 sums; of a large result, those of sampled images, and projections of all.

    A projection multiplies the result along its channels by a vector of random signs, and compares the products with
    the result of the projected filter (Freivalds, 1977). So every value of a large result takes part in a comparison.
    """
    measured = inputs["image"], inputs["filter"], inputs["bias"], outputs["out"]
    image, weights, bias, out = (array.astype(np.float64, copy=False) for array in measured)
    checks_all = products(sizes) <= MAX_FULL_CHECK_FMAS
    index = np.arange(len(image)) if checks_all else sampled_images(len(image), sizes["seed"])
    squares = np.square(weights), np.square(bias)
    bounds = bound(image[index], *squares, precision)
    checks = [compare("elements", out[index], convolve(image[index], weights) + bias, bounds, index)]
    if not checks_all:
        signs = np.random.default_rng(sizes["seed"]).choice([-1.0, 1.0], sizes["k"])
        projected = np.einsum("rsji,j->rsi", weights, signs)[:, :, None]
        # The squares of errors add up over k channels; both sides also round their sums over channels.
        channel_sums = [square.sum(axis=axis, keepdims=True) for square, axis in zip(squares, (2, 0), strict=True)]

        def compare_projections(part):
            expected = convolve(image[part], projected) + bias @ signs
            bounds = bound(image[part], *channel_sums, precision)
            bounds += 2 * random_sum_factor(sizes["k"], np.float64) * np.linalg.norm(out[part], axis=-1, keepdims=True)
            sums = (out[part] @ signs)[..., None]
            return compare("channels projected", sums, expected, bounds, range(len(image))[part])

        checks += chunked.map_on_threads(compare_projections, chunked.chunk_slices(len(image)))
    return checks, None


def sampled_images(images, seed):
    """Sorted indices of images: the first, the last, and random others."""
    random_images = np.random.default_rng(seed).integers(0, images, SAMPLED_IMAGES - 2)
    return np.unique([0, images - 1, *random_images])


def bound(image, squared_filter, squared_bias, precision):
    """The bound of an element's error: both sides add up to 9 c products of random signs, and a bias."""
    terms = 9 * image.shape[-1] + 1
    factor = random_sum_factor(terms, precision) + random_sum_factor(terms, np.float64)
    return factor * np.sqrt(convolve(np.square(image), squared_filter) + squared_bias)


def convolve(image, weights):
    """The transposed convolution without a bias: the sum of each pixel times the filter at the elements around it."""
    images, h = image.shape[:2]
    # Rows and columns 1 to 2 h are those of the result; the others absorb contributions outside of it.
    padded = np.zeros((images, 2 * h + 3, 2 * h + 3, weights.shape[2]))
    for r, s in np.ndindex(FILTER_SIDE, FILTER_SIDE):
        padded[:, r : r + 2 * h : 2, s : s + 2 * h : 2] += np.einsum("npqi,ji->npqj", image, weights[r, s])
    return padded[:, 1 : 1 + 2 * h, 1 : 1 + 2 * h]
