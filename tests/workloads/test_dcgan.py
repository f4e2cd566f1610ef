"""The generator: its definition, all variants with several batches and splits, and the detection of wrong pictures."""

import itertools
from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from test_tconv import defined_result, emulated_kernel, round_to_tf32

import emulator
import kernel_cases
from ladder import cuda, devices
from ladder.catalogue import setup_arguments, traits, workloads
from ladder.cuda import dependent_launch
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import dcgan
from ladder.workloads.dcgan import batches, gpu, home, layout, network, reference
from ladder.workloads.dcgan import host as on_host

HOST = devices.load("host")
pytestmark = pytest.mark.xdist_group("tconv")  # so its functions are compiled once
IMAGES = (1, 2, 17, 101)
# {name: tuning}. "2 + 2": two layers by the variant `first`, and two by `last`.
HOST_TUNINGS = {
    "one image at a time": {"batch": 1},
    "partial last batch": {"batch": 16, "epilogue": "separate"},
    "all at once": {"batch": 200, "epilogue": "folded"},
    "2 + 2": {"first": "blas", "split": 2},
    "3 + 1": {"first": "parity", "last": "blas", "split": 3, "epilogue": "separate"},
    "0 + 4": {"first": "loops", "last": "blas", "split": 0},
    "loops": {"first": "loops"},
}


def sizes_of(images, channels=8, **others):
    return workloads.complete("dcgan", {"images": images, "channels": channels} | others)


def problem_of(sizes, round=0):
    """A problem whose inputs are those of a round, and whose outputs are NaN."""
    problem = make_problem(dcgan, Case("dcgan", "host", sizes, {}), HOST)
    dcgan.fill(problem.inputs, sizes, 0, None)  # only the first round writes the network
    dcgan.fill(problem.inputs, sizes, round, None)
    validation.poison(problem.outputs)
    return problem


@cache
def compute_reference(channels):
    return reference.compute(sizes_of(1, channels), None)


def has_failed(problem, round=0, precision="float32"):
    """Whether a check of the pictures fails."""
    sizes = problem.sizes
    checks, _ = dcgan.check(sizes, {}, problem.outputs, round, None, compute_reference(sizes["channels"]), precision)
    return not all(check.passed for check in checks)


def run(problem, variant="host", **tuning):
    tuning |= {"threads": 2} if "threads" in setup_arguments.tunings("dcgan", variant) else {}
    steps = Steps.of(workloads.load_variant("dcgan", variant).setup(problem, **tuning))
    chain_steps([*steps.prepare, *steps.run])()


