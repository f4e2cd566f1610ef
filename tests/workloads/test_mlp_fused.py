"""The fused trainings, without and with tensor cores: their kernels in emulation on the CPU, and on a GPU."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest

import emulator
import mlp_epochs
from ladder import cuda, devices
from ladder.catalogue import workloads
from ladder.workloads.mlp import cuda_fused, cuda_fused_mma

pytestmark = pytest.mark.xdist_group("mlp_fused")  # its kernels are compiled once
KERNEL_NAMES = ("forward_images", "forward", "delta", "output", "update")
MAX_SHARED = 232448  # bytes of shared memory that a block can have on an H200
VARIANTS = ("cuda_fused", "cuda_fused_mma")
TILINGS = [(variant, tile) for variant in VARIANTS for tile in workloads.constants("mlp", variant)["TILES"]]


@functools.cache
def kernels(variant, dtype, change=(), **tile):
    """The kernels for the CPU, compiled once per process after `change`, a (text, replacement) of the source."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        macros = emulator.kernel_macros(KERNEL_NAMES, MAX_SHARED)
        macros |= emulator.source_macro(folder, "mlp", variant, [change] if change else [])
        return emulator.Kernels(folder, "listed_kernels.cpp", "mlp", variant, dtype, macros, **tile)


class Launch(functools.partial):
    """A kernel, to whose attributes a variant may assign."""


@pytest.fixture
def train(monkeypatch):
    """A function that trains on an emulated GPU of two multiprocessors; returns what `mlp_epochs.train` does.

    Its attribute `launches` has the (name, grid, block) of all launches.
    """

    def run(variant="cuda_fused", dtype="float32", tiling=(), change=(), **sizes):
        run.launches = []

        def kernel(workload, variant, name, dtype, **tile):
            compiled = kernels(variant, dtype, change, **tile)
            compiled.launches = run.launches
            return Launch(compiled.launch, name)

        monkeypatch.setattr(cuda, "kernel", kernel)
        return mlp_epochs.train(variant, {"graph": "off", **dict(tiling)}, dtype, **sizes)

    monkeypatch.setattr(cuda, "multiprocessors", lambda: 2)
    monkeypatch.setattr(cuda_fused, "address", lambda array: array.ctypes.data)
    monkeypatch.setattr(cuda_fused, "gpu_array", lambda rows: np.array(rows, np.int64))
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        {"images": 34, "batch": 33},  # the last batch has one image
        {"images": 3, "batch": 1},
        {"images": 5, "batch": 17},  # more than there are
        {"layers": "784-64-32-10", "images": 40, "epochs": 1},  # the bias is in a tile of its own
        {"layers": "784-10", "images": 40},  # without hidden layers
        {"layers": "784-65-33-10", "activation": "relu", "rate": 0.1, "images": 37, "epochs": 1},
        {"layers": "784-17-340-5-10", "images": 21, "epochs": 1},  # `output` passes over its units twice
        {"layers": "784-300-10", "images": 110, "batch": 100, "epochs": 1},
        {"images": 1030, "batch": 1000, "epochs": 1},
        {"layers": "784-340-10", "activation": "relu", "images": 17, "batch": 17, "rate": 0.1, "epochs": 1},
    ],
    ids=str,
)
@emulator.needs_compiler
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_epochs_are_those_of_the_reference(train, variant, dtype, sizes):
    assert train(variant, dtype, **sizes)[0] == set()


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize(("variant", "tiling"), TILINGS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_tile_is_right_and_results_are_the_same_to_the_last_bit(train, variant, dtype, tiling):
    sizes = {"layers": "784-68-18-10", "images": 110, "batch": 100, "epochs": 1}
    failed, results = train(variant, dtype, tiling, **sizes)
    assert failed == set()
    assert train(variant, dtype, tiling, **sizes)[1] == results


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("layers", "names"),
    [
        ("784-10", ["output", "update"]),
        ("784-17-10", ["forward_images", "output", "update"]),
        ("784-17-5-9-10", ["forward_images", "forward", "forward", "output", "delta", "delta", "update"]),
    ],
)
def test_a_batch_takes_a_kernel_for_every_product_but_one_for_all_updates(train, variant, layers, names):
    assert train(variant, layers=layers, images=40, epochs=1)[0] == set()
    assert [name for name, *_ in train.launches] == 2 * names


