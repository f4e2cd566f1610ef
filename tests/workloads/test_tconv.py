"""Transposed convolutions: the definition, every variant at odd sizes, and wrong results that must be noticed."""

import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import emulator
import kernel_cases
from ladder import cuda, devices
from ladder.build import binaries
from ladder.catalogue import traits, workloads
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import tconv
from ladder.workloads.tconv import implicit, implicit_tensor, operands

HOST = devices.load("host")
pytestmark = pytest.mark.xdist_group("tconv")  # one worker, so that its functions are compiled once
DTYPES = ("float32", "float64")
# (images, h, c, k): one pixel, odd ones, three channels as in the last layer, and a filter larger than the image.
SHAPES = ((1, 1, 1, 1), (2, 2, 17, 3), (17, 3, 5, 7), (3, 5, 65, 3), (1, 8, 4, 33))
LARGE = (7, 9, 80, 70)  # too large for a check of every element
MANY_COLUMNS = (1, 33, 5, 3)  # an image larger than a block
FULL_COLUMNS = (1, 3, 6, 4)  # four channels fill the columns of the products of cuda_window_mma
HOST_TUNINGS = {"loops": {}, "parity": {}, "blas": {"block": 64}, "tuned": {}, "pytorch": {}}
SMALL_BLOCKS = {"channels": 2, "columns": 4, "rows": 4}
TILING = {"bm": 32, "bn": 32, "bk": 8, "tm": 4, "tn": 4, "parities": 1}
NARROW_TILING = {"bm": 32, "bn": 12, "bk": 8, "tm": 4, "tn": 4, "parities": 4}
WARP_TILING = {"bm": 32, "bn": 32, "wm": 16, "wn": 16, "stages": 2, "parities": 1}
PAIRED_TILING = {"bm": 32, "bn": 32, "bk": 8, "tm": 4, "tn": 4, "parities": 2}
NARROW_WARP_TILING = {"bm": 32, "bn": 16, "wm": 32, "wn": 16, "stages": 3, "parities": 4}
# (variant, dtype, tuning) of kernels that are emulated on the CPU.
EMULATED_KERNELS = (
    pytest.param("cuda_naive", "float32", SMALL_BLOCKS, marks=pytest.mark.exhaustive),
    pytest.param("cuda_naive", "float64", SMALL_BLOCKS, marks=pytest.mark.slow),
    ("cuda_parity", "float32", SMALL_BLOCKS),
    pytest.param("cuda_parity", "float64", SMALL_BLOCKS, marks=pytest.mark.exhaustive),
    pytest.param("cuda_im2col", "float32", {"product": "cuda_columns", "block": 2}, marks=pytest.mark.slow),
    pytest.param("cuda_im2col", "float64", {"product": "cuda_shared", "block": 100}, marks=pytest.mark.slow),
    ("cuda_col2im", "float32", {"product": "cuda_columns", "block": 2}),
    pytest.param("cuda_col2im", "float64", {"product": "cuda_shared", "block": 100}, marks=pytest.mark.slow),
    ("cuda_implicit", "float32", TILING),
    pytest.param("cuda_implicit", "float32", PAIRED_TILING, marks=pytest.mark.exhaustive),
    pytest.param("cuda_implicit", "float32", NARROW_TILING, marks=pytest.mark.slow),
    pytest.param("cuda_implicit", "float64", TILING, marks=pytest.mark.exhaustive),
    pytest.param("cuda_implicit_mma", "float32", WARP_TILING | {"math": "tf32"}, marks=pytest.mark.exhaustive),
    pytest.param("cuda_implicit_mma", "float32", WARP_TILING | {"math": "bfloat16"}, marks=pytest.mark.exhaustive),
    pytest.param(
        "cuda_implicit_mma", "float32", WARP_TILING | {"math": "tf32", "parities": 2}, marks=pytest.mark.exhaustive
    ),
    pytest.param("cuda_implicit_mma", "float32", NARROW_WARP_TILING | {"math": "tf32"}, marks=pytest.mark.slow),
    pytest.param("cuda_window", "float32", {"rows": 4}, marks=pytest.mark.slow),
    ("cuda_window_mma", "float32", {"rows": 8, "math": "tf32"}),
    pytest.param("cuda_window_mma", "float32", {"rows": 6, "math": "bfloat16"}, marks=pytest.mark.slow),
)


