"""Transposed convolutions: the definition, every variant at odd sizes, and wrong results that must be noticed."""

import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import elementary
import sanitized
from ladder.catalogue import workloads
from ladder.devices import cuda, host
from ladder.harness import validation
from ladder.harness.steps import Steps, in_order
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import tconv

pytestmark = pytest.mark.xdist_group("tconv")  # its functions are compiled once
DTYPES = ("float32", "float64")
# images, h, c, k: one pixel, odd ones, three channels as in the last layer, and a filter larger than the image.
SHAPES = ((1, 1, 1, 1), (2, 2, 17, 3), (17, 3, 5, 7), (3, 5, 65, 3), (1, 8, 4, 33))
LARGE = (7, 9, 80, 70)  # beyond what is checked element by element
ON_HOST = {"loops": {}, "parity": {}, "blas": {"block": 64}, "tuned": {}, "pytorch": {}}
DIRECT = ("cuda_naive", "cuda_parity")


def sizes_of(shape, dtype="float32"):
    return workloads.complete("tconv", dict(zip(("images", "h", "c", "k"), shape, strict=True)) | {"dtype": dtype})


def problem_of(shape, dtype="float32", device=host, round=0):
    """A filled and poisoned problem."""
    sizes = sizes_of(shape, dtype)
    problem = make_problem(tconv, Case("tconv", "loops", sizes, {}), device)
    tconv.fill(problem.inputs, sizes, round, None)
    validation.poison(problem.outputs)
    return problem


def failed(problem):
    """The names of the checks that fail."""
    arguments = problem.inputs, problem.outputs, 0, None, None, problem.sizes["dtype"]
    return {check.name for check in tconv.check(problem.sizes, *arguments)[0] if not check.passed}


def defined(image, weights, bias, before=3, between=2, flip=True):
    """The result by the definition: zeros between and around pixels, and a correlation with the filter reversed."""
    images, h, _, c = image.shape
    inserted = np.zeros((images, 2 * h + 4, 2 * h + 4, c))
    inside = slice(before, before + 2 * h - 1, between)
    inserted[:, inside, inside] = image
    turned = weights[::-1, ::-1] if flip else weights
    windows = np.lib.stride_tricks.sliding_window_view(inserted, (5, 5), axis=(1, 2))
    return np.einsum("nyxirs,rsji->nyxj", windows, turned.astype(np.float64)) + bias


@pytest.mark.parametrize("shape", SHAPES)
def test_the_check_follows_the_definition(shape):
    problem = problem_of(shape, "float64")
    problem.out[...] = defined(problem.image, problem.filter, problem.bias)
    assert failed(problem) == set()


@pytest.mark.parametrize("h", [1, 2, 3, 8])
def test_products_are_counted_without_zeros(h):
    inside = np.zeros(2 * h + 4)
    inside[3 : 2 + 2 * h : 2] = 1
    hits = sum(inside[y : y + 5].sum() for y in range(2 * h))
    assert tconv.products(sizes_of((3, h, 5, 7))) == 3 * hits**2 * 5 * 7


def test_a_generator_does_as_many_operations_as_the_earlier_study_says():
    layers = ((1, 4, 512, 256), (1, 8, 256, 128), (1, 16, 128, 64), (1, 32, 64, 3))
    projection = 2 * 100 * 8192
    assert sum(tconv.cost(sizes_of(layer)).flops for layer in layers) + projection == 273_722_752


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, LARGE])
@pytest.mark.parametrize("variant", ON_HOST)
def test_every_variant_is_right_on_the_host(variant, shape, dtype):
    if variant == "pytorch" and not find_spec("torch"):
        pytest.skip("waits for PyTorch: install ladder[peers]")
    problem = problem_of(shape, dtype)
    steps = workloads.load_variant("tconv", variant).setup(problem, threads=2, **ON_HOST[variant])
    steps = Steps.of(steps)
    in_order([*steps.prepare, *steps.run])()
    assert failed(problem) == set()


def rounded(values):
    """As tensor cores read float32 in TF32: 11 bits."""
    return (values.view(np.uint32) + np.uint32(0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def without_channel(image, weights, bias):
    found = defined(image, weights, bias)
    found[..., 2] = 0
    return found


def without_last_image(image, weights, bias):
    found = defined(image, weights, bias)
    found[-1] = found[0]
    return found


FAULTS = {
    "filter not reversed": lambda *given: defined(*given, flip=False),
    "padding of 2 and 3": lambda *given: defined(*given, before=2),
    "rows and columns swapped": lambda image, weights, bias: defined(image, weights.swapaxes(0, 1), bias),
    "third channel dropped": without_channel,
    "last image left out": without_last_image,
    "images in another order": lambda image, *given: defined(image[::-1], *given),
    "no bias": lambda image, weights, bias: defined(image, weights, 0 * bias),
    "TF32": lambda image, weights, bias: defined(rounded(image), rounded(weights), bias),
}


@pytest.mark.parametrize("shape", [(4, 3, 33, 5), LARGE])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault, shape):
    problem = problem_of(shape)
    given = problem.image, problem.filter, problem.bias
    problem.out[...] = defined(*given)
    assert failed(problem) == set()
    problem.out[...] = FAULTS[fault](*given)
    assert failed(problem)


def test_every_element_of_a_large_result_takes_part():
    problem = problem_of(LARGE)
    right = defined(problem.image, problem.filter, problem.bias)
    draw = np.random.default_rng(1)
    for _ in range(20):
        problem.out[...] = right
        at = tuple(draw.integers(0, length) for length in right.shape)
        problem.out[at] += 0.05
        assert failed(problem), at


@cache
def kernels(variant, dtype, **block):
    """The kernel of a variant, compiled for the CPU once."""
    with tempfile.TemporaryDirectory() as folder:
        defined = elementary.named(("convolve",))
        return elementary.Kernels(Path(folder), "named.cpp", "tconv", variant, dtype, defined, **block)


@elementary.needs_compiler
@pytest.mark.parametrize("dtype", [DTYPES[0], pytest.param(DTYPES[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("variant", DIRECT)
def test_direct_kernels_are_right_in_emulation(monkeypatch, variant, dtype):
    block = {"channels": 2, "columns": 4, "rows": 4}
    monkeypatch.setattr(cuda, "kernel", kernels(variant, dtype, **block).get)
    for shape in SHAPES:
        problem = problem_of(shape, dtype)
        workloads.load_variant("tconv", variant).setup(problem, **block)()
        assert failed(problem) == set(), shape


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, LARGE])
@pytest.mark.parametrize("variant", DIRECT)
def test_direct_kernels_are_right_on_a_gpu(variant, shape, dtype):
    for block in ({}, {"channels": 3, "columns": 8, "rows": 1}, {"channels": 32, "columns": 1, "rows": 4}):
        case = Case("tconv", variant, sizes_of(shape, dtype), block)
        assert all(check.passed for check in sanitized.judged(sanitized.solved(case), case)), case.key
