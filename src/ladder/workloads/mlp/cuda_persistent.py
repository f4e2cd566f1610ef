"""MLP training on one GPU by one cooperative launch per epoch: weights stay on the chip, and pixels stay bytes.

A block has some units of every hidden layer. It keeps their weights in registers and shared memory for all batches, so
that only images, activations and deltas move. Blocks exchange these through the L2 cache: with one hidden layer as
flagged values without a barrier (`include/grid.cuh`), and with more of them also with two barriers of the grid per
further layer. While it multiplies the images of a batch, a block copies those of the next one to shared memory.

The first layer has nearly all of the arithmetic. Its products run on tensor cores in integers: pixels are bytes, and
the other operand is split into digits of a byte, 4 for float32 and 8 for float64 (`digits.cuh`). These products are
exact; the only error is that of an operand in fixed point, which is below that of its dtype at the largest value.
Ootomo, Ozaki and Yokota compute products in float64 by integers in this way ("DGEMM on integer matrix multiplication
unit", 2024).

The variant is for small networks, and bound by the latency of two exchanges per batch and by the L2 cache, from which
every block reads all images; with large batches by the latter alone. A block that can't hold a batch reads its images
in parts, twice.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda.gpus import load_cupy
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.mlp import reference

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_persistent.cu"
MACROS = ("block", "groups")
# In float64, the sums of two groups don't fit in the registers.
TILES = {
    "float32": ({"block": 512, "groups": 1}, {"block": 512, "groups": 2}),
    "float64": ({"block": 512, "groups": 1},),
}
GROUP_UNITS = 4
MMA_ROWS = 16  # of images in a product on tensor cores
MAX_CHUNK_ROWS = 128  # each of 16 warps multiplies half of the pixels of 16 rows
MAX_LAYERS = 7  # of weights: MAX_LAYERS of the source is one more


def setup(problem: Problem, *, block: int = 0, groups: int = 0) -> Run:
    """The launch that trains an epoch, by blocks of `block` threads with up to 4 * `groups` units of each hidden layer.

    By default, `groups` is as small as the GPU's multiprocessors allow. Raises LadderError if the network has no
    hidden layer or too many, or if a block's share of it doesn't fit on a multiprocessor.
    """
    widths = reference.layer_sizes(problem.sizes)
    if not 2 <= len(widths) - 1 <= MAX_LAYERS:
        raise LadderError(
            f"layers={problem.sizes['layers']} has {len(widths) - 2} hidden layers, but mlp/cuda_persistent trains "
            f"networks of 1 to {MAX_LAYERS - 1}."
        )
    units = -(-max(widths[1:-1]) // cuda.multiprocessors())
    (tiling,) = binaries.tiling_or(fitting_tiling(units, problem.sizes["dtype"]), block=block, groups=groups)
    if units > GROUP_UNITS * tiling["groups"]:
        raise LadderError(
            f"A block of mlp/cuda_persistent has {units} units of the widest layer of {problem.sizes['layers']}, but "
            f"groups={tiling['groups']} allow {GROUP_UNITS * tiling['groups']}: raise groups, or choose a smaller "
            "network."
        )
    blocks = -(-max(widths[1:-1]) // units)
    return launch(problem, widths, blocks, tiling)


def fitting_tiling(units, dtype):
    """The first of TILES that holds `units` units per block, else the last, as a tuple."""
    return (next((tiling for tiling in TILES[dtype] if units <= GROUP_UNITS * tiling["groups"]), TILES[dtype][-1]),)


def launch(problem, widths, blocks, tiling):
    """The cooperative launch by `blocks` blocks. Raises LadderError if they don't fit on the GPU at once."""
    sizes, dtype = problem.sizes, np.dtype(problem.sizes["dtype"])
    kernel = partial(cuda.kernel, "mlp", "cuda_persistent", dtype=dtype.name, is_cooperative=True, **tiling)
    layers, batch = len(widths) - 1, min(sizes["batch"], sizes["images"])
    widths = gpu_array(widths, np.int32)
    chunk_rows, shared, workspace = plan_memory(kernel("measure"), blocks, tiling["block"], (widths, layers, batch))
    train = kernel("train_shallow" if layers == 2 else "train")
    if blocks > cuda.blocks_at_once(train, tiling["block"], shared):
        raise LadderError(
            f"mlp/cuda_persistent needs {blocks} blocks at once for layers={sizes['layers']}, which this GPU can't run."
        )
    parameters = [getattr(problem, f"{letter}{layer}") for layer in range(1, layers + 1) for letter in "wb"]
    addresses = gpu_array(addresses_of(parameters), np.uint64)
    is_relu = np.int32(sizes["activation"] == "relu")
    arguments = (problem.pixels, problem.labels, problem.order, problem.loss, addresses, widths)
    arguments += (gpu_array(np.zeros(workspace, np.uint8), np.uint8), np.int32(layers), is_relu)
    arguments += (np.int32(sizes["images"]), np.int32(batch), np.int32(chunk_rows), dtype.type(sizes["rate"]))
    # The counters of the grid's barrier and of launches.
    arguments += (gpu_array([0, 0, 0, 0], np.uint32),)
    return partial(train, (blocks,), (tiling["block"],), arguments, shared_mem=shared)


def plan_memory(measure, blocks, block, network):
    """The rows of a batch that a block holds at once, its bytes of shared memory, and the bytes of the workspace.

    `network` is (widths, layers, batch); the kernel `measure` computes the bytes for a number of rows. Raises
    LadderError if even MMA_ROWS don't fit.
    """
    limit, batch = load_cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"], network[-1]
    for parts in range(1, -(-batch // MMA_ROWS) + 1):
        chunk_rows = batch if parts == 1 else -(-batch // (parts * MMA_ROWS)) * MMA_ROWS
        bytes = gpu_array([0, 0], np.int64)
        measure((blocks,), (1,), (network[0], *map(np.int32, (*network[1:], chunk_rows)), bytes))
        shared, workspace = map(int, bytes.tolist())
        if shared <= limit and chunk_rows <= min(block, MAX_CHUNK_ROWS):
            return chunk_rows, shared, workspace
    raise LadderError(
        f"A block's share of this network takes {shared} bytes of shared memory in mlp/cuda_persistent, but the GPU "
        f"has {limit}: choose a smaller network or batch."
    )


def gpu_array(values, dtype):
    """An array of these values in the GPU's memory."""
    return load_cupy().array(values, dtype)


def addresses_of(arrays):
    """The addresses of arrays in the GPU's memory."""
    return [array.data.ptr for array in arrays]