def sizes_of(shape, dtype="float32"):
    return workloads.complete("tconv", dict(zip(("images", "h", "c", "k"), shape, strict=True)) | {"dtype": dtype})


def problem_of(shape, dtype="float32", device=HOST, round=0):
    """A filled and poisoned problem."""
    sizes = sizes_of(shape, dtype)
    problem = make_problem(tconv, Case("tconv", "loops", sizes, {}), device)
    tconv.fill(problem.inputs, sizes, round, None)
    validation.poison(problem.outputs)
    return problem


def failed_checks(problem, precision=None):
    """The names of the checks that fail, for the precision of the arrays or for another one."""
    arguments = problem.inputs, problem.outputs, 0, None, None, precision or problem.sizes["dtype"]
    return {check.name for check in tconv.check(problem.sizes, *arguments)[0] if not check.passed}


def defined_result(image, weights, bias, padding=3, stride=2, flip=True):
    """The result by the definition: zeros between and around pixels, and a correlation with the filter reversed."""
    images, h, _, c = image.shape
    inserted = np.zeros((images, 2 * h + 4, 2 * h + 4, c))
    pixels = slice(padding, padding + 2 * h - 1, stride)
    inserted[:, pixels, pixels] = image
    reversed_filter = weights[::-1, ::-1] if flip else weights
    windows = np.lib.stride_tricks.sliding_window_view(inserted, (5, 5), axis=(1, 2))
    return np.einsum("nyxirs,rsji->nyxj", windows, reversed_filter.astype(np.float64), optimize=True) + bias


@pytest.mark.parametrize("shape", SHAPES)
def test_the_check_follows_the_definition(shape):
    problem = problem_of(shape, "float64")
    problem.out[...] = defined_result(problem.image, problem.filter, problem.bias)
    assert failed_checks(problem) == set()


@pytest.mark.parametrize("h", [1, 2, 3, 8])
def test_products_are_counted_without_zeros(h):
    pixels = np.zeros(2 * h + 4)
    pixels[3 : 2 + 2 * h : 2] = 1
    hits = sum(pixels[y : y + 5].sum() for y in range(2 * h))
    assert tconv.products(sizes_of((3, h, 5, 7))) == 3 * hits**2 * 5 * 7


def test_the_flops_of_a_generator_are_those_of_the_earlier_study():
    layers = ((1, 4, 512, 256), (1, 8, 256, 128), (1, 16, 128, 64), (1, 32, 64, 3))
    projection = 2 * 100 * 8192
    assert sum(tconv.cost(sizes_of(layer)).flops for layer in layers) + projection == 273_722_752


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, LARGE])
@pytest.mark.parametrize("variant", HOST_TUNINGS)
def test_every_variant_is_right_on_the_host(variant, shape, dtype):
    if variant == "pytorch" and not find_spec("torch"):
        pytest.skip("requires PyTorch: pip install torch")
    problem = problem_of(shape, dtype, device=emulator.guarded_host())
    steps = workloads.load_variant("tconv", variant).setup(problem, threads=2, **HOST_TUNINGS[variant])
    steps = Steps.of(steps)
    chain_steps([*steps.prepare, *steps.run])()
    assert failed_checks(problem) == set()
    assert emulator.are_intact(problem.device.guards)


