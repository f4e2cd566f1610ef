"""The CUDA program of back-propagation's earlier study, in all its forms: on the CPU in emulation and on a GPU."""

import ctypes
import functools
import itertools
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import elementary
import epochs
from ladder import cuda, devices
from ladder.build import binaries
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness.worker import make_problem
from ladder.workloads import backprop
from ladder.workloads.backprop import cuda_kernels

pytestmark = pytest.mark.xdist_group("backprop_kernels")  # its kernels are compiled once
# One kernel of each source: all have the same arguments.
LIKE = {"cuda_flat": "update_walk", "cuda_kernels": "update_argument_global"}
CHOICES = {
    "cuda_flat": {"index": ("walk", "offsets")},
    "cuda_kernels": {
        "operands": ("global", "shared"),
        "scalars": ("argument", "constant"),
        "tables": ("global", "readonly", "texture"),
        "error": ("atomic", "emulated", "block"),
    },
}


def forms(variant):
    """Every combination of a variant's words."""
    names, words = CHOICES[variant].keys(), CHOICES[variant].values()
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*words)]


def each_word(variant):
    """Few combinations in which every word of every choice occurs."""
    choices = CHOICES[variant]
    most = max(map(len, choices.values()))
    return [{name: words[place % len(words)] for name, words in choices.items()} for place in range(most)]


@functools.cache
def kernels(variant, dtype, source=None):
    """The kernels of a variant, or of another source in its place, compiled for the CPU once."""
    defined = {"LIKE": LIKE[variant]} | ({"SOURCE": f'"{source}"'} if source else {})
    with tempfile.TemporaryDirectory() as folder:
        return elementary.Kernels(Path(folder), "backprop.cpp", "backprop", variant, dtype, defined)


@pytest.fixture
def emulate(monkeypatch):
    """A function that puts kernels that were compiled for the CPU in a card's place."""

    def variable(library, name, dtype):
        address = ctypes.addressof(ctypes.c_char.in_dll(library, name))
        return SimpleNamespace(copy_from_host=lambda values, bytes: ctypes.memmove(address, values, bytes))

    def put(kernels):
        monkeypatch.setattr(cuda, "kernel", kernels.get)
        monkeypatch.setattr(cuda_kernels, "texture", lambda table: table)
        monkeypatch.setattr(cuda_kernels, "variable", functools.partial(variable, kernels.library))

    return put


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", epochs.DTYPES)
@pytest.mark.parametrize(("variant", "tuning"), [(variant, one) for variant in CHOICES for one in each_word(variant)])
@elementary.needs_compiler
def test_the_trajectory_is_right_in_emulation(emulate, variant, tuning, dtype):
    emulate(kernels(variant, dtype))
    for layers in epochs.LAYERS:
        assert epochs.emulated(epochs.case_of(variant, tuning, layers=layers, epochs=1, dtype=dtype)) == [], layers


@pytest.mark.parametrize("images", [33, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 65))])
@pytest.mark.parametrize("variant", [pytest.param("cuda_flat", marks=pytest.mark.slow), "cuda_kernels"])
@elementary.needs_compiler
def test_ragged_counts_of_patterns_are_right_in_emulation(emulate, variant, images):
    emulate(kernels(variant, "float32"))
    for block in (32, 160):
        tuning = each_word(variant)[1] | {"block": block}
        assert epochs.emulated(epochs.case_of(variant, tuning, images=images, epochs=1)) == []


@pytest.mark.slow
@pytest.mark.parametrize("dtype", epochs.DTYPES)
@pytest.mark.parametrize("variant", CHOICES)
@elementary.needs_compiler
def test_every_kernel_is_right_in_emulation(emulate, variant, dtype):
    emulate(kernels(variant, dtype))
    for tuning in forms(variant):
        # All kernels are in these, since products and errors choose on their own.
        if variant != "cuda_kernels" or (tuning["operands"] == "shared") == (tuning["error"] == "block"):
            case = epochs.case_of(variant, tuning, layers="784-5-3-10", images=5, dtype=dtype)
            assert epochs.emulated(case) == [], tuning


