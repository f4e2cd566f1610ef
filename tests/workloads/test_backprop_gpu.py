"""The fast variants of back-propagation for a GPU: in emulation on the CPU, and on a GPU."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest

import backprop_epochs
import emulator
from ladder import cuda, devices
from ladder.workloads.backprop import cuda_fused
from ladder.workloads.mlp import products

pytestmark = pytest.mark.xdist_group("backprop_gpu")  # its kernels are compiled once
MAX_SHARED = 232448  # bytes of shared memory that a block can have on an H200
KERNELS = {
    "cuda": ("gather", "sigmoid", "output", "slope", "add_up", "scale", "add"),
    "cuda_fused": ("forward_backward", "accumulate_gradients", "update"),
}


@functools.cache
def kernels(variant, dtype, names=(), **tuning):
    """The kernels of a variant, compiled for the CPU once."""
    macros = emulator.kernel_macros(names or KERNELS[variant], MAX_SHARED if variant == "cuda_fused" else 0)
    with tempfile.TemporaryDirectory() as folder:
        return emulator.Kernels(Path(folder), "listed_kernels.cpp", "backprop", variant, dtype, macros, **tuning)


@pytest.fixture
def emulate_fused(monkeypatch):
    """A function that emulates the kernels of `cuda_fused` for a dtype, a tiling and a `math`."""

    def emulate(dtype, tiling, math="default"):
        names = tuple(f"{name}_tf32" if math == "tf32" and name != "update" else name for name in KERNELS["cuda_fused"])
        monkeypatch.setattr(cuda, "kernel", kernels("cuda_fused", dtype, names, **tiling).get)
        monkeypatch.setattr(cuda, "multiprocessors", lambda: 3)
        monkeypatch.setattr(cuda_fused, "address", lambda array: array.ctypes.data)
        monkeypatch.setattr(cuda_fused, "table", lambda rows: np.array(rows, np.int64))
        monkeypatch.setattr(cuda_fused, "launch", make_launch)

    return emulate


def make_launch(kernel, grid, block, arguments, shared):
    """A stand-in for `cuda_fused.launch`: a function that launches an emulated kernel."""
    return functools.partial(kernel, grid, block, arguments, shared_mem=shared)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "math", "layers", "images"),
    [
        ("float32", "default", "784-20-10", 17),
        ("float32", "default", "784-20-10", 330),
        ("float32", "tf32", "784-20-10", 170),
        ("float64", "default", "784-33-17-9-10", 65),
        ("float32", "default", "784-70-10", 65),
        ("float32", "tf32", "784-10", 17),
    ],
)
@emulator.needs_compiler
def test_three_fused_kernels_are_right_in_emulation(emulate_fused, dtype, math, layers, images):
    case = backprop_epochs.case_of(
        "cuda_fused", {"math": math, "graph": "off"}, layers=layers, images=images, dtype=dtype
    )
    emulate_fused(dtype, cuda_fused.default_tiling(case.sizes), math)
    assert backprop_epochs.emulated_failed_checks(case) == []


def numpy_products(name):
    """Stand-in for `products.of`: the products by NumPy, {form: multiply}."""

    def product_of(form):
        def multiply(a, b, out, c=None):
            product = (a.T if form == "tn" else a) @ (b.T if form == "nt" else b)
            out[...] = product if c is None else product + c

        return multiply

    return {form: product_of(form) for form in ("nn", "tn", "nt")}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", backprop_epochs.DTYPES)
@emulator.needs_compiler
def test_kernels_other_than_products_are_right_in_emulation(monkeypatch, dtype):
    monkeypatch.setattr(cuda, "kernel", kernels("cuda", dtype).get)
    monkeypatch.setattr(products, "of", numpy_products)
    for layers, images in (("784-20-10", 17), ("784-33-17-9-10", 1), ("784-33-40-10", 300)):
        case = backprop_epochs.case_of(
            "cuda", {"product": "cublas", "graph": "off"}, layers=layers, images=images, dtype=dtype
        )
        assert backprop_epochs.emulated_failed_checks(case) == [], case.key


GPU_TUNINGS = {
    "cuda_fused": ({}, {"graph": "off"}, {"math": "tf32"}),
    "cuda": tuple(
        {"product": product, "graph": graph}
        for product in ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma", "cublas")
        for graph in ("off", "on")
    ),
    "pytorch_cuda": (
        *({"graph": graph, "math": math} for graph in ("off", "on") for math in ("default", "tf32")),
        {"graph": "on", "compiled": "on"},
    ),
}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", backprop_epochs.DTYPES)
@pytest.mark.parametrize("images", [1, 17, 1000])
@pytest.mark.parametrize("layers", backprop_epochs.LAYERS)
@pytest.mark.parametrize("variant", GPU_TUNINGS)
def test_every_tuning_is_right_on_a_gpu(variant, layers, images, dtype, request):
    if variant == "pytorch_cuda":
        pytest.importorskip("torch", reason="requires PyTorch")
        request.getfixturevalue("torch_compiler")
    for tuning in GPU_TUNINGS[variant]:
        case = backprop_epochs.case_of(variant, tuning, layers=layers, images=images, dtype=dtype)
        assert backprop_epochs.failed_checks(case, devices.load("cuda")) == [], case.key
