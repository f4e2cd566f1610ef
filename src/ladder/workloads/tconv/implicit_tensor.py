"""What the implicit products on tensor cores share: packing the filter and launching kernels on `operands`."""

from functools import cache, partial

import numpy as np

from ladder import cuda
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import implicit, operands
from ladder.workloads.tconv.layer import Layer

# The rows of a wide tile at which tensor cores, which wait for operands, have half their rate; fitted on an H200.
HALF_RATE_ROWS = 48
ACTIVATIONS = ("none", "relu", "tanh")  # by index in activation.cuh


def require_warpgroups(variant):
    """Raise LadderError unless the GPU's tensor cores can read both operands from shared memory."""
    if cuda.architecture() != "sm_90":
        raise LadderError(f"tconv/{variant} requires a GPU of compute capability 9.0: use cuda_implicit_mma.")


def layer(problem, variant, tilings, geometry, math, activation, result):
    """The Layer of a variant's kernels, whose images are `operands` and whose `result` is "float32" or "operands".

    The tiling is chosen from `tilings` by the number of images; `geometry(sizes, **tiling)` returns grid, block and
    bytes of shared memory.
    """
    sizes = problem.sizes
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    tiling = implicit.fastest_tiling(tilings, sizes, HALF_RATE_ROWS)
    parities = tiling.get("parities", 1)
    packed_float32 = problem.device.empty((implicit.packed_rows(parities), parities * k, c), "float32")
    packed = operands.zeros(problem.device, packed_float32.shape, math)
    prepare = (
        ("pack", partial(implicit.pack, problem.filter, packed_float32, parities)),
        ("pack", partial(operands.writer(variant, math, **tiling), packed_float32, packed)),
    )
    matching_tilings = [tiling for tiling in tilings if tiling.get("parities", 1) == parities]

    @cache
    def launcher(images):
        tiling = implicit.fastest_tiling(matching_tilings, sizes | {"images": images}, HALF_RATE_ROWS)
        kernel = cuda.kernel("tconv", variant, f"{math}_to_{result}", "float32", **tiling)
        grid, block, shared = geometry(sizes | {"images": images}, **tiling)
        kernel.max_dynamic_shared_size_bytes = shared
        return lambda *arguments: kernel(grid, block, arguments, shared_mem=shared)

    def run(image, out):
        scalars = map(np.int32, (len(image), h, image.shape[-1], k, out.shape[-1], ACTIVATIONS.index(activation)))
        launcher(len(image))(image, packed, problem.bias, out, *scalars)

    return Layer(run, prepare, result)


def setup(problem: Problem, variant, tilings, geometry, math) -> Run:
    """The timed convolution, with the conversion of the image if necessary; the filter is packed before."""
    convolution = layer(problem, variant, tilings, geometry, math, "none", "float32")
    tiling = implicit.fastest_tiling(tilings, problem.sizes, HALF_RATE_ROWS)
    return operands.steps(problem, convolution, math, operands.writer(variant, math, **tiling))