FAULTS = {
    "no barrier behind the tiles": ("__syncthreads();  // the tiles are complete", ""),
    "no barrier behind the weights": ("__syncthreads();  // all weights are there", ""),
    "no barrier behind the sums of warps": ("__syncthreads();  // the sums of all warps are there", ""),
    "momentum dropped": ("net.momentum * dw", "dw"),
    "the last tile left out": ("start < terms; start += TILE", "start + TILE <= terms; start += TILE"),
    "an error added once and lost": ("seen != before;)", "seen == before;)"),
    "the bias left out": ("net.w[part.column] + sum", "sum"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
@elementary.needs_compiler
def test_a_fault_in_a_kernel_is_seen(tmp_path, emulate, fault):
    text, other = FAULTS[fault]
    source = binaries.source_of("backprop", "cuda_kernels").read_text()
    assert text in source
    (tmp_path / "faulty.cu").write_text(source.replace(text, other))
    emulate(kernels("cuda_kernels", "float32", tmp_path / "faulty.cu"))
    tuning = {"error": "emulated" if "error" in fault else "block", "block": 64}
    with np.errstate(invalid="ignore"):
        assert epochs.emulated(epochs.case_of("cuda_kernels", tuning, layers="784-9-5-10", images=40))


@elementary.needs_compiler
def test_the_eleven_kernels_are_phases(emulate):
    ours = kernels("cuda_kernels", "float32")
    emulate(ours)

    def launched(layers, **tuning):
        problem = make_problem(backprop, epochs.case_of("cuda_kernels", tuning, layers=layers), elementary.device())
        found = {}
        for phase, step in cuda_kernels.setup(problem, **tuning).run:
            if isinstance(name := step.args[0], str):
                found.setdefault(int(phase.split()[0]), set()).add(name.removesuffix("_constant_texture"))
        return found

    tiled, whole = "products_tiled", "products_whole"
    shared = launched("784-56-28-10")
    assert sorted(shared) == list(range(11))
    assert [shared[number] for number in (0, 1, 2, 3)] == [{tiled}, {tiled}, {whole}, {"hidden_deltas_whole"}]
    assert shared[7] == shared[8] == {"weight_change_tiled"}
    in_global = launched("784-56-28-10", operands="global")
    assert in_global[0] == in_global[1] == in_global[2] == {"products_global"}
    assert sorted(set(shared) - set(launched("784-20-10"))) == [1]
    assert sorted(set(shared) - set(launched("784-10"))) == [1, 2, 3, 8]


@pytest.mark.parametrize(
    ("variant", "tuning", "layers", "sentence"),
    [
        ("cuda_kernels", {"block": 48}, epochs.LAYERS[0], "block=48 of backprop/cuda_kernels must be a multiple of 32"),
        ("cuda_kernels", {}, "784-200-100-10", "needs 81204 bytes .* weights of layer 2, .* 49152"),
        ("cuda_flat", {}, "784-3000000-10", "would need 2355000000 threads, .* lower images, or the widths"),
    ],
)
def test_what_does_not_fit_is_a_sentence(monkeypatch, variant, tuning, layers, sentence):
    monkeypatch.setattr(cuda, "kernel", lambda *arguments, **constants: print)
    monkeypatch.setattr(cuda_kernels, "texture", lambda table: table)
    case = epochs.case_of(variant, tuning, layers=layers, images=1)
    device = elementary.device()
    device.empty = np.empty  # nothing is written to it
    problem = make_problem(backprop, case, device)
    with pytest.raises(LadderError, match=sentence):
        workloads.load_variant("backprop", variant).setup(problem, **tuning)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", epochs.DTYPES)
@pytest.mark.parametrize("images", [1, 17, 1000])
@pytest.mark.parametrize("layers", epochs.LAYERS)
@pytest.mark.parametrize("variant", CHOICES)
def test_every_form_is_right_on_a_gpu(variant, layers, images, dtype):
    for tuning, block in zip(forms(variant), itertools.cycle((32, 1024, 96, 256, 512))):
        case = epochs.case_of(variant, tuning | {"block": block}, layers=layers, images=images, dtype=dtype)
        assert epochs.failures(case, devices.load("cuda")) == [], case.key