def round_to_tf32(values):
    """float32 values rounded to TF32, 11 bits, as tensor cores read them."""
    return (values.view(np.uint32) + np.uint32(0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def drop_channel(image, weights, bias):
    result = defined_result(image, weights, bias)
    result[..., 2] = 0
    return result


def drop_last_image(image, weights, bias):
    result = defined_result(image, weights, bias)
    result[-1] = result[0]
    return result


FAULTS = {
    "filter not reversed": lambda *inputs: defined_result(*inputs, flip=False),
    "padding of 2 and 3": lambda *inputs: defined_result(*inputs, padding=2),
    "rows and columns swapped": lambda image, weights, bias: defined_result(image, weights.swapaxes(0, 1), bias),
    "third channel dropped": drop_channel,
    "last image missing": drop_last_image,
    "images in another order": lambda image, *inputs: defined_result(image[::-1], *inputs),
    "no bias": lambda image, weights, bias: defined_result(image, weights, 0 * bias),
    "TF32": lambda image, weights, bias: defined_result(round_to_tf32(image), round_to_tf32(weights), bias),
}


@pytest.mark.parametrize("shape", [(4, 3, 33, 5), LARGE])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault, shape):
    problem = problem_of(shape)
    inputs = problem.image, problem.filter, problem.bias
    problem.out[...] = defined_result(*inputs)
    assert failed_checks(problem) == set()
    problem.out[...] = FAULTS[fault](*inputs)
    assert failed_checks(problem)


def test_every_element_of_a_large_result_takes_part():
    problem = problem_of(LARGE)
    expected = defined_result(problem.image, problem.filter, problem.bias)
    generator = np.random.default_rng(1)
    for _ in range(20):
        problem.out[...] = expected
        index = tuple(generator.integers(0, length) for length in expected.shape)
        problem.out[index] += 0.05
        assert failed_checks(problem), index


# The names of the kernels in the source of a variant; others have one, `convolve`.
KERNEL_NAMES = {
    "cuda_im2col": ("gather", "add_bias"),
    "cuda_col2im": ("add_up",),
    "cuda_implicit_mma": ("tf32_to_float32", "tf32_operands", "bfloat16_to_float32", "bfloat16_operands"),
    "cuda_window": tuple(f"to{k}_{result}" for k in (1, 2, 3, 4) for result in ("float32", "uint8")),
    "cuda_window_mma": tuple(
        f"{math}_{suffix}" for math in ("tf32", "bfloat16") for suffix in ("operands", "to_float32", "to_uint8")
    ),
}
KERNEL_NAMES |= {f"cuda_{name}": ("gemm_nn", "gemm_tn", "gemm_nt") for name in ("shared", "columns")}  # of `gemm`
KERNEL_NAMES["cuda"] = ("to_float32", "project_to_float32", "project_to_bfloat16")  # of `dcgan`


@cache
def kernels(workload, variant, dtype, shared_bytes, **tuning):
    """The kernels of a variant, compiled for the CPU once."""
    with tempfile.TemporaryDirectory() as folder:
        macros = emulator.kernel_macros(KERNEL_NAMES.get(variant, ("convolve",)), shared_bytes)
        return emulator.Kernels(Path(folder), "listed_kernels.cpp", workload, variant, dtype, macros, **tuning)


def emulated_kernel(shared_bytes=0):
    """A replacement for `cuda.kernel`; `shared_bytes` is the dynamic shared memory of convolutions."""

    def kernel(workload, variant, name, dtype, **tuning):
        shared = shared_bytes if workload == "tconv" else 0
        return kernels(workload, variant, dtype, shared, **tuning).get(workload, variant, name, dtype, **tuning)

    return kernel


@emulator.needs_compiler
@pytest.mark.parametrize(("variant", "dtype", "tuning"), EMULATED_KERNELS)
def test_kernels_are_right_in_emulation(monkeypatch, variant, dtype, tuning):
    module = workloads.load_variant("tconv", variant)
    macros = {name: value for name, value in tuning.items() if isinstance(value, int)}
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 1)
    for shape in (*SHAPES, FULL_COLUMNS, *([MANY_COLUMNS] if "window" in variant else [])):
        problem = problem_of(shape, dtype)
        case = Case("tconv", variant, problem.sizes, tuning)
        if traits.beyond_limits_reason(case):
            continue
        shared_bytes = module.geometry(problem.sizes, **macros)[2] if hasattr(module, "geometry") else 0
        monkeypatch.setattr(cuda, "kernel", emulated_kernel(shared_bytes))
        steps = Steps.of(module.setup(problem, **tuning))
        chain_steps([*steps.prepare, *steps.run])()
        assert failed_checks(problem, traits.precision(case)) == set(), shape


