"""What the implicit products on tensor cores share: their launches, on operands, and the packing of the filter."""

from functools import cache, partial

import numpy as np

from ladder import cuda
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import implicit, operands
from ladder.workloads.tconv.layer import Layer

# `reload` of `implicit.cost` for tensor cores, which wait for their operands; fitted to times on an H200.
RELOAD = 48
ACTIVATIONS = ("none", "relu", "tanh")  # by index in activation.cuh


def require_warpgroups(variant):
    """Raise LadderError unless the GPU's tensor cores can read both operands from shared memory."""
    if cuda.architecture() != "sm_90":
        raise LadderError(f"tconv/{variant} requires a GPU of compute capability 9.0: use cuda_implicit_mma.")


def layer(problem, variant, tilings, geometry, math, activation, result):
    """The Layer by a variant's kernels, from operands to a `result`, "float32" or "operands".

    The tiling is chosen from `tilings` by the number of images; `geometry(sizes, **tiling)` returns grid, block and
    bytes of shared memory.
    """
    sizes = problem.sizes
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    tiling = implicit.fastest_tiling(tilings, sizes, RELOAD)
    parities = tiling.get("parities", 1)
    packed_float32 = problem.device.empty((implicit.packed_rows(parities), parities * k, c), "float32")
    packed = operands.empty(problem.device, packed_float32.shape, math)
    prepare = (
        ("pack", partial(implicit.pack, problem.filter, packed_float32, parities)),
        ("pack", partial(operands.writer(variant, math, **tiling), packed_float32, packed)),
    )
    same_parities = [tiling for tiling in tilings if tiling.get("parities", 1) == parities]

    @cache
    def launch(images):
        tiling = implicit.fastest_tiling(same_parities, sizes | {"images": images}, RELOAD)
        kernel = cuda.kernel("tconv", variant, f"{math}_to_{result}", "float32", **tiling)
        grid, block, shared = geometry(sizes | {"images": images}, **tiling)
        kernel.max_dynamic_shared_size_bytes = shared
        return lambda *arguments: kernel(grid, block, arguments, shared_mem=shared)

    def run(image, out):
        counts = map(np.int32, (len(image), h, image.shape[-1], k, out.shape[-1], ACTIVATIONS.index(activation)))
        launch(len(image))(image, packed, problem.bias, out, *counts)

    return Layer(run, prepare, result)


def setup(problem: Problem, variant, tilings, geometry, math) -> Run:
    """The timed convolution, with the conversion of the image if necessary; the filter is packed before."""
    convolution = layer(problem, variant, tilings, geometry, math, "none", "float32")
    tiling = implicit.fastest_tiling(tilings, problem.sizes, RELOAD)
    return operands.steps(problem, convolution, math, operands.writer(variant, math, **tiling))
