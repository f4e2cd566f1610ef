"""The transposed convolution as the loops of its definition, on one thread or with its rows shared among several.

A branch skips the taps of the filter without a pixel. Each value is one sequential sum, so a thread is bound by the
latency of its additions.
"""

import numba

from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv.layer import Layer, steps

DEVICE = "host"
RUNTIME = "numba"


@numba.njit(parallel=True, cache=True, error_model="numpy")
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
                for r in range(5):
                    for s in range(5):
                        if (y + 1 - r) % 2 or (x + 1 - s) % 2:
                            continue
                        p, q = (y + 1 - r) // 2, (x + 1 - s) // 2
                        if p < 0 or p >= h or q < 0 or q >= h:
                            continue
                        for i in range(c):
                            total += image[index, p, q, i] * weights[r, s, j, i]
                out[index, y, x, j] = total


def layer(problem, *, threads: int):
    """The Layer, on the threads that the harness has set."""
    return Layer(lambda image, out: convolve(image, problem.filter, problem.bias, out))


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed convolution."""
    return steps(problem, layer(problem, threads=threads))