def draw(network_values, latents, channels, layer=defined_result, swap_beta_and_gamma=False):
    """Pictures by the definition alone; `network_values` are in the order of a network's file."""
    numbers = iter(network_values)

    def take(*shape):
        return np.fromiter(numbers, np.float64, int(np.prod(shape))).reshape(shape)

    def normalise(values):
        beta, gamma, mean, variance = (take(values.shape[-1]) for _ in range(4))
        if swap_beta_and_gamma:
            beta, gamma = gamma, beta
        return np.maximum(gamma * (values - mean) / np.sqrt(variance + 1e-5) + beta, 0)

    weights = take(100, 16 * channels)
    values = normalise((latents.astype(np.float64) @ weights + take(16 * channels)).reshape(-1, 4, 4, channels))
    for c, k in ((channels, channels // 2), (channels // 2, channels // 4), (channels // 4, channels // 8)):
        values = normalise(layer(values, take(5, 5, k, c), take(k)))
    pictures = np.tanh(layer(values, take(5, 5, 3, channels // 8), take(3)))
    assert next(numbers, None) is None
    return pictures


@pytest.mark.parametrize("channels", [8, pytest.param(16, marks=pytest.mark.slow)])
def test_the_reference_follows_the_definition(channels):
    expected = draw(network.random_network(channels, 1), network.latents(1), channels)
    assert np.abs(compute_reference(channels)["pictures"] - expected).max() < 1e-12


def test_a_network_of_the_earlier_study_has_as_many_numbers_as_its_file():
    assert 4 * layout.count(512) == 20_549_132


def test_operations_are_those_that_the_earlier_study_counts():
    assert dcgan.cost(sizes_of(3, 512)).flops == 3 * 273_722_752


@pytest.mark.parametrize("channels", [8, pytest.param(64, marks=pytest.mark.slow)])
def test_random_networks_hide_no_mistake(channels):
    """No parameter is so near 0 or another one that pictures without it, or with the other one, would pass."""
    arrays = layout.arrays(network.random_network(channels, 1), channels)
    for index in range(4):
        beta, gamma, mean, variance = (arrays[f"bn{index}_{name}"] for name in ("beta", "gamma", "mean", "variance"))
        assert np.abs(beta).min() > 0.25
        assert gamma.min() > 1.3
        assert variance.min() > 0.1
        assert np.median(np.abs(mean)) > 0.1
        assert np.abs(beta[:, None] - gamma).min() > 0.5
    pictures = compute_reference(channels)["pictures"]
    assert 0.2 < np.median(np.abs(np.arctanh(pictures))) < 0.8
    differences = np.abs(pictures[:, None, :, :, 0] - pictures[None, :, :, :, 0]).max(axis=(2, 3))
    assert differences[~np.eye(network.POOL, dtype=bool)].min() > 0.1, "two latents have the same picture"


def test_channels_that_do_not_halve_three_times_are_refused():
    with pytest.raises(LadderError, match="multiple of 8"):
        sizes_of(1, 12)


@pytest.mark.parametrize("images", IMAGES)
@pytest.mark.parametrize(
    "name", [name if "+" not in name else pytest.param(name, marks=pytest.mark.slow) for name in HOST_TUNINGS]
)
def test_every_tuning_is_right_on_the_host(name, images):
    problem = problem_of(sizes_of(images), round=1)
    run(problem, **HOST_TUNINGS[name])
    assert not has_failed(problem, round=1)


@pytest.mark.parametrize("epilogue", ["fused", "folded", "separate"])
def test_batches_of_a_group_share_the_first_layer(epilogue, monkeypatch):
    groups = [[slice(0, 5), slice(5, 6), slice(6, 8)], [slice(8, 17)]]
    monkeypatch.setattr(on_host, "even_groups", lambda images, batch: groups)
    problem = problem_of(sizes_of(17), round=1)
    steps = on_host.setup(problem, threads=2, epilogue=epilogue)
    chain_steps([*steps.prepare, *steps.run])()
    assert not has_failed(problem, round=1)
    phases = [name for name, _ in steps.run]
    assert [phases.count(name) for name in ("projection", "layer 1", "layer 2", "layer 4")] == [2, 2, 4, 4]


@pytest.mark.parametrize(
    "channels", [pytest.param(64, marks=pytest.mark.slow), pytest.param(512, marks=pytest.mark.exhaustive)]
)
def test_larger_networks_are_right_on_the_host(channels):
    problem = problem_of(sizes_of(17, channels))
    run(problem, last="blas", split=3)
    assert not has_failed(problem)


@pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
@pytest.mark.parametrize("images", IMAGES)
def test_pytorch_is_right(images):
    problem = problem_of(sizes_of(images, 64))
    run(problem, "pytorch", batch=16)
    assert not has_failed(problem)


@pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
@pytest.mark.slow
@pytest.mark.parametrize("turned", ["off", "on"])
def test_pytorch_is_right_if_compiled(turned, torch_compiler):
    """The last batch is smaller; all lengths are compiled in the set-up."""
    problem = problem_of(sizes_of(17, 64))
    steps = workloads.load_variant("dcgan", "pytorch").setup(problem, threads=1, batch=16, compiled="on", turned=turned)
    with torch_compiler.set_stance("fail_on_recompile"):
        chain_steps([*steps.prepare, *steps.run])()
    assert not has_failed(problem)


def drop_channel(image, weights, bias):
    result = defined_result(image, weights, bias)
    result[..., 2 % result.shape[-1]] = 0
    return result


FAULTS = {
    "filter not reversed": {"layer": lambda *arguments: defined_result(*arguments, flip=False)},
    "padding of 2 and 3": {"layer": lambda *arguments: defined_result(*arguments, padding=2)},
    "third channel dropped": {"layer": drop_channel},
    "beta and gamma swapped": {"swap_beta_and_gamma": True},
    "TF32": {"layer": lambda image, weights, bias: defined_result(tf32(image), tf32(weights), bias)},
}


def tf32(values):
    return round_to_tf32(values.astype(np.float32)).astype(np.float64)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_network_is_detected(fault):
    problem = problem_of(sizes_of(17))
    arguments = network.random_network(8, 1), problem.latents, 8
    problem.pictures[...] = draw(*arguments)
    assert not has_failed(problem)
    problem.pictures[...] = draw(*arguments, **FAULTS[fault])
    assert has_failed(problem)
    assert (fault == "TF32") == (not has_failed(problem, precision="tf32"))


def skip_last_batch(pictures):
    pictures[-1] = pictures[0]


def reverse_order(pictures):
    pictures[...] = pictures[::-1].copy()


def repeat_batch(pictures):
    pictures[8:16] = pictures[:8]


def change_pixel(pictures):
    pictures[3, 5, 7, 1] -= 0.05


@pytest.mark.parametrize("output", ["float32", "uint8"])
@pytest.mark.parametrize("fault", [skip_last_batch, reverse_order, repeat_batch, change_pixel])
def test_wrong_pictures_are_detected(fault, output):
    problem = problem_of(sizes_of(17, pictures=output))
    run(float_problem := problem_of(sizes_of(17)))
    pictures = float_problem.pictures.copy()
    problem.pictures[...] = (pictures + 1) / 2 * 255 if output == "uint8" else pictures
    assert not has_failed(problem)
    fault(pictures)
    problem.pictures[...] = (pictures + 1) / 2 * 255 if output == "uint8" else pictures
    assert has_failed(problem)


def test_every_chunk_of_pictures_is_checked(monkeypatch):
    monkeypatch.setattr(dcgan, "CHUNK", 5)  # images that are checked at once
    problem = problem_of(sizes_of(17))
    run(problem)
    assert not has_failed(problem)
    for image in (4, 5, 16):
        problem.pictures[image, 63, 63, 2] -= 0.05
        assert has_failed(problem)
        problem.pictures[image, 63, 63, 2] += 0.05


def test_another_rounds_pictures_are_detected():
    problem = problem_of(sizes_of(17))
    run(problem)
    assert not has_failed(problem, round=0)
    assert has_failed(problem, round=1)


TENSOR_CORES = {"first": "cuda_implicit_mma", "last": "cuda_window_mma"}
COLUMNS = {"epilogue": "separate", "product": "cuda_columns"}
COPY_ENGINE = {"first": "cuda_implicit_tma", "last": "cuda_window_mma"}
# The tunings that are also tested with 512 channels.
LARGE_TUNINGS = ("partial last batch", "2 + 2", "im2col, 4 + 0", "added up", "TF32", "float16")
CUDA_TUNINGS = {
    "one image at a time": {"batch": 1},
    "partial last batch": {"batch": 16, "epilogue": "separate"},
    "all at once": {"batch": 200, "epilogue": "folded"},
    "graph": {"batch": 16, "graph": "on"},
    "naive": {"first": "cuda_naive", "split": 4, "batch": 16},
    "2 + 2": {"last": "cuda_parity", "split": 2, "batch": 16},
    "4 + 0": {"split": 4, "batch": 16},
    "the earlier study's": {"first": "cuda_im2col", "last": "cuda_parity", "batch": 16} | COLUMNS,
    "im2col, in tiles": {"first": "cuda_im2col", "last": "cuda_parity", "batch": 16, "product": "cuda_shared"},
    "im2col, 4 + 0": {"first": "cuda_im2col", "split": 4, "batch": 16, "product": "cublas"},
    "added up": {"first": "cuda_col2im", "split": 4, "batch": 101, "product": "cuda_tiled"},
    "added up in a graph": {"first": "cuda_col2im", "last": "cuda_im2col", "batch": 16, "graph": "on"},
    "warpgroups": {"first": "cuda_implicit_wgmma", "last": "cuda_window_mma", "math": "float16", "batch": 16},
    "TF32 by warpgroups": {"first": "cuda_implicit_wgmma", "last": "cuda_window_mma", "math": "tf32", "batch": 16},
    "by the copy engine": COPY_ENGINE | {"math": "float16", "batch": 16},
    "TF32 by the copy engine": COPY_ENGINE | {"math": "tf32", "batch": 101},
    "by the copy engine, 4 + 0": {"first": "cuda_implicit_tma", "split": 4, "math": "float16", "batch": 16},
    "by the copy engine, in a graph": COPY_ENGINE | {"math": "float16", "batch": 16, "graph": "on"},
    "in the batches of home": COPY_ENGINE | {"math": "tf32", "batch": 64, "batches": "tapered", "graph": "on"},
    "TF32": TENSOR_CORES | {"math": "tf32", "batch": 16},
    "float16": TENSOR_CORES | {"math": "float16", "batch": 16},
    "bfloat16": TENSOR_CORES | {"math": "bfloat16", "batch": 16},
    "float16, 4 + 0": {"first": "cuda_implicit_mma", "split": 4, "math": "float16", "batch": 16},
    "passes between": TENSOR_CORES | {"math": "float16", "epilogue": "separate", "batch": 16},
    "from tensor cores": {"first": "cuda_implicit_mma", "math": "float16", "batch": 16},
    "to tensor cores": {"last": "cuda_window_mma", "math": "float16", "batch": 16},
    "to tensor cores in TF32": {"last": "cuda_window_mma", "math": "tf32", "batch": 16},
}
HOME_TUNINGS = [
    {"memory": memory, "copies": copies, "batch": 16}
    for memory in ("pinned", "staged", "pageable")
    for copies in ("hidden", "after")
] + [
    {"first": "cuda_im2col", "last": "cuda_parity", "memory": "staged", "streams": 1, "batch": 16} | COLUMNS,
    {"batches": "tapered", "batch": 64, "streams": 1},
    {"streams": 3, "batch": 8},
    {"graph": "on", "batch": 16},
    {"graph": "on", "batch": 8, "streams": 1, "copies": "after"},
    COPY_ENGINE | {"graph": "on", "batch": 8, "streams": 1, "math": "float16"},
    COPY_ENGINE | {"batches": "tapered", "batch": 64, "streams": 2, "math": "tf32"},
]


def is_right_on_gpu(variant, sizes, tuning):
    """Whether a variant's pictures are right in two rounds."""
    case = Case("dcgan", variant, sizes, tuning)
    for round in range(2):
        problem = kernel_cases.solve(case, round=round)
        problem.outputs = {"pictures": devices.of(case).to_host(problem.pictures)}
        if has_failed(problem, round, traits.precision(case)):
            return False
    return True


@pytest.mark.exhaustive
@emulator.needs_compiler
@pytest.mark.parametrize("epilogue", ["separate", "fused"])
def test_layers_take_the_generators_product_in_emulation(monkeypatch, epilogue):
    for name, stand_in in {"kernel": emulated_kernel(), "empty": HOST.empty, "multiprocessors": lambda: 1}.items():
        monkeypatch.setattr(cuda, name, stand_in)
    problem = problem_of(sizes_of(3))
    options = {"first": "cuda_im2col", "last": "cuda_col2im", "split": 2, "batch": 2, "product": "cuda_columns"}
    run(problem, "cuda", epilogue=epilogue, **options)
    assert not has_failed(problem)


@pytest.mark.slow
@emulator.needs_compiler
@pytest.mark.parametrize("images", [1, 199])
@pytest.mark.parametrize(("math", "dtype"), [("tf32", np.float32), ("bfloat16", np.uint16)])
def test_the_projection_on_tensor_cores_is_right_in_emulation(monkeypatch, math, dtype, images):
    """With 199 images, the first of three blocks uses a buffer twice. Values after the last latent must not matter."""
    for name, stand_in in {"kernel": emulated_kernel(), "multiprocessors": lambda: 1}.items():
        monkeypatch.setattr(cuda, name, stand_in)
    monkeypatch.setattr(dependent_launch, "launcher", lambda kernel: kernel)
    standard_normal = np.random.default_rng(1).standard_normal
    latents, weights, bias = (
        standard_normal(shape, np.float32) for shape in ((200, layout.LATENT), (layout.LATENT, 128), 128)
    )
    out = np.full((images + 1, 4, 4, 8), 7, dtype)  # the last image must keep its sevens
    gpu.Operations(8, images, math, "cublas").project(latents[:images], weights, bias, out[:images], "relu")
    product = round_to_tf32(latents[:images]).astype(np.float64) @ round_to_tf32(weights)
    values = out if math == "tf32" else (out.astype(np.uint32) << 16).view(np.float32)
    error = np.abs(values[:images].reshape(images, -1) - np.maximum(product + bias, 0))
    # A result of bfloat16 has 8 bits, so that its rounding between 32 and 64 is up to 0.125.
    assert error.max() < {"tf32": 0.005, "bfloat16": 0.15}[math]
    assert (out[images] == 7).all()


@pytest.mark.parametrize("overlaps", [False, True])
def test_a_layer_overlaps_the_previous_one_if_its_variant_can(overlaps):
    calls = []
    variant = SimpleNamespace(READS_OPERANDS=True, layer=lambda problem, **options: calls.append(options))
    if overlaps:
        variant.OVERLAPS = True
    gpu.Operations(8, 1, "float16", "cublas").layer(variant, None, variant, {"activation": "relu"})
    expected = {"math": "float16", "activation": "relu", "result": "operands"}
    assert calls == [expected | ({"overlaps": True} if overlaps else {})]


@pytest.mark.parametrize("epilogue", ["separate", "folded", "fused"])
@pytest.mark.parametrize(
    ("last", "math"), [("cuda_window", "default"), ("cuda_window_mma", "float16"), ("cuda_parity", "default")]
)
def test_the_last_layer_writes_uint8_if_its_variant_can(monkeypatch, last, math, epilogue):
    """Then no pass follows it, and no array of float32 pictures is allocated."""
    allocated = []

    def empty(shape, dtype):
        allocated.append((shape, np.dtype(dtype)))
        return HOST.empty(shape, dtype)

    stand_ins = {
        "kernel": lambda *arguments, **constants: lambda *launch: None,
        "empty": empty,
        "multiprocessors": lambda: 1,
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(cuda, name, stand_in)
    monkeypatch.setattr(dependent_launch, "launcher", lambda kernel: kernel)
    problem = problem_of(sizes_of(3, pictures="uint8"))
    options = {
        "first": "cuda_implicit",
        "split": 3,
        "batch": 3,
        "epilogue": epilogue,
        "math": math,
        "product": "cuda_tiled",
    }
    generator = gpu.generator(problem.network, problem.sizes, last=last, **options)
    (steps,) = generator.steps(problem.latents, [problem.pictures])
    phases = [phase for phase, _ in steps]
    writes_uint8 = epilogue == "fused" and last != "cuda_parity"
    assert phases[-1] == ("layer 4" if writes_uint8 else "epilogues")
    assert ((problem.pictures.shape, np.float32) in allocated) != writes_uint8


@pytest.mark.gpu
@pytest.mark.parametrize("channels", [8, 64])
@pytest.mark.parametrize("images", IMAGES)
@pytest.mark.parametrize("name", CUDA_TUNINGS)
def test_every_tuning_is_right_on_a_gpu(name, images, channels):
    assert is_right_on_gpu("cuda", sizes_of(images, channels), CUDA_TUNINGS[name])


@pytest.mark.gpu
@pytest.mark.parametrize("name", [*LARGE_TUNINGS, "by the copy engine, in a graph", "TF32 by the copy engine"])
def test_larger_networks_are_right_on_a_gpu(name):
    assert is_right_on_gpu("cuda", sizes_of(101, 512), CUDA_TUNINGS[name])


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["all at once", "naive", "TF32", "warpgroups"])
def test_thousands_of_images_are_right_in_one_batch(name):
    assert is_right_on_gpu("cuda", sizes_of(5248, 512), CUDA_TUNINGS[name] | {"batch": 5248})


@pytest.mark.gpu
@pytest.mark.parametrize("images", IMAGES)
@pytest.mark.parametrize("index", range(len(HOME_TUNINGS)))
def test_pictures_are_copied_to_the_host(index, images):
    assert is_right_on_gpu("home", sizes_of(images, 64), HOME_TUNINGS[index])


@pytest.mark.gpu
@pytest.mark.parametrize("output", ["float32", "uint8"])
@pytest.mark.parametrize("variant", ["cuda", "home"])
def test_colours_are_converted_on_the_gpu(variant, output):
    in_a_graph = COPY_ENGINE | {"math": "float16", "graph": "on"}
    for tuning in ({}, {"epilogue": "separate"}, {"split": 4}, TENSOR_CORES | {"math": "tf32"}, in_a_graph):
        assert is_right_on_gpu(variant, sizes_of(17, 64, pictures=output), tuning | {"batch": 16})


@pytest.mark.gpu
@pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
@pytest.mark.parametrize("turned", ["off", "on"])
@pytest.mark.parametrize("math", ["default", "tf32", "float16", "bfloat16"])
@pytest.mark.parametrize("variant", ["pytorch_cuda", "pytorch_home"])
def test_pytorch_is_right_on_a_gpu(variant, math, turned):
    assert is_right_on_gpu(variant, sizes_of(17, 64), {"batch": 16, "math": math, "turned": turned})


def test_a_graph_without_pinned_memory_is_refused():
    with pytest.raises(LadderError, match="graph=on needs memory=pinned"):
        home.setup(None, graph="on", memory="staged")


@pytest.mark.parametrize(("images", "batch"), [(1, 1), (17, 16), (33, 1280), (101, 16), (2624, 1280), (5248, 640)])
def test_tapered_batches_have_every_image_once_and_end_small(images, batch):
    groups = batches.tapered_groups(images, batch)
    slices = [batch_slice for group in groups for batch_slice in group]
    assert [number for batch_slice in slices for number in range(images)[batch_slice]] == list(range(images))
    lengths = [batches.length(batch_slice) for batch_slice in slices]
    assert max(batches.length(batches.group_images(group)) for group in groups) <= batch
    assert lengths[-1] <= max(batch // 8, batches.TILE_IMAGES)


@pytest.mark.parametrize(("images", "batch"), [(2624, 1280), (5248, 528), (5248, 1056), (5248, 1280), (41984, 528)])
def test_tapered_batches_hide_all_copies_but_the_last(images, batch):
    """By a model in which kernels take 1 second for an image, and the link takes 1 - IDLE_SHARE seconds."""
    copies_end = kernels_end = 0
    for batch_slice in itertools.chain(*batches.tapered_groups(images, batch)):
        kernels_end += batch_slice.stop - batch_slice.start
        copies_end = max(copies_end, kernels_end) + (1 - batches.IDLE_SHARE) * (batch_slice.stop - batch_slice.start)
    assert copies_end - images < batch / 2


@pytest.mark.parametrize(("images", "gpus"), [(1, 4), (5, 4), (8, 2), (5248, 3)])
def test_gpus_have_equal_shares_and_none_is_empty(images, gpus):
    shares = home.image_shares(images, gpus)
    assert [number for share in shares for number in range(images)[share]] == list(range(images))
    lengths = [share.stop - share.start for share in shares]
    assert len(shares) == min(images, gpus)
    assert max(lengths) - min(lengths) <= 1
