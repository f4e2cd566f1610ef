"""The persistent training on the CPU: `emulated/mlp.cpp` runs its blocks at the same time, threads in random order."""

import functools
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import emulator
import mlp_epochs
from ladder import cuda, devices
from ladder.errors import LadderError
from ladder.workloads.mlp import cuda_persistent

pytestmark = [pytest.mark.xdist_group("mlp_persistent"), emulator.needs_compiler]
SHARED_BYTES = 160_000  # bytes of a block's shared memory
# Two warps: each has every second step of the first layer's products. A warp of the losses' sums has whole rows.
DEFAULT_TILE = {"block": 64, "groups": 1}


@functools.cache
def kernels(dtype, changes=(), **tile):
    """The kernels for the CPU, compiled once per process after `changes`, pairs of (text, replacement)."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        macros = emulator.source_macro(folder, "mlp", "cuda_persistent", changes) | {"DYNAMIC_BYTES": SHARED_BYTES}
        arguments = ("mlp.cpp", "mlp", "cuda_persistent", dtype, macros)
        return emulator.Kernels(folder, *arguments, options=[f"-I{folder}"], **tile)


@pytest.fixture
def gpu(monkeypatch):
    """A GPU of seven multiprocessors, on the CPU; tests may change its shared memory or its source."""
    gpu = SimpleNamespace(shared_bytes=SHARED_BYTES, blocks_at_once=7, changes=())
    cupy = SimpleNamespace(
        array=np.array,
        cuda=SimpleNamespace(
            Device=lambda: SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": gpu.shared_bytes})
        ),
    )

    def kernel(workload, variant, name, dtype, is_cooperative, **tile):
        assert is_cooperative
        return kernels(dtype, gpu.changes, **tile).get(workload, variant, name, dtype, **tile)

    monkeypatch.setattr(cuda, "kernel", kernel)
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 7)
    monkeypatch.setattr(cuda, "blocks_at_once", lambda kernel, block, shared: gpu.blocks_at_once)
    monkeypatch.setattr(cuda_persistent, "load_cupy", lambda: cupy)
    monkeypatch.setattr(cuda_persistent, "addresses_of", lambda arrays: [array.ctypes.data for array in arrays])
    return gpu


def train(dtype="float32", tile=DEFAULT_TILE, device=None, **changes):
    """The names of the checks that fail in any epoch, and the bytes of all results."""
    return mlp_epochs.train("cuda_persistent", tile, dtype, device, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_epoch_is_that_of_the_reference(gpu, dtype):
    assert train(dtype)[0] == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"images": 34, "batch": 33},  # the last batch has one image
        {"images": 3, "batch": 1},
        {"images": 5, "batch": 17},  # more than there are
        {"layers": "784-3-10", "epochs": 1},  # fewer units than multiprocessors
        {"layers": "784-17-13-10", "activation": "relu", "rate": 0.1},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_and_layers_of_every_kind_are_right(gpu, dtype, changes):
    assert train(dtype, **changes)[0] == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "layers"),
    [
        ("float64", "784-65-33-10"),
        ("float32", "784-17-5-33-9-10"),
        pytest.param("float32", "784-65-33-10", marks=pytest.mark.exhaustive),
        pytest.param("float64", "784-17-5-33-9-10", marks=pytest.mark.exhaustive),
    ],
)
def test_deep_networks_are_right(gpu, dtype, layers):
    groups = 3 if "65" in layers else 2
    assert train(dtype, DEFAULT_TILE | {"groups": groups}, layers=layers, activation="relu", rate=0.1)[0] == set()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_batch_in_parts_is_right_and_results_are_the_same_to_the_last_bit(gpu, dtype):
    sizes = {"images": 100, "batch": 70, "epochs": 1}
    failed_checks, results = train(dtype, **sizes, tile=DEFAULT_TILE | {"block": 128})
    again = train(dtype, **sizes, tile=DEFAULT_TILE | {"block": 128})
    gpu.shared_bytes = 90_000
    in_parts = train(dtype, **sizes, tile=DEFAULT_TILE | {"block": 128})
    assert failed_checks == in_parts[0] == set()
    assert again == (failed_checks, results)


# {fault: (text in the source, its replacement)}.
FAULTS = {
    "rows in another order than their deltas": ("row % 16 / 8 * 2", "row % 16 / 8"),
    "a digit's offset missing": ("+ OFFSET) ^ OFFSET", ")"),
    "images overwritten while in use": ("return (step + copy) % 2", "return copy % 2"),
    "images read before all have arrived": (
        "    wait_for_copies();",
        "    if (step) wait_for_copies();",
    ),
    "the scale of new weights forgotten": ("\n    inverse_scale = write_w", "\n    write_w"),
    "a bias skipped": ("shared.bias[last_hidden][i - weight_count] += sum;", ";"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_kernel_is_noticed(gpu, fault):
    gpu.changes = (FAULTS[fault],)
    assert train(rate=5.0, epochs=3)[0]


@pytest.mark.parametrize(
    ("changes", "tile", "message"),
    [
        ({"layers": "784-10"}, DEFAULT_TILE, "has 0 hidden layers"),
        ({"layers": "784-2-2-2-2-2-2-2-10"}, DEFAULT_TILE, "networks of 1 to 6"),
        # A block has a seventh of the units.
        ({"layers": "784-65-10"}, DEFAULT_TILE, "10 units of the widest layer .*raise groups"),
        ({"layers": "784-6000-10"}, {}, "858 units"),
    ],
)
def test_a_network_that_does_not_fit_is_refused(gpu, changes, tile, message):
    with pytest.raises(LadderError, match=message):
        train(tile=tile, **changes)


def test_a_share_beyond_the_shared_memory_is_refused(gpu):
    gpu.shared_bytes = 20_000
    with pytest.raises(LadderError, match="bytes of shared memory in mlp/cuda_persistent, but the GPU has 20000"):
        train()


def test_a_grid_that_does_not_run_at_once_is_refused(gpu):
    gpu.blocks_at_once = 5
    with pytest.raises(LadderError, match="6 blocks at once"):
        train()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layers", ["784-17-10", "784-300-10", "784-65-33-10"])
@pytest.mark.parametrize("batch", [1, 17, 100, 1000])
def test_epochs_on_a_gpu_are_right_and_the_same_to_the_last_bit(dtype, layers, batch):
    # The last batch isn't full; the digits have 1437 images.
    changes = {"layers": layers, "batch": batch, "images": min(1230, 40 * batch + 1)}
    failed_checks, results = train(dtype, {}, devices.load("cuda"), **changes)
    assert failed_checks == set()
    assert train(dtype, {}, devices.load("cuda"), **changes)[1] == results