def run_layer(problem, variant, result, activation="tanh", **tuning):
    """The result of a layer, copied to the host; fails if the layer writes to an image beyond the last."""
    layer = workloads.load_variant("tconv", variant).layer(problem, activation=activation, result=result, **tuning)
    image, images = problem.image, len(problem.image)
    if math := tuning.pop("math", None):
        image = operands.zeros(problem.device, image.shape, math)
        operands.writer(variant, math, **tuning)(problem.image, image)
    for _, step in layer.prepare:
        step()
    out = problem.device.empty((images + 1, *problem.out.shape[1:]), layer.writes)
    out[...] = 7  # which the image beyond the last must keep
    layer.run(image, out[:images])
    out = problem.device.to_host(out)
    assert out.dtype == result
    assert (out[images] == 7).all()
    return out[:images]


def is_truncated(problem, variant, **tuning):
    """Whether a layer's 8-bit results are its float32 results, scaled to [0, 255] and truncated."""
    results = run_layer(problem, variant, "float32", **tuning)
    assert results.min() < -0.5
    assert results.max() > 0.5
    return np.array_equal(run_layer(problem, variant, "uint8", **tuning), ((results + 1) / 2 * 255).astype(np.uint8))


# (images, h, c, k): every number of channels k; rows aligned to vectors of bytes, and others that aren't.
BYTE_SHAPES = [(2, h, 5, k) for h in (3, 4) for k in (1, 2, 3, 4)] + [(1, 6, 9, 3), MANY_COLUMNS]


@emulator.needs_compiler
@pytest.mark.parametrize(("variant", "tuning"), [("cuda_window", {"rows": 4}), ("cuda_window_mma", {"rows": 8})])
def test_layers_write_uint8_in_emulation(monkeypatch, variant, tuning):
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 1)
    shared = workloads.load_variant("tconv", variant).geometry({"images": 1, "h": 1, "k": 4}, **tuning)[2]
    monkeypatch.setattr(cuda, "kernel", emulated_kernel(shared))
    arguments = tuning | ({"math": "tf32"} if variant == "cuda_window_mma" else {})
    for shape in BYTE_SHAPES:
        assert is_truncated(problem_of(shape), variant, **arguments), shape


EXPLICIT_PRODUCT_VARIANTS = ("cuda_im2col", "cuda_col2im")


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize("activation", ["none", "relu", "tanh"])
@pytest.mark.parametrize("variant", EXPLICIT_PRODUCT_VARIANTS)
def test_layers_by_explicit_products_apply_the_activation(monkeypatch, variant, activation):
    """In blocks of two images, for fewer images than the problem's."""
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 1)
    monkeypatch.setattr(cuda, "kernel", emulated_kernel())
    module, problem = workloads.load_variant("tconv", variant), problem_of((5, 2, 9, 4))
    layer = module.layer(problem, activation=activation, product="cuda_columns", block=2)
    for _, step in layer.prepare:
        step()
    layer.run(problem.image[:3], problem.out[:3])
    expected = defined_result(problem.image[:3], problem.filter, problem.bias)
    expected = {"none": expected, "relu": np.maximum(expected, 0), "tanh": np.tanh(expected)}[activation]
    np.testing.assert_allclose(problem.out[:3], expected, atol=1e-4)
    assert np.isnan(problem.out[3:]).all()


