"""The earlier study's eleven CUDA kernels, with the memory spaces that they used there as tunings.

The study reports which kernels had tiles (0, 1, 7, 8) or whole operands (2, 3) in shared memory; we assigned the other
numbers. Each kernel is a phase:

     0  products of the first layer              6  deltas of the output
     1  products of further hidden layers        7  changes of the first layer's weights
     2  products of the output                   8  changes of further weights
     3  deltas of hidden layers                  9  changes of the biases, a block per unit
     4  activations                             10  update of the weights
     5  error, a thread per pattern

The data of all layers are in flat arrays, as in `cuda_flat`, but a kernel computes its layer's offset only once.

`operands` are read from `global` memory, with a thread per sum, or from `shared` memory: as tiles of `block` / 16 rows
and 16 columns of the result in 0, 1, 7 and 8, and all weights of a layer at once in 2 and 3. `scalars` (the counts of
patterns and outputs, rate and momentum) are passed as an `argument`, or are in `constant` memory. `tables`
(`ranpat`, the rows of the visited patterns, and the widths of layers) are read from `global` memory, by `readonly`
loads, or through a `texture`. Every pattern adds to the `error` by an `atomic` addition, or by an addition `emulated`
with compare-and-swap, as on GPUs without atomic additions; or each `block` reduces first. Emulated additions are
contention-bound: of all threads that try at once, one succeeds.

Kernels 0 and 7 dominate. 7 is latency-bound: it has few blocks, which iterate over all patterns tile by tile. 0, with
tiles, is bound by shared memory, which loads two elements per FMA.
"""

from functools import partial
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.build import binaries, compiler
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.backprop import flat

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_kernels.cu"
MACROS = ()
LIMITS = {"block": (32, 1024)}
WARP, TILE = 32, 16
MAX_SHARED = 48 * 2**10  # bytes of shared memory that a block can have without opting in


def setup(
    problem: Problem,
    *,
    operands: Literal["global", "shared"] = "shared",
    scalars: Literal["argument", "constant"] = "constant",
    tables: Literal["global", "readonly", "texture"] = "texture",
    error: Literal["atomic", "emulated", "block"] = "block",
    block: int = 256,
) -> Run:
    """The steps of an epoch, by kernel.

    Images and weights are copied to the flat arrays before it, and the weights back at its end.
    """
    if block % WARP:
        raise LadderError(f"block={block} of backprop/cuda_kernels must be a multiple of {WARP}, a warp.")
    kernels = Kernels(problem, f"{scalars}_{tables}", tables == "texture", block)
    steps = epoch(
        kernels, shared_memory_products(kernels) if operands == "shared" else global_memory_products(kernels), error
    )
    fill = [("constants", kernels.fill_constants)] if scalars == "constant" else []
    return Steps(run=[*steps, *kernels.net.copy_back()], prepare=[*kernels.net.fill(), *fill])


def epoch(kernels, products, error):
    """The steps of an epoch; `products` is {"forward", "backward", "change": function from a layer to its launch}."""
    net = kernels.net
    last, layers = net.last, range(1, net.last + 1)
    for layer in layers:
        # The phase's name, which begins with the kernel's number.
        phase = "0 first products" if layer == 1 else "1 hidden products" if layer < last else "2 output products"
        yield phase, products["forward"](layer)
        yield "4 activations", kernels.launch_1d(net.unit_threads(layer), "activations", layer)
    yield "5 error", partial(net.problem.error.fill, 0)
    yield "5 error", kernels.launch_1d(net.visited_count, f"error_{error}", last)
    yield "6 output deltas", kernels.launch_1d(net.unit_threads(last), "output_deltas", last)
    for layer in range(last, 1, -1):
        yield "3 hidden deltas", products["backward"](layer)
    for layer in layers:
        yield "7 first change" if layer == 1 else "8 further changes", products["change"](layer)
        yield "9 bias change", kernels.launch("bias_change", layer, (net.widths[layer],))
    for layer in layers:
        yield "10 update", kernels.launch_1d(net.weight_threads(layer), "update", layer)


def global_memory_products(kernels):
    """The launches of products without shared memory."""
    net = kernels.net
    return {
        "forward": lambda layer: kernels.launch_1d(net.unit_threads(layer), "products_global", layer),
        "backward": lambda layer: kernels.launch_1d(net.unit_threads(layer - 1), "hidden_deltas_global", layer),
        "change": lambda layer: kernels.launch_1d(net.weight_threads(layer), "weight_change_global", layer),
    }


