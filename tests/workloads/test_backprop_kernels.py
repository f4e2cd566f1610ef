"""The CUDA program of the earlier study of back-propagation, in all forms: in emulation on the CPU, and on a GPU."""

import ctypes
import functools
import itertools
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import backprop_epochs
import emulator
from ladder import cuda, devices
from ladder.build import binaries
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness.worker import make_problem
from ladder.workloads import backprop
from ladder.workloads.backprop import cuda_kernels

pytestmark = pytest.mark.xdist_group("backprop_kernels")  # its kernels are compiled once
# {variant: one of its kernels, all of which have the same parameters}.
SIGNATURE_KERNELS = {"cuda_flat": "update_walk", "cuda_kernels": "update_argument_global"}
TUNING_VALUES = {
    "cuda_flat": {"index": ("walk", "offsets")},
    "cuda_kernels": {
        "operands": ("global", "shared"),
        "scalars": ("argument", "constant"),
        "tables": ("global", "readonly", "texture"),
        "error": ("atomic", "emulated", "block"),
    },
}


def all_tunings(variant):
    """Every combination of values of a variant's tunings."""
    names, values = TUNING_VALUES[variant].keys(), TUNING_VALUES[variant].values()
    return [dict(zip(names, combination, strict=True)) for combination in itertools.product(*values)]


def covering_tunings(variant):
    """A few combinations of values, in which every value of every tuning occurs."""
    choices = TUNING_VALUES[variant]
    count = max(map(len, choices.values()))
    return [{name: values[index % len(values)] for name, values in choices.items()} for index in range(count)]


@functools.cache
def kernels(variant, dtype, source=None):
    """The kernels of a variant, or of another source, compiled for the CPU once."""
    macros = {"SIGNATURE_KERNEL": SIGNATURE_KERNELS[variant]} | ({"SOURCE": f'"{source}"'} if source else {})
    with tempfile.TemporaryDirectory() as folder:
        return emulator.Kernels(Path(folder), "backprop.cpp", "backprop", variant, dtype, macros)


@pytest.fixture
def emulate(monkeypatch):
    """A function that replaces a GPU's kernels by kernels that were compiled for the CPU."""

    def variable(library, name, dtype):
        address = ctypes.addressof(ctypes.c_char.in_dll(library, name))
        return SimpleNamespace(copy_from_host=lambda values, bytes: ctypes.memmove(address, values, bytes))

    def emulate(kernels):
        monkeypatch.setattr(cuda, "kernel", kernels.get)
        monkeypatch.setattr(cuda_kernels, "texture", lambda table: table)
        monkeypatch.setattr(cuda_kernels, "variable", functools.partial(variable, kernels.library))

    return emulate


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", backprop_epochs.DTYPES)
@pytest.mark.parametrize(
    ("variant", "tuning"), [(name, tuning) for name in TUNING_VALUES for tuning in covering_tunings(name)]
)
@emulator.needs_compiler
def test_the_trajectory_is_right_in_emulation(emulate, variant, tuning, dtype):
    emulate(kernels(variant, dtype))
    for layers in backprop_epochs.LAYERS:
        assert (
            backprop_epochs.emulated_failed_checks(
                backprop_epochs.case_of(variant, tuning, layers=layers, epochs=1, dtype=dtype)
            )
            == []
        ), layers


@pytest.mark.slow
@pytest.mark.parametrize("images", [1, 33, 65])
@pytest.mark.parametrize("variant", ["cuda_flat", "cuda_kernels"])
@emulator.needs_compiler
def test_ragged_counts_of_patterns_are_right_in_emulation(emulate, variant, images):
    emulate(kernels(variant, "float32"))
    for block in (32, 160):
        tuning = covering_tunings(variant)[1] | {"block": block}
        assert (
            backprop_epochs.emulated_failed_checks(backprop_epochs.case_of(variant, tuning, images=images, epochs=1))
            == []
        )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", backprop_epochs.DTYPES)
@pytest.mark.parametrize("variant", TUNING_VALUES)
@emulator.needs_compiler
def test_every_kernel_is_right_in_emulation(emulate, variant, dtype):
    emulate(kernels(variant, dtype))
    for tuning in all_tunings(variant):
        # These tunings cover all kernels: products depend on `operands` only, the error on `error` only.
        if variant != "cuda_kernels" or (tuning["operands"] == "shared") == (tuning["error"] == "block"):
            case = backprop_epochs.case_of(variant, tuning, layers="784-5-3-10", images=5, dtype=dtype)
            assert backprop_epochs.emulated_failed_checks(case) == [], tuning


