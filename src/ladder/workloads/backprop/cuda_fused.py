"""Back-propagation on one GPU in three kernels, in which activations and deltas never leave shared memory.

The first computes tiles of `bm` patterns from their images to the deltas of all layers; the second multiplies images by
deltas for the gradient of the first layer; the third adds the blocks' partial gradients and updates the weights. The
images are read twice, and nothing of their size is written. Tiles are just large enough for the multiprocessors to
process MNIST's 60000 patterns at once. With `math` = tf32, the two products with the images use tensor cores. In
float32 the variant is bound by the FMAs of these two products; in TF32 by the two reads of the images, the second of
which begins with those still in the L2 cache, and by the layers above the first, during which no images are read.
"""

import itertools
from functools import partial
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps, chain_steps
from ladder.workloads.backprop import reference

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_fused.cu"
MACROS = ("bm", "tn", "tp")
# A block multiplies 8 `tn` units of the first layer at once; a thread accumulates the gradients of `tp` pixels.
TILES = {
    "float64": (
        {"bm": 64, "tn": 3, "tp": 7},
        {"bm": 64, "tn": 5, "tp": 7},
        {"bm": 64, "tn": 7, "tp": 7},
    ),
    "float32": (
        {"bm": 160, "tn": 3, "tp": 14},
        {"bm": 160, "tn": 5, "tp": 14},
        {"bm": 160, "tn": 7, "tp": 14},
    ),
}
# As in the source: the pixels of an image; in `forward_backward`, the pixels of a stage by element size, and the number
# of stages; in `update`, the rows of threads of a block. UNIT_THREADS threads share a row of units.
PIXELS, BK, STAGES, THREAD_ROWS = 784, {4: 32, 8: 16}, 2, 16
WARP, UNIT_THREADS = 32, 8
# Likewise for `accumulate_gradients`, by element size and suffix: its name, the warps of a team, which share a block's
# pixels, the pixels of a warp per `tp`, the teams, the patterns of a stage, the stages, and the blocks per
# multiprocessor.
GRADIENTS = {
    (4, ""): ("accumulate_gradients", 2, 4, 2, 32, 3, 3),
    (8, ""): ("accumulate_gradients", 2, 4, 2, 16, 3, 3),
    (4, "_tf32"): ("accumulate_gradients_tf32", 7, 8, 1, 16, 3, 1),
}


def setup(
    problem: Problem,
    *,
    bm: int = 0,
    tn: int = 0,
    tp: int = 0,
    math: Literal["default", "tf32"] = "default",
    graph: Literal["off", "on"] = "on",
) -> Run:
    """An epoch as (phase, kernel), with this tiling, or by default with the tiling of TILES for the layers."""
    (tiling,) = binaries.tiling_or((default_tiling(problem.sizes),), bm=bm, tn=tn, tp=tp)
    steps = list(epoch(problem, tiling, "_tf32" if math == "tf32" and problem.error.itemsize == 4 else ""))
    if graph == "off":
        return steps
    return Steps(steps, at_once=cuda.capture(chain_steps(steps), cuda.load_cupy().cuda.Stream(non_blocking=True)))


