"""The transposed convolution with loops over only those taps of the filter that have a pixel.

The loops begin at the parity of y + 1 or x + 1 and step by two; the only branches left are for the border. Sums over
channels may be reordered, so that the compiler vectorises them. The variant is bound by loads: each multiply-add has
two.
"""

import numba

from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv.layer import Layer, steps

DEVICE = "host"
RUNTIME = "numba"


@numba.njit(parallel=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def convolve(image, weights, bias, out):
    """Compute `out` with the filter `weights`; shapes as in `ladder.workloads.tconv`.

    `row` counts the rows of all images; (p, q) is the pixel that tap (r, s) multiplies.
    """
    images, height, width, k = out.shape
    h, c = image.shape[1], image.shape[3]
    for row in numba.prange(images * height):
        index, y = row // height, row % height
        for x in range(width):
            for j in range(k):
                total = bias[j]
                for r in range((y + 1) % 2, min(5, y + 2), 2):
                    p = (y + 1 - r) // 2
                    if p < h:
                        for s in range((x + 1) % 2, min(5, x + 2), 2):
                            q = (x + 1 - s) // 2
                            if q < h:
                                for i in range(c):
                                    total += image[index, p, q, i] * weights[r, s, j, i]
                out[index, y, x, j] = total


def layer(problem, *, threads: int):
    """The Layer, on the threads that the harness has set."""
    return Layer(lambda image, out: convolve(image, problem.filter, problem.bias, out))


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed convolution."""
    return steps(problem, layer(problem, threads=threads))
