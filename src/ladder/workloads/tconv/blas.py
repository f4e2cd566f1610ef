"""The transposed convolution by SciPy's BLAS: a product with the whole filter, then sums where its results overlap.

A pixel's channels times the filter's 25 * k rows are its contributions to up to 25 elements of the result. Each element
is the sum of 4, 6 or 9 contributions, fewer at the border (`col2im`). Each thread processes blocks of images, of about
`block` pixels, so that a filter larger than the caches is read once per block; BLAS uses one thread. The variant is
bound by the products, 25 h^2 per pair of channels instead of the necessary (5 h - 3)^2, and for few channels by the
traffic of the contributions.
"""

import numba
import numpy as np

from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv.layer import Layer, steps

DEVICE = "host"
RUNTIME = "numba"
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}
LIMITS = {"block": (1, 1048576)}


@numba.njit(parallel=True, cache=True, error_model="numpy")
def convolve(image, weights, bias, out, scratch, count):
    """Convolve blocks of `count` images.

    Shapes as in `ladder.workloads.tconv`, except weights (25 * k, c); scratch (threads, count * h * h, 25 * k).
    """
    images, h, _, c = image.shape
    for block in numba.prange(-(-images // count)):
        first = block * count
        end = min(images, first + count)
        pixels = image[first:end].reshape((end - first) * h * h, c)
        products = scratch[numba.get_thread_id(), : len(pixels)]
        np.dot(pixels, weights.T, products)
        for index in range(first, end):
            image_products = products[(index - first) * h * h : (index - first + 1) * h * h]
            add_up(image_products, bias, out[index])


@numba.njit(cache=True, error_model="numpy")
def add_up(products, bias, out):
    """Write one image of the result, out (2 h, 2 h, k), from the products of its pixels (h * h, 25 * k).

    (p, q) is the pixel that tap (r, s) multiplies.
    """
    height, width, k = out.shape
    h = height // 2
    for y in range(height):
        for x in range(width):
            out[y, x] = bias
            for r in range((y + 1) % 2, min(5, y + 2), 2):
                p = (y + 1 - r) // 2
                if p < h:
                    for s in range((x + 1) % 2, min(5, x + 2), 2):
                        q = (x + 1 - s) // 2
                        if q < h:
                            offset = (r * 5 + s) * k
                            for j in range(k):
                                out[y, x, j] += products[p * h + q, offset + j]


def layer(problem, *, threads: int, block: int = 256):
    """The Layer, on the threads that the harness has set."""
    images, h, c, dtype = (problem.sizes[name] for name in ("images", "h", "c", "dtype"))
    count = max(1, min(block // (h * h), -(-images // threads)))
    weights = problem.filter.reshape(-1, c)
    scratch = problem.device.empty((threads, count * h * h, len(weights)), dtype)
    return Layer(lambda image, out: convolve(image, weights, problem.bias, out, scratch, count))


def setup(problem: Problem, *, threads: int, block: int = 256) -> Run:
    """The timed convolution."""
    return steps(problem, layer(problem, threads=threads, block=block))
