"""A transposed convolution, 5 x 5 with stride 2, of which a DCGAN's generator has four; rows and columns double.

    out[y, x, j] = bias[j] + sum over r, s < 5 and i of image[(y + 1 - r) / 2, (x + 1 - s) / 2, i] filter[r, s, j, i]

where only those r and s count for which both quotients are whole and lie in the image: 4 to 9 of the 25, by the parity
of y and x. The same is a correlation of the image, zeros between its pixels and 3 before and 2 behind them, with the
filter reversed (Dumoulin and Visin, A guide to convolution arithmetic for deep learning, 2016).

Shapes, channels last: images (images, h, h, c), filter (5, 5, k, c), bias (k,), out (images, 2 h, 2 h, k). Inputs are
uniform in [-1, 1) from the seed. Arrays are C-contiguous and of one dtype, float32 or float64.
"""

from types import SimpleNamespace

import numpy as np

from ladder.devices import chunked
from ladder.harness.validation import compare, random_sum_factor

RUNGS = {
    "loops": "the loops of the definition, with a branch that skips what hits no pixel",
    "parity": "loops that start at the right parity and step by two, sums over channels in vectors",
    "blas": "one product with all 25 rows of the filter, whose results are added up where they overlap",
    "tuned": "products of exact size in tiles of registers, pixels read where they lie",
    "cuda_naive": "a thread per element of the result, with the branch",
    "cuda_parity": "the same, with loops that start at the right parity",
    "cuda_im2col": "a product with the image's surroundings of every place, gathered to a matrix with all zeros",
    "cuda_col2im": "a product with all 25 rows of the filter, whose results are added up where they overlap",
    "cuda_implicit": "products over images, place by place, whose gathered matrix is never written",
    "cuda_implicit_mma": "the same on tensor cores",
    "cuda_implicit_wgmma": "on tensor cores that read shared memory, while the next tiles are copied",
    "cuda_implicit_tma": "from the pixels around a tile, brought once by the copy engine for all products",
    "cuda_window": "to few channels: a thread's pixels and all that lies around them in registers",
    "cuda_window_mma": "the same on tensor cores",
    "pytorch": "peer: PyTorch on the CPU, channels last",
    "pytorch_cuda": "peer: cuDNN's fastest algorithm through PyTorch, channels last",
}
SIZES = {"images": int, "h": int, "c": int, "k": int, "dtype": ("float32", "float64"), "seed": 1}
SENSITIVITY = [
    ("tuned", {"threads": 1}, {"images": 3, "h": 5, "c": 7, "k": 3}),
    ("tuned", {"threads": 1}, {"images": 33, "h": 5, "c": 13, "k": 85}),
]
STATEFUL = False
TAPS = 5  # rows and columns of the filter
# The most products of which every element is recomputed; beyond, images are sampled and all are projected.
FULL_CHECK = 2**24
SAMPLED_IMAGES = 3


def data_set(sizes):
    """None: the inputs come from the seed."""
    return None


def reference_sizes(sizes):
    """None: the reference is computed inside the job."""
    return None


def rounds(sizes):
    """Two: the second has other inputs, so that a variant that answers from memory is caught."""
    return 2


def arrays(sizes):
    """Inputs and outputs as {name: (shape, dtype)}."""
    images, h, c, k, dtype = (sizes[name] for name in ("images", "h", "c", "k", "dtype"))
    shapes = {"image": (images, h, h, c), "filter": (TAPS, TAPS, k, c), "bias": (k,)}
    return {name: (shape, dtype) for name, shape in shapes.items()}, {"out": ((images, 2 * h, 2 * h, k), dtype)}


def fill(inputs, sizes, round, data):
    """Write the inputs of a round in place, all of them: another round, other values. The names of those written."""
    generator = np.random.default_rng([sizes["seed"], round])
    for name in sorted(inputs):
        array = inputs[name]
        generator.random(dtype=array.dtype, out=array)
        array *= 2
        array -= 1
    return list(inputs)


def products(sizes):
    """The products of an exact count: of the 5 h hits of the filter's rows in a column, 3 fall outside."""
    return sizes["images"] * (TAPS * sizes["h"] - 3) ** 2 * sizes["c"] * sizes["k"]


def cost(sizes):
    """FLOPs without products by zero (an FMA is two) and the fewest bytes moved: each array once."""
    elements = sum(np.prod(shape) for kinds in arrays(sizes) for shape, _ in kinds.values())
    return SimpleNamespace(
        flops=2 * products(sizes),
        bytes=int(elements) * np.dtype(sizes["dtype"]).itemsize,
        precision=sizes["dtype"],
    )


def check(sizes, inputs, outputs, round, data, reference, precision):
    """Compare in float64: every element with plain sums, or those of sampled images, and of all images projections.

    A projection is the result times a vector of random signs along its channels, against the same of the filter
    (Freivalds, 1977), so that every element of a large result takes part in a comparison.
    """
    given = (*map(inputs.get, ("image", "filter", "bias")), outputs["out"])
    image, weights, bias, out = (array.astype(np.float64, copy=False) for array in given)
    everything = products(sizes) <= FULL_CHECK
    chosen = np.arange(len(image)) if everything else sampled_images(len(image), sizes["seed"])
    squares = np.square(weights), np.square(bias)
    bounds = bound(image[chosen], *squares, precision)
    checks = [compare("elements", out[chosen], spread(image[chosen], weights) + bias, bounds)]
    if not everything:
        signs = np.random.default_rng(sizes["seed"]).choice([-1.0, 1.0], sizes["k"])
        projected = np.einsum("rsji,j->rsi", weights, signs)[:, :, None]
        # The errors of k elements, and of sums of these on both sides.
        summed = [each.sum(axis=axis, keepdims=True) for each, axis in zip(squares, (2, 0), strict=True)]

        def compared(part):
            due = spread(image[part], projected) + bias @ signs
            bounds = bound(image[part], *summed, precision)
            bounds += 2 * random_sum_factor(sizes["k"], np.float64) * np.linalg.norm(out[part], axis=-1, keepdims=True)
            return compare("channels projected", (out[part] @ signs)[..., None], due, bounds)

        checks += chunked.by_threads(compared, chunked.parts(len(image)))
    return checks, None


def sampled_images(images, seed):
    """Sorted numbers of images: the first, the last, and others drawn at random."""
    drawn = np.random.default_rng(seed).integers(0, images, SAMPLED_IMAGES - 2)
    return np.unique([0, images - 1, *drawn])


def bound(image, squared_filter, squared_bias, precision):
    """The bound of an element's error: of a sum of up to 9 c products of random signs and a bias, here and there."""
    terms = 9 * image.shape[-1] + 1
    factor = random_sum_factor(terms, precision) + random_sum_factor(terms, np.float64)
    return factor * np.sqrt(spread(np.square(image), squared_filter) + squared_bias)


def spread(image, weights):
    """The transposed convolution without a bias: each pixel times the filter, added where its rows and columns hit."""
    images, h = image.shape[:2]
    # A margin takes what falls outside: row and column 1 are the first of the result.
    found = np.zeros((images, 2 * h + 3, 2 * h + 3, weights.shape[2]))
    for r, s in np.ndindex(TAPS, TAPS):
        found[:, r : r + 2 * h : 2, s : s + 2 * h : 2] += np.einsum("npqi,ji->npqj", image, weights[r, s])
    return found[:, 1 : 1 + 2 * h, 1 : 1 + 2 * h]
