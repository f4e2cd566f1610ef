"""What the implicit products on tensor cores share: their launches, on operands, and the packing of the filter."""

from functools import cache, partial

import numpy as np

from ladder.devices import cuda
from ladder.errors import LadderError
from ladder.workloads.tconv import implicit, operands
from ladder.workloads.tconv.layer import Layer

# Of tensor cores, which outrun their operands; fitted to times on an H200.
RELOAD = 48
ACTIVATIONS = ("none", "relu", "tanh")  # as activation.cuh counts them


def require_warpgroups(variant):
    """Refuse a card whose tensor cores don't read operands from shared memory by themselves. Raises LadderError."""
    if cuda.architecture() != "sm_90":
        raise LadderError(f"tconv/{variant} needs a card of compute capability 9.0: take cuda_implicit_mma.")


def layer(problem, variant, tilings, geometry, math, activation, result):
    """The Layer by a variant's kernels, from operands to a `result` of float32 or operands.

    `tilings` are what it chooses from by how many images come; `geometry(sizes, **tiling)` gives grid, block and bytes
    of shared memory.
    """
    sizes = problem.sizes
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    own = implicit.fastest(tilings, sizes, RELOAD)
    parities = own.get("parities", 1)
    gathered = problem.device.empty((implicit.rows(parities), parities * k, c), "float32")
    packed = operands.empty(problem.device, gathered.shape, math)
    prepare = (
        ("pack", partial(implicit.pack, problem.filter, gathered, parities)),
        ("pack", partial(operands.writer(variant, math, **own), gathered, packed)),
    )
    alike = [tiling for tiling in tilings if tiling.get("parities", 1) == parities]

    @cache
    def launch(images):
        tiling = implicit.fastest(alike, sizes | {"images": images}, RELOAD)
        kernel = cuda.kernel("tconv", variant, f"{math}_to_{result}", "float32", **tiling)
        grid, block, shared = geometry(sizes | {"images": images}, **tiling)
        kernel.max_dynamic_shared_size_bytes = shared
        return lambda *arguments: kernel(grid, block, arguments, shared_mem=shared)

    def run(image, out):
        counts = map(np.int32, (len(image), h, image.shape[-1], k, out.shape[-1], ACTIVATIONS.index(activation)))
        launch(len(image))(image, packed, problem.bias, out, *counts)

    return Layer(run, prepare, result)


def setup(problem, variant, tilings, geometry, math):
    """The timed convolution, the writing of its operands where it is due, and the packing of the filter before it."""
    done = layer(problem, variant, tilings, geometry, math, "none", "float32")
    own = implicit.fastest(tilings, problem.sizes, RELOAD)
    return operands.steps(problem, done, math, operands.writer(variant, math, **own))