# {fault: (text in the source, its replacement)}.
FAULTS = {
    "no barrier behind the tiles": ("__syncthreads();  // the tiles are complete", ""),
    "no barrier behind the weights": ("__syncthreads();  // all weights are copied", ""),
    "no barrier behind the sums of warps": ("__syncthreads();  // the sums of all warps are complete", ""),
    "momentum dropped": ("layer.momentum * dw", "dw"),
    "the last tile skipped": ("start < terms; start += TILE", "start + TILE <= terms; start += TILE"),
    "an error added once and lost": ("old != assumed;)", "old == assumed;)"),
    "the bias skipped": ("layer.w[tile.column] + sum", "sum"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
@emulator.needs_compiler
def test_a_fault_in_a_kernel_is_detected(tmp_path, emulate, fault):
    text, replacement = FAULTS[fault]
    source = binaries.source_of("backprop", "cuda_kernels").read_text()
    assert text in source
    (tmp_path / "faulty.cu").write_text(source.replace(text, replacement))
    emulate(kernels("cuda_kernels", "float32", tmp_path / "faulty.cu"))
    tuning = {"error": "emulated" if "error" in fault else "block", "block": 64}
    with np.errstate(invalid="ignore"):
        assert backprop_epochs.emulated_failed_checks(
            backprop_epochs.case_of("cuda_kernels", tuning, layers="784-9-5-10", images=40)
        )


@pytest.mark.slow
@emulator.needs_compiler
def test_each_phase_of_an_epoch_is_one_of_the_earlier_studys_eleven_kernels(emulate):
    """A phase's number is that of the kernel. Without further hidden layers, the phases of these are missing."""
    emulate(kernels("cuda_kernels", "float32"))

    def launches(layers, **tuning):
        """The names of the kernels that are launched, {number of the phase: names}."""
        problem = make_problem(
            backprop, backprop_epochs.case_of("cuda_kernels", tuning, layers=layers), emulator.device()
        )
        names_by_phase = {}
        for phase, step in cuda_kernels.setup(problem, **tuning).run:
            if isinstance(name := step.args[0], str):
                names_by_phase.setdefault(int(phase.split()[0]), set()).add(name.removesuffix("_constant_texture"))
        return names_by_phase

    tiled, untiled = "products_tiled", "products_whole"
    with_shared = launches("784-56-28-10")
    assert sorted(with_shared) == list(range(11))
    assert [with_shared[number] for number in (0, 1, 2, 3)] == [{tiled}, {tiled}, {untiled}, {"hidden_deltas_whole"}]
    assert with_shared[7] == with_shared[8] == {"weight_change_tiled"}
    with_global = launches("784-56-28-10", operands="global")
    assert with_global[0] == with_global[1] == with_global[2] == {"products_global"}
    assert sorted(set(with_shared) - set(launches("784-20-10"))) == [1]
    assert sorted(set(with_shared) - set(launches("784-10"))) == [1, 2, 3, 8]


@pytest.mark.parametrize(
    ("variant", "tuning", "layers", "sentence"),
    [
        (
            "cuda_kernels",
            {"block": 48},
            backprop_epochs.LAYERS[0],
            "block=48 of backprop/cuda_kernels must be a multiple of 32",
        ),
        # 201 x 101 weights in float32, and 785 x 3 000 000 threads.
        ("cuda_kernels", {}, "784-200-100-10", "needs 81204 bytes .* weights of layer 2, .* 49152"),
        ("cuda_flat", {}, "784-3000000-10", "would need 2355000000 threads, .* lower images, or the widths"),
    ],
)
def test_invalid_blocks_and_layers_that_do_not_fit_raise_a_sentence(monkeypatch, variant, tuning, layers, sentence):
    monkeypatch.setattr(cuda, "kernel", lambda *arguments, **constants: lambda *launch: None)
    monkeypatch.setattr(cuda_kernels, "texture", lambda table: table)
    case = backprop_epochs.case_of(variant, tuning, layers=layers, images=1)
    device = emulator.device()
    device.empty = np.empty  # nothing is written to it
    problem = make_problem(backprop, case, device)
    with pytest.raises(LadderError, match=sentence):
        workloads.load_variant("backprop", variant).setup(problem, **tuning)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", backprop_epochs.DTYPES)
@pytest.mark.parametrize("images", [1, 17, 1000])
@pytest.mark.parametrize("layers", backprop_epochs.LAYERS)
@pytest.mark.parametrize("variant", TUNING_VALUES)
def test_every_tuning_is_right_on_a_gpu(variant, layers, images, dtype):
    for tuning, block in zip(all_tunings(variant), itertools.cycle((32, 1024, 96, 256, 512))):
        case = backprop_epochs.case_of(variant, tuning | {"block": block}, layers=layers, images=images, dtype=dtype)
        assert backprop_epochs.failed_checks(case, devices.load("cuda")) == [], case.key