# {fault: (text in the source, its replacement)}, of `cuda_fused` and of `cuda_fused_mma`.
FAULTS = {
    "operands replaced while they are read": (
        "    wait_for_groups<STAGES - 2>();\n    __syncthreads();",
        "    wait_for_groups<STAGES - 2>();",
    ),
    "operands read before they have arrived": ("wait_for_groups<STAGES - 2>", "wait_for_groups<STAGES - 1>"),
    "pixels read before all are converted": ("    __syncthreads();  // all pixels are converted\n", ""),
    "sums replace operands that are still read": ("  wait_for_copies();\n  __syncthreads();", "  wait_for_copies();"),
    "sums read before all are written": ("  __syncthreads();  // the sums of all slices are written\n", ""),
    "a slice skipped": ("s < S::SLICES", "s < S::SLICES - 1"),
    "images of the step before": ("min(row + S::DEPTH, rows - 1)", "min(row, rows - 1)"),
    "a bias skipped": ("row > fan_in ||", "row >= fan_in ||"),
    "a bias in units of pixels": ("is_one ? REAL(255)", "is_one ? REAL(1)"),
    "deltas read before all are written": ("  __syncthreads();  // the row's deltas are written\n", ""),
    "the deltas below without the slope": ("sum * slope(input(unit), is_relu)", "sum"),
}
TENSOR_CORE_FAULTS = {
    "operands replaced while they are read": (
        "    // The step's operands are complete, and those of the step before are read: they are replaced next.\n"
        "    __syncthreads();\n",
        "",
    ),
    "pixels converted before they have arrived": (
        "    wait_for_groups<STAGES - 2>();\n    unsigned char",
        "    wait_for_groups<STAGES - 1>();\n    unsigned char",
    ),
    "a slice skipped": ("s < SLICES", "s < SLICES - 1"),
    "a bias in units of pixels": ("words[0] = 255", "words[0] = 1"),
    "images of the step before": ("min(row + DEPTH, rows - 1)", "min(row, rows - 1)"),
    "float32 in two parts": ("int part = 2; part >= 0", "int part = 1; part >= 0"),
    "pixels of other rows": ("lane / 8 % 2 * 8, matrix_term", "lane / 16 * 8, matrix_term"),
}


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize(
    ("variant", "fault"),
    [*(("cuda_fused", fault) for fault in FAULTS), *(("cuda_fused_mma", fault) for fault in TENSOR_CORE_FAULTS)],
)
def test_a_fault_in_the_kernels_is_noticed(train, variant, fault):
    change, batch = (FAULTS[fault], 60) if variant == "cuda_fused" else (TENSOR_CORE_FAULTS[fault], 140)
    assert train(variant, change=change, rate=5.0, images=2 * batch, batch=batch)[0]


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize("tile", cuda_fused_mma.TILES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_have_as_much_shared_memory_as_the_source_lays_out(dtype, tile):
    memory = cuda_fused_mma.shared_memory((tile["bm"], tile["bn"]), np.dtype(dtype).itemsize)
    check = f"static_assert(MEMORY_BYTES == {memory});\nusing Sums ="
    assert kernels("cuda_fused_mma", dtype, ("using Sums =", check), **tile)


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (100, 300, (16, 16)),  # 40 blocks of 32 x 32 would leave most multiprocessors idle
        (100, 1000, (32, 32)),  # as few sums per multiprocessor with both
        (1, 1, (16, 16)),
    ],
)
def test_a_tile_leaves_no_multiprocessor_with_many_sums(monkeypatch, rows, columns, expected):
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 132)
    tiles = [cuda_fused.Tile((side, side), {}) for side in (32, 16)]
    assert cuda_fused.choose_tile(tiles, np.int32(rows), np.int32(columns)).shape == expected


@pytest.mark.gpu
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layers", ["784-10", "784-17-10", "784-300-10", "784-65-33-10"])
@pytest.mark.parametrize("batch", [1, 17, 100, 1000])
def test_epochs_on_a_gpu_are_right_and_the_same_to_the_last_bit(variant, dtype, layers, batch):
    # The last batch isn't full; the digits have 1437 images.
    changes = {"layers": layers, "batch": batch, "images": min(1230, 40 * batch + 1)}
    failed, results = mlp_epochs.train(variant, {}, dtype, devices.load("cuda"), **changes)
    assert failed == set()
    assert mlp_epochs.train(variant, {}, dtype, devices.load("cuda"), **changes)[1] == results