def default_tiling(sizes):
    """The tiling with the fewest products for the first layer's units; the narrowest of several."""
    width = reference.widths(sizes)[1]
    return min(TILES[sizes["dtype"]], key=lambda tiling: (-(-width // (UNIT_THREADS * tiling["tn"])), tiling["tn"]))


def stride(tn):
    """The distance between rows of units in shared memory; `STRIDE` of the source."""
    return UNIT_THREADS * (tn | 1)


def padded_width(width):
    """A width rounded up to a multiple of four."""
    return -(-width // 4) * 4


def shared_memory(widths, itemsize, bm, tn):
    """(values_offset, matrices_offset, bytes): the source documents the offsets; bytes is the size of shared memory."""
    stages_size = STAGES * (bm * (BK[itemsize] + 16 // itemsize) + BK[itemsize] * stride(tn))
    values_size = sum(map(padded_width, widths[1:])) * (bm + 4)
    # With several groups of units, further products use the stages while values are live.
    values_offset = 0 if widths[1] <= UNIT_THREADS * tn else stages_size
    matrices_size = sum(
        (1 + padded_width(below)) * padded_width(above) for below, above in itertools.pairwise(widths[1:])
    )
    matrices_size += max(padded_width(widths[1]), bm // WARP)  # first layer's biases, later the warps' errors
    matrices_offset = max(stages_size, values_offset + values_size)
    return values_offset, matrices_offset, bm * 4 + (matrices_offset + matrices_size) * itemsize


def epoch(problem, tiling, suffix):
    """The kernels of an epoch, whose names end in `suffix`, as (phase, function)."""
    sizes, dtype = problem.sizes, problem.error.dtype
    widths, count = reference.widths(sizes), np.int32(sizes["images"])
    layers, itemsize = range(1, len(widths)), dtype.itemsize
    kernel = partial(cuda.kernel, "backprop", "cuda_fused", dtype=dtype.name, **tiling)
    row_stride, unit_groups = stride(tiling["tn"]), -(-widths[1] // (UNIT_THREADS * tiling["tn"]))
    tiles = -(-sizes["images"] // tiling["bm"])
    padded_count = tiles * tiling["bm"]
    # The parts of a row of `tile_sums`: the gradients of the first biases and of the further layers, and the error.
    counts = [widths[1], *((widths[layer - 1] + 1) * widths[layer] for layer in layers[1:]), 1]
    delta = problem.device.empty((unit_groups, padded_count, row_stride), dtype)
    tile_sums = problem.device.empty((tiles, sum(counts)), dtype)

    values_offset, matrices_offset, shared = shared_memory(widths, itemsize, tiling["bm"], tiling["tn"])
    weights = [getattr(problem, f"w{layer}") for layer in layers]
    network = table([(0, widths[0]), *((address(w), width) for w, width in zip(weights, widths[1:], strict=True))])
    arguments = (problem.images, problem.targets, problem.ranpat, network, np.int32(len(layers)), count, delta)
    arguments += (tile_sums, np.int32(sum(counts)), np.int32(values_offset), np.int32(matrices_offset))
    yield "patterns", launch(kernel(f"forward_backward{suffix}"), (tiles,), (tiling["bm"],), arguments, shared)

    name, team_warps, pixels_per_tp, teams, chunk, stages, blocks_per_multiprocessor = GRADIENTS[itemsize, suffix]
    pixels = team_warps * pixels_per_tp * tiling["tp"]
    blocks_per_chunk = PIXELS // pixels * unit_groups  # blocks with the same patterns, but other pixels or units
    blocks = max(1, min(blocks_per_multiprocessor * cuda.multiprocessors() // blocks_per_chunk, padded_count // chunk))
    partials = problem.device.empty((blocks, PIXELS, widths[1]), dtype)
    # A row of pixels in shared memory is padded by 8 elements.
    shared = stages * chunk * (pixels + 8 + row_stride) * itemsize + -(-padded_count // chunk // blocks) * chunk * 4
    arguments = (problem.images, problem.ranpat, delta, count, np.int32(padded_count), np.int32(widths[1]), partials)
    grid, block = (PIXELS // pixels, blocks, unit_groups), (team_warps * teams * WARP,)
    yield "weight change", launch(kernel(name), grid, block, arguments, shared)

    changes = [getattr(problem, f"dw{layer}") for layer in layers]
    # The source's reductions: (w, dw, from, parts, stride, count, first_block); dw is null for the error.
    results = [(address(w), address(dw)) for w, dw in zip(weights, changes, strict=True)]
    results.append((address(problem.error), 0))
    starts = np.cumsum([0, *counts[:-1]])
    reductions = [
        (*result, address(tile_sums) + int(start) * itemsize, tiles, sum(counts), length)
        for result, start, length in zip(results, starts, counts, strict=True)
    ]
    first_weights = [first + widths[1] * itemsize for first in results[0]]  # after the biases
    reductions.append((*first_weights, address(partials), blocks, PIXELS * widths[1], PIXELS * widths[1]))
    reduction_blocks = [-(-reduction[-1] // WARP) for reduction in reductions]
    first_blocks = map(int, np.cumsum([0, *reduction_blocks[:-1]]))
    reductions = [(*reduction, first) for reduction, first in zip(reductions, first_blocks, strict=True)]
    rate, momentum = dtype.type(sizes["rate"]), dtype.type(sizes["momentum"])
    arguments = (table(reductions), np.int32(len(reductions) - 1), rate, momentum)
    shared = WARP * THREAD_ROWS * itemsize
    yield "update", launch(kernel("update"), (sum(reduction_blocks),), (WARP, THREAD_ROWS), arguments, shared)


def launch(kernel, grid, block, arguments, shared):
    """A launch with `shared` bytes of dynamic shared memory. Raises LadderError if a block can't have that much."""
    available = cuda.load_cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    if shared > available:
        raise LadderError(
            f"The layers of this case need {shared} bytes of shared memory in backprop/cuda_fused, and a block has "
            f"{available}: choose narrower layers, fewer patterns in a tile (bm), or backprop/cuda."
        )
    kernel.max_dynamic_shared_size_bytes = shared
    return partial(kernel, grid, block, arguments, shared_mem=shared)


def table(rows):
    """Rows of whole numbers and addresses as an int64 array on the GPU."""
    return cuda.load_cupy().array(rows, np.int64)


def address(array):
    """The device address of an array."""
    return array.data.ptr
