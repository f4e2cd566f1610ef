"""The fused training: its kernels in emulation on the CPU, and on a GPU."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest

import emulator
import mlp_epochs
from ladder import cuda, devices
from ladder.workloads.mlp import cuda_fused

pytestmark = pytest.mark.xdist_group("mlp_fused")  # its kernels are compiled once
NAMES = ("forward_images", "forward", "delta", "output", "update")
SHARED = 232448  # bytes of shared memory that a block can have on an H200


@functools.cache
def kernels(dtype, change=(), **tile):
    """The kernels for the CPU, compiled once per process after `change`, a (text, replacement) of the source."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        macros = emulator.kernel_macros(NAMES, SHARED)
        macros |= emulator.source_macro(folder, "mlp", "cuda_fused", *change)
        return emulator.Kernels(folder, "listed_kernels.cpp", "mlp", "cuda_fused", dtype, macros, **tile)


class Launch(functools.partial):
    """A kernel, to whose attributes a variant may assign."""


@pytest.fixture
def train(monkeypatch):
    """A function that trains on an emulated GPU of two multiprocessors; returns what `mlp_epochs.train` does.

    Its attribute `launches` has the (name, grid, block) of all launches.
    """

    def run(dtype="float32", tile=0, change=(), **sizes):
        run.launches = []

        def kernel(workload, variant, name, dtype, **tile):
            compiled = kernels(dtype, change, **tile)
            compiled.launches = run.launches
            return Launch(compiled.launch, name)

        monkeypatch.setattr(cuda, "kernel", kernel)
        return mlp_epochs.train("cuda_fused", {"tile": tile, "graph": "off"}, dtype, **sizes)

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
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_epochs_are_those_of_the_reference(train, dtype, sizes):
    assert train(dtype, **sizes)[0] == set()


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize("tile", [16, 32])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_tile_is_right_and_results_are_the_same_to_the_last_bit(train, dtype, tile):
    sizes = {"layers": "784-35-18-10", "images": 110, "batch": 100, "epochs": 1}
    failed, results = train(dtype, tile, **sizes)
    assert failed == set()
    assert train(dtype, tile, **sizes)[1] == results


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize(
    ("layers", "names"),
    [
        ("784-10", ["output", "update"]),
        ("784-17-10", ["forward_images", "output", "update"]),
        ("784-17-5-9-10", ["forward_images", "forward", "forward", "output", "delta", "delta", "update"]),
    ],
)
def test_a_batch_takes_a_kernel_for_every_product_but_one_for_all_updates(train, layers, names):
    assert train(layers=layers, images=40, epochs=1)[0] == set()
    assert [name for name, *_ in train.launches] == 2 * names


FAULTS = {
    "operands replaced while they are read": (
        "    wait_for_groups<STAGES - 2>();\n    __syncthreads();",
        "    wait_for_groups<STAGES - 2>();",
    ),
    "operands read before they have arrived": ("wait_for_groups<STAGES - 2>", "wait_for_groups<STAGES - 1>"),
    "pixels read before all are converted": ("    __syncthreads();  // all pixels are converted\n", ""),
    "sums replace operands that are still read": ("  wait_for_copies();\n  __syncthreads();", "  wait_for_copies();"),
    "sums read before all are written": ("  __syncthreads();  // the sums of all slices are written\n", ""),
    "a slice left out": ("s < S::SLICES", "s < S::SLICES - 1"),
    "an image of the batch before": ("min(row + S::DEPTH, rows - 1)", "min(row, rows - 1)"),
    "a bias left out": ("row > fan_in ||", "row >= fan_in ||"),
    "a bias in units of pixels": ("is_one ? REAL(255)", "is_one ? REAL(1)"),
    "deltas read before all are written": ("  __syncthreads();  // the row's deltas are written\n", ""),
    "the deltas below without the slope": ("sum * slope(input(unit), is_relu)", "sum"),
}


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_kernels_is_noticed(train, fault):
    assert train(change=FAULTS[fault], rate=5.0, images=120, batch=60)[0]


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (100, 300, ({"tile": 16}, (19, 7))),  # 40 blocks of 32 x 32 would leave most multiprocessors idle
        (100, 1000, ({"tile": 32}, (32, 4))),  # as few sums per multiprocessor with both
        (1, 1, ({"tile": 16}, (1, 1))),
    ],
)
def test_a_tile_leaves_no_multiprocessor_with_many_sums(monkeypatch, rows, columns, expected):
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 132)
    assert cuda_fused.choose_tile(cuda_fused.TILES, np.int32(rows), np.int32(columns)) == expected


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layers", ["784-10", "784-17-10", "784-300-10", "784-65-33-10"])
@pytest.mark.parametrize("batch", [1, 17, 100, 1000])
def test_epochs_on_a_gpu_are_right_and_the_same_to_the_last_bit(dtype, layers, batch):
    changes = {"layers": layers, "batch": batch, "images": min(1230, 40 * batch + 1)}
    failed, results = mlp_epochs.train("cuda_fused", {}, dtype, devices.load("cuda"), **changes)
    assert failed == set()
    assert mlp_epochs.train("cuda_fused", {}, dtype, devices.load("cuda"), **changes)[1] == results
