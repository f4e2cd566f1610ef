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
from functools import partial
from typing import Literal

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
THREADS, UPDATE_TILE = 256, 32  # as in the source
STAGES = 4
OUTPUT_THREADS = 320


def setup(problem: Problem, *, tile: int = 0, graph: Literal["off", "on"] = "on") -> Run:
    """One epoch: the graph of its steps, or the steps by phase.

    Tiles of activations and deltas are `tile` x `tile`, 16 or 32; by default, each layer has the better of the two.
    """
    steps = list(epoch(problem, binaries.tiling_or(TILES, tile=tile)))
    if graph == "on":
        return cuda.capture(chain_steps(steps), cuda.load_cupy().cuda.Stream(non_blocking=True))
    return steps


def epoch(problem, tiles):
    """The kernels of an epoch, as (phase, function), with the `tiles` among which a layer chooses."""
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
    layers, update_blocks = layer_table(problem, widths, activations, deltas)
    pixels, labels = problem.pixels, problem.labels

    def product(name, rows, columns, arguments):
        """A launch that computes `rows` x `columns` elements by tiles."""
        tile, grid = choose_tile(tiles, rows, columns)
        return launch(name, dtype, tile, grid, arguments)

    for step, start in enumerate(range(0, sizes["images"], sizes["batch"])):
        rows = np.int32(min(sizes["batch"], sizes["images"] - start))
        order = problem.order[start : start + rows]
        for i in range(1, last):
            arguments = (weights[i], biases[i], activations[i], rows)
            if i == 1:
                name, arguments = "forward_images", (pixels, order, *arguments, widths[1], is_relu)
            else:
                name, arguments = "forward", (activations[i - 1], *arguments, widths[i - 1], widths[i], is_relu)
            yield f"forward {i}", product(name, rows, widths[i], arguments)
        inputs, deltas_below = (activations[last - 1], deltas[last - 1]) if last > 1 else (np.uint64(0), np.uint64(0))
        arguments = (inputs, pixels, order, labels, weights[last], biases[last], deltas[last], deltas_below, losses)
        arguments += (widths[last - 1], rate, is_relu)
        output = cuda.kernel("mlp", "cuda_fused", "output", dtype=dtype.name, **tiles[0])
        yield "loss", partial(output, (int(rows),), (OUTPUT_THREADS,), arguments)
        for i in range(last - 1, 1, -1):
            arguments = (deltas[i], weights[i], activations[i - 1], deltas[i - 1], rows)
            arguments += (widths[i - 1], widths[i], is_relu)
            yield f"delta {i - 1}", product("delta", rows, widths[i - 1], arguments)
        arguments = (layers, np.int32(last), pixels, order, losses, problem.loss[step : step + 1], rows)
        yield "update", launch("update", dtype, tiles[0], (update_blocks + 1,), arguments, UPDATE_TILE)


def choose_tile(tiles, rows, columns):
    """The tile of `tiles` with the fewest sums on the busiest multiprocessor, the first of several, and its grid."""

    def grid(tile):
        return -(-int(columns) // tile["tile"]), -(-int(rows) // tile["tile"])

    def sums(tile):
        return -(-math.prod(grid(tile)) // cuda.multiprocessors()) * tile["tile"] ** 2

    tile = min(tiles, key=sums)
    return tile, grid(tile)


def launch(name, dtype, tile, grid, arguments, size=0):
    """A launch of a kernel that computes products by tiles of `size` x `size`, by default those of `tile`."""
    kernel = cuda.kernel("mlp", "cuda_fused", name, dtype=dtype.name, **tile)
    shared = shared_memory(size or tile["tile"], dtype.itemsize)
    kernel.max_dynamic_shared_size_bytes = shared
    return partial(kernel, grid, (THREADS,), arguments, shared_mem=shared)


def shared_memory(tile, itemsize):
    """The bytes of a block's dynamic shared memory: MEMORY of the source, in bytes."""
    return (2 * STAGES + 1) * 4 * THREADS // tile * (tile + 16 // itemsize) * itemsize


def layer_table(problem, widths, activations, deltas):
    """The rows of `Layer` in the source, an array (layers, 7) in the GPU's memory, and the blocks of all layers."""
    table, blocks = [], 0
    for i in range(1, len(widths)):
        arrays = deltas[i], getattr(problem, f"w{i}"), getattr(problem, f"b{i}")
        addresses = (address(activations[i - 1]) if i > 1 else 0, *map(address, arrays))
        table.append((*addresses, *map(int, widths[i - 1 : i + 1]), blocks))
        blocks += -(-(int(widths[i - 1]) + 1) // UPDATE_TILE) * -(-int(widths[i]) // UPDATE_TILE)
    return gpu_array(table), blocks


def gpu_array(rows):
    """Rows of whole numbers as an int64 array in the GPU's memory."""
    return cuda.load_cupy().array(rows, np.int64)


def address(array):
    """The address of an array in the GPU's memory."""
    return array.data.ptr