@pytest.mark.parametrize("variant", EXPLICIT_PRODUCT_VARIANTS)
def test_a_matrix_larger_than_gpu_memory_is_refused(variant):
    def empty(shape, dtype):
        raise MemoryError("Out of memory")

    problem = problem_of((3, 2, 4, 1))
    problem.device = SimpleNamespace(empty=empty)
    # Images, pixels of the result or of the image, elements per pixel (25 c or 25 k), and the bytes of an element.
    size = {"cuda_im2col": 2 * 16 * 100 * 4, "cuda_col2im": 2 * 4 * 25 * 4}[variant]
    with pytest.raises(LadderError, match=rf"matrix of 2 images takes {size} bytes.* lower `block`"):
        workloads.load_variant("tconv", variant).setup(problem, product="cuda_columns", block=2)


@pytest.mark.parametrize("variant", EXPLICIT_PRODUCT_VARIANTS)
def test_a_variant_of_gemm_without_product_is_refused(variant):
    with pytest.raises(LadderError, match="gemm/cublas_mixed has no `product`"):
        workloads.load_variant("tconv", variant).setup(problem_of((1, 1, 1, 1)), product="cublas_mixed")


@pytest.mark.parametrize("variant", EXPLICIT_PRODUCT_VARIANTS)
def test_blocks_are_timed_by_phase(monkeypatch, variant):
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 1)
    monkeypatch.setattr(cuda, "kernel", lambda *arguments, **constants: lambda *launch: None)
    module = workloads.load_variant("tconv", variant)
    steps = module.setup(problem_of((5, 1, 1, 1)), product="cuda_columns", block=2)
    phases = {"cuda_im2col": ["gather", "product", "bias"], "cuda_col2im": ["product", "add up"]}[variant]
    assert [name for name, _ in steps.run] == 3 * phases


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*SHAPES, LARGE])
@pytest.mark.parametrize(("product", "dtype"), kernel_cases.products_and_dtypes())
@pytest.mark.parametrize("variant", EXPLICIT_PRODUCT_VARIANTS)
def test_explicit_products_are_right_on_a_gpu(variant, product, shape, dtype):
    for block in ({}, {"block": 1}, {"block": 2}):
        assert_right_on_a_gpu(Case("tconv", variant, sizes_of(shape, dtype), {"product": product} | block))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, LARGE])
@pytest.mark.parametrize("variant", ["cuda_naive", "cuda_parity"])
def test_direct_kernels_are_right_on_a_gpu(variant, shape, dtype):
    for block in ({}, {"channels": 3, "columns": 8, "rows": 1}, {"channels": 32, "columns": 1, "rows": 4}):
        assert_right_on_a_gpu(Case("tconv", variant, sizes_of(shape, dtype), block))


@pytest.mark.gpu
@pytest.mark.parametrize("product", ["cuda_columns", "cublas"])
@pytest.mark.parametrize(("variant", "shape"), [("cuda_im2col", (400, 8, 1024, 3)), ("cuda_col2im", (400, 8, 3, 4096))])
def test_a_matrix_of_more_than_two_to_the_31_elements_is_right_on_a_gpu(variant, shape, product):
    assert_right_on_a_gpu(Case("tconv", variant, sizes_of(shape), {"product": product, "block": 400}))


# Whole vectors of channels; many images; more rows and columns than a block; three output channels, one and four.
GPU_SHAPES = (*SHAPES, LARGE, (300, 3, 36, 64), (129, 4, 64, 3), (5, 33, 40, 3), (3, 40, 65, 1), (2, 18, 20, 4))


def test_tilings_follow_the_number_of_images_and_of_channels(monkeypatch):
    """Many images get large tiles, few images small ones, and few channels two elements in a product."""
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 132)
    tilings = workloads.load_variant("tconv", "cuda_implicit_wgmma").TILES

    def fastest(*shape):
        return implicit.fastest_tiling(tilings, sizes_of(shape), implicit_tensor.HALF_RATE_ROWS)

    assert fastest(1280, 4, 512, 256) == tilings[0]
    assert fastest(640, 4, 512, 256)["bm"] == 128  # a third of 256 would be empty in the last block
    assert fastest(17, 8, 256, 128)["bm"] == 64
    assert fastest(1280, 16, 128, 64)["parities"] == 2


