"""MLP training on one GPU with all elementwise operations in the epilogues of products: few kernels per batch.

With L > 1 layers of weights a batch takes 2 L - 1 kernels: L - 1 compute the activations of the hidden layers, one the
logits, the losses, the last deltas and those of the layer below, L - 2 the deltas of other hidden layers, and one
updates all parameters. For 784-300-10 these are 3 kernels, and `cuda` has 8. Products read the bytes of the images in
the batch's order, so no kernel gathers them. Weights change only in a batch's last kernel, after all deltas have been
computed from them. Sums are in a fixed order, without atomics. With `graph` on, an epoch is one CUDA graph.

A batch of 100 has few sums: for 300 units, tiles of 32 x 32 give 40 blocks on 132 multiprocessors. Hence tiles of
16 x 16, in which the threads of a block divide the terms of a sum; a layer has the tile with which the busiest
multiprocessor computes the fewest sums. The floor of a batch is the latency of its dependent kernels plus the products
at the rate of multiply-adds without tensor cores, which in float64 take 3 microseconds on an H200.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import chain_steps
from ladder.workloads.mlp import reference

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_fused.cu"
TILES = ({"tile": 32}, {"tile": 16})  # of several that are equally good, the first is the choice
THREADS, UPDATE_TILE = 256, 32  # as in the sources
STAGES = 4
OUTPUT_THREADS = 320


class Tile(NamedTuple):
    """A tile of a product: its shape, and the constants of the binary that has it."""

    shape: tuple[int, int]
    constants: dict[str, int]


class Kernels(NamedTuple):
    """The kernels of a variant: tiles of products of images, of further layers, and of the update of the first layer.

    memory(shape, itemsize) is the bytes of a block's dynamic shared memory.
    """

    variant: str
    images: Sequence[Tile]
    further: Sequence[Tile]
    update: Sequence[Tile]
    memory: Callable[[tuple[int, int], int], int]


def setup(problem: Problem, *, tile: int = 0, graph: Literal["off", "on"] = "on") -> Run:
    """One epoch: the graph of its steps, or the steps by phase.

    Tiles of activations and deltas are `tile` x `tile`, 16 or 32; by default, each layer has the better of the two.
    """
    tiles = [Tile((constants["tile"],) * 2, constants) for constants in binaries.tiling_or(TILES, tile=tile)]
    update_tile = Tile((UPDATE_TILE, UPDATE_TILE), tiles[0].constants)
    return run(problem, Kernels("cuda_fused", tiles, tiles, [update_tile], square_memory), graph)


def run(problem, kernels, graph):
    """One epoch by these Kernels: the graph of its steps, or the steps by phase."""
    steps = list(epoch(problem, kernels))
    if graph == "on":
        return cuda.capture(chain_steps(steps), cuda.load_cupy().cuda.Stream(non_blocking=True))
    return steps


def epoch(problem, kernels):
    """The kernels of an epoch, as (phase, function)."""
    sizes, dtype = problem.sizes, np.dtype(problem.sizes["dtype"])
    is_relu, rate = np.int32(sizes["activation"] == "relu"), dtype.type(sizes["rate"])
    widths = [np.int32(width) for width in reference.layer_sizes(sizes)]
    last = len(widths) - 1
    weights, biases = ([None, *(getattr(problem, f"{name}{i}") for i in range(1, last + 1))] for name in "wb")
    # Arrays of a batch, by layer.
    activations, deltas = (
        [None, *(problem.device.empty((sizes["batch"], n), dtype) for n in widths[1:])] for _ in range(2)
    )
    losses = problem.device.empty((sizes["batch"],), dtype)
    update_tile = choose_tile(kernels.update, widths[0] + 1, widths[1])
    layers, update_blocks = layer_table(problem, widths, activations, deltas, update_tile.shape)
    pixels, labels = problem.pixels, problem.labels
    launch = partial(launch_kernel, kernels, dtype)

    def product(name, tiles, rows, columns, arguments):
        """A launch that computes `rows` x `columns` elements by the best of the tiles."""
        tile = choose_tile(tiles, rows, columns)
        return launch(name, tile, grid_of(tile.shape, rows, columns), arguments)

    for step, start in enumerate(range(0, sizes["images"], sizes["batch"])):
        rows = np.int32(min(sizes["batch"], sizes["images"] - start))
        order = problem.order[start : start + rows]
        for i in range(1, last):
            arguments = (weights[i], biases[i], activations[i], rows)
            if i == 1:
                name, tiles, arguments = (
                    "forward_images",
                    kernels.images,
                    (pixels, order, *arguments, widths[1], is_relu),
                )
            else:
                name, tiles = "forward", kernels.further
                arguments = (activations[i - 1], *arguments, widths[i - 1], widths[i], is_relu)
            yield f"forward {i}", product(name, tiles, rows, widths[i], arguments)
        inputs, deltas_below = (activations[last - 1], deltas[last - 1]) if last > 1 else (np.uint64(0), np.uint64(0))
        arguments = (inputs, pixels, order, labels, weights[last], biases[last], deltas[last], deltas_below, losses)
        arguments += (widths[last - 1], rate, is_relu)
        output = cuda.kernel("mlp", kernels.variant, "output", dtype=dtype.name, **update_tile.constants)
        yield "loss", partial(output, (int(rows),), (OUTPUT_THREADS,), arguments)
        for i in range(last - 1, 1, -1):
            arguments = (deltas[i], weights[i], activations[i - 1], deltas[i - 1], rows)
            arguments += (widths[i - 1], widths[i], is_relu)
            yield f"delta {i - 1}", product("delta", kernels.further, rows, widths[i - 1], arguments)
        arguments = (layers, np.int32(last), pixels, order, losses, problem.loss[step : step + 1], rows)
        # The last block averages the losses.
        yield "update", launch("update", update_tile, (update_blocks + 1,), arguments)


def choose_tile(tiles, rows, columns):
    """The Tile with the fewest sums on the busiest multiprocessor, the first of several."""

    def sums(tile):
        blocks = math.prod(grid_of(tile.shape, rows, columns))
        return -(-blocks // cuda.multiprocessors()) * math.prod(tile.shape)

    return min(tiles, key=sums)


def grid_of(shape, rows, columns):
    """The grid of blocks that compute `rows` x `columns` elements by tiles of a shape."""
    return -(-int(columns) // shape[1]), -(-int(rows) // shape[0])


def launch_kernel(kernels, dtype, name, tile, grid, arguments):
    """A launch of a kernel that computes products by a Tile."""
    kernel = cuda.kernel("mlp", kernels.variant, name, dtype=dtype.name, **tile.constants)
    shared = kernels.memory(tile.shape, dtype.itemsize)
    kernel.max_dynamic_shared_size_bytes = shared
    return partial(kernel, grid, (THREADS,), arguments, shared_mem=shared)


def square_memory(shape, itemsize):
    """The bytes of a block's dynamic shared memory with a square tile: MEMORY_SIZE of the source, in bytes."""
    return (2 * STAGES + 1) * 4 * THREADS // shape[0] * (shape[0] + 16 // itemsize) * itemsize


def layer_table(problem, widths, activations, deltas, image_tile):
    """The rows of `Layer` in the source, an array (layers, 7) in the GPU's memory, and the blocks of all layers.

    Those of the first layer update tiles of the shape `image_tile`, others UPDATE_TILE x UPDATE_TILE.
    """
    table, blocks = [], 0
    for i in range(1, len(widths)):
        arrays = deltas[i], getattr(problem, f"w{i}"), getattr(problem, f"b{i}")
        addresses = (address(activations[i - 1]) if i > 1 else 0, *map(address, arrays))
        table.append((*addresses, *map(int, widths[i - 1 : i + 1]), blocks))
        shape = image_tile if i == 1 else (UPDATE_TILE, UPDATE_TILE)
        blocks += math.prod(grid_of(shape, widths[i - 1] + 1, widths[i]))
    return gpu_array(table), blocks


def gpu_array(rows):
    """Rows of whole numbers as an int64 array in the GPU's memory."""
    return cuda.load_cupy().array(rows, np.int64)


def address(array):
    """The address of an array in the GPU's memory."""
    return array.data.ptr