def shared_memory_products(kernels):
    """The launches of products with shared memory: whole weights for the output layer and for deltas, else tiles."""
    net = kernels.net

    def forward(layer):
        if 1 < layer == net.last:
            return kernels.launch_staged(net.unit_threads(layer), "products_whole", layer)
        return kernels.launch_tiles(net.visited_count, net.widths[layer], "products_tiled", layer)

    return {
        "forward": forward,
        "backward": lambda layer: kernels.launch_staged(net.unit_threads(layer - 1), "hidden_deltas_whole", layer),
        "change": lambda layer: kernels.launch_tiles(*net.widths[layer - 1 : layer + 1], "weight_change_tiled", layer),
    }


class Kernels:
    """Launches of one version of the kernels, whose names end in `suffix`, on a problem's network in flat arrays."""

    def __init__(self, problem, suffix, is_texture, block):
        self.net, self.suffix, self.block = flat.FlatNetwork(problem), suffix, block
        net, sizes = self.net, problem.sizes
        self.kernel = partial(cuda.kernel, "backprop", "cuda_kernels", dtype=net.dtype.name)
        self.counts = np.array([net.pool_rows, net.visited_count, net.widths[-1]], np.int32)
        self.factors = np.array([sizes["rate"], sizes["momentum"]], net.dtype)
        tables = problem.ranpat, net.table(net.widths, "int32")
        if is_texture:
            tables = [texture(table) for table in tables]
        self.arguments = (*tables, *net.arrays, *self.counts, *self.factors)

    def fill_constants(self):
        """Write the scalars to the binary's constant memory."""
        for name, values in (("counts", self.counts), ("factors", self.factors)):
            variable(name, self.net.dtype.name).copy_from_host(values.ctypes.data, values.nbytes)

    def launch(self, name, layer, grid, block=None, shared=None):
        """A launch for a layer, with `shared` elements of shared memory per block, by default one per warp."""
        shared = self.net.dtype.itemsize * (shared or self.block // WARP)
        arguments = (*self.arguments, np.int32(layer))
        return partial(self.kernel(f"{name}_{self.suffix}"), grid, block or (self.block,), arguments, shared_mem=shared)

    def launch_1d(self, threads, name, layer):
        """A launch of at least `threads` threads."""
        return self.launch(name, layer, flat.grid(threads, self.block))

    def launch_staged(self, threads, name, layer):
        """The launch of `launch_1d` with a layer's weights in shared memory. Raises LadderError if they don't fit."""
        fan_in, fan_out = self.net.widths[layer - 1 : layer + 1]
        count = (fan_in + 1) * (fan_out | 1)
        if (needed := count * self.net.dtype.itemsize) > MAX_SHARED:
            raise LadderError(
                f"operands=shared of backprop/cuda_kernels needs {needed} bytes of shared memory for the weights of "
                f"layer {layer}, and a block has {MAX_SHARED}: choose operands=global or narrower layers."
            )
        return self.launch(name, layer, flat.grid(threads, self.block), shared=count)

    def launch_tiles(self, rows, columns, name, layer):
        """A launch for a result (rows, columns), by blocks of TILE columns."""
        height = self.block // TILE
        blocks, shared = -(-rows // height) * -(-columns // TILE), height * (TILE + 1) + TILE * TILE
        return self.launch(name, layer, (blocks,), (TILE, height), shared)


def texture(table):
    """A texture object on a table of integers on the GPU; a 64-bit integer has two channels of 32 bits."""
    cupy = cuda.load_cupy()
    runtime, textures = cupy.cuda.runtime, cupy.cuda.texture
    second_bits = 32 if table.itemsize == 8 else 0
    channels = textures.ChannelFormatDescriptor(32, second_bits, 0, 0, runtime.cudaChannelFormatKindSigned)
    resource = textures.ResourceDescriptor(
        runtime.cudaResourceTypeLinear, arr=table, chDesc=channels, sizeInBytes=table.nbytes
    )
    return textures.TextureObject(resource, textures.TextureDescriptor(readMode=runtime.cudaReadModeElementType))


def variable(name, dtype):
    """The memory of a variable in the kernels' binary."""
    slug = binaries.slug("backprop", "cuda_kernels", dtype, {})
    return cuda.module(compiler.ensure(cuda.architecture(), "backprop", "cuda_kernels", slug)).get_global(name)