def test_the_tiling_follows_the_length_of_rows_and_the_number_of_blocks(monkeypatch):
    """For rows of four pixels, tiles of more images; half as many channels if all blocks then still run at once."""
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 132)
    variant = workloads.load_variant("tconv", "cuda_implicit_tma")

    def fastest(*shape):
        tiling = variant.fastest_tiling(variant.TILES, sizes_of(shape))
        return tiling["octets"], tiling["bn"]

    assert fastest(128, 4, 512, 256) == (2, 32)
    assert fastest(256, 4, 512, 256) == fastest(1280, 4, 512, 256) == (2, 64)
    assert fastest(128, 8, 256, 128) == fastest(1280, 16, 128, 64) == (1, 64)


@pytest.mark.parametrize(("itemsize", "channels"), [(2, 1), (2, 70), (4, 16), (4, 70)])
def test_a_lane_of_a_product_has_neighbouring_channels(itemsize, channels):
    """Lane t of four holds columns 2 t and 2 t + 1 of every eight."""
    columns = workloads.load_variant("tconv", "cuda_implicit_tma").channel_columns(channels, itemsize)
    assert sorted(columns) == list(range(columns.size))
    assert columns.size >= channels
    channel, vector = np.argsort(columns), 16 // itemsize
    lane_channels = channel.reshape(-1, vector // 2, 4, 2).swapaxes(1, 2).reshape(-1, vector)
    assert (lane_channels == np.arange(columns.size).reshape(-1, vector)).all()


@pytest.mark.gpu
@pytest.mark.parametrize("shape", GPU_SHAPES)
@pytest.mark.parametrize(
    "variant",
    [
        "cuda_implicit",
        "cuda_implicit_mma",
        "cuda_implicit_wgmma",
        "cuda_implicit_tma",
        "cuda_window",
        "cuda_window_mma",
    ],
)
def test_implicit_products_are_right_on_a_gpu(variant, shape):
    sizes = sizes_of(shape)
    for math in kernel_cases.math_tunings(variant):
        for tiling in ({}, *binaries.tiling_choices("tconv", variant, "float32")):
            if traits.beyond_limits_reason(case := Case("tconv", variant, sizes, math | tiling)) is None:
                assert_right_on_a_gpu(case)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*BYTE_SHAPES, (5, 32, 64, 3), (3, 40, 65, 1), (2, 18, 20, 4)])
@pytest.mark.parametrize("variant", ["cuda_window", "cuda_window_mma"])
def test_layers_write_bytes_on_a_gpu(variant, shape):
    problem = kernel_cases.solve(Case("tconv", variant, sizes_of(shape), {}))
    for math in kernel_cases.math_tunings(variant):
        for rows in (4, 6, 16) if variant == "cuda_window_mma" else (4, 16):
            assert is_truncated(problem, variant, rows=rows, **math)


@pytest.mark.gpu
@pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
@pytest.mark.parametrize("turned", ["off", "on"])
@pytest.mark.parametrize("math", ["default", "tf32", "float16", "bfloat16"])
def test_pytorch_is_right_on_a_gpu(math, turned):
    for shape in (*SHAPES, LARGE):
        assert_right_on_a_gpu(Case("tconv", "pytorch_cuda", sizes_of(shape), {"math": math, "turned": turned}))


def assert_right_on_a_gpu(case):
    assert all(check.passed for check in kernel_cases.run_checks(kernel_cases.solve(case), case)), case.key


# The operands keep `bits` significant bits, two fewer than the precision has.
@pytest.mark.parametrize(("precision", "bits"), [("tf32", 9), ("float16", 9), ("bfloat16", 6)])
def test_a_lower_precision_than_declared_is_noticed(precision, bits):
    problem = problem_of((4, 3, 33, 5))
    mantissa_mask = np.uint32(2**32 - 2 ** (24 - bits))
    image, weights = (
        (array.view(np.uint32) & mantissa_mask).view(np.float32) for array in (problem.image, problem.filter)
    )
    problem.out[...] = defined_result(image, weights, problem.bias)
    assert failed_checks(problem, precision)
