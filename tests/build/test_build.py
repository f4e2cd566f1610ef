"""CUDA kernels without a GPU: they compile for every architecture, and each case needs certain ones."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from ladder.build import binaries, compiler, report
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.records import files
from ladder.records.case import Case

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
KERNELS = [
    (workload, variant)
    for workload in workloads.names()
    for variant in workloads.variants(workload)
    if workloads.constants(workload, variant).get("SOURCE", "").endswith(".cu")
]
# These take less than a second to compile, and have loops, shared memory and tensor cores between them.
QUICK = [("stream", "cuda"), ("gemv", "cuda_warp"), ("gemm", "cuda_shared"), ("gemm", "cuda_mma")]


def types(workload, variant):
    """The types that a variant has cases of."""
    limits = workloads.constants(workload, variant).get("LIMITS", {})
    given = limits.get("dtype", workloads.load(workload).SIZES.get("dtype"))
    return [dtype for dtype in binaries.TYPES if not isinstance(given, tuple) or dtype in given]


def left(kernel, *choice):
    """The tests that a kernel is left to: `make test` takes some, and `make test-slow` one tiling of each."""
    if choice != ("float32", 0, "sm_90"):
        return [pytest.mark.exhaustive]
    return [] if kernel in QUICK else [pytest.mark.slow]


# For sm_90, on which all is measured, every type and each of the tilings among which a variant chooses, by its place:
# types may have more or fewer of them.
CHOICES = [
    pytest.param(*kernel, dtype, choice, architecture, marks=left(kernel, dtype, choice, architecture))
    for kernel in KERNELS
    for dtype in types(*kernel)
    for choice in range(len(binaries.choices(*kernel, dtype)))
    for architecture in ARCHITECTURES
    if architecture == "sm_90" or (dtype, choice) == ("float32", 0)
]
FORMS = ("nn", "tn", "nt")
MLP = {"gather", "sigmoid", "relu", "softmax_loss", "sigmoid_slope", "relu_slope"}
NAMES = {"gemm": {f"gemm_{form}" for form in FORMS}, "stream": {"read", "copy", "triad"}, "mlp": MLP}
NAMES["fma"] = {"recurrence"}
NAMES["gemm", "cublas_mixed"] = {"float16", "bfloat16", "tf32x3"}
NAMES["gemv"] = {"gemv"}
NAMES["tconv"] = {"convolve"}
MATHS = ("tf32", "float16", "bfloat16")
OPERANDS = {f"{math}_operands" for math in MATHS}
NAMES["tconv", "cuda_im2col"] = {"gather", "add_bias"}
NAMES["tconv", "cuda_col2im"] = {"add_up"}
NAMES["tconv", "cuda_implicit_mma"] = OPERANDS | {f"{math}_to_{to}" for math in MATHS for to in ("float32", "operands")}
NAMES["tconv", "cuda_implicit_wgmma"] = NAMES["tconv", "cuda_implicit_mma"]
NAMES["tconv", "cuda_implicit_tma"] = NAMES["tconv", "cuda_implicit_mma"]
NAMES["tconv", "cuda_window"] = {f"to{k}_{to}" for k in (1, 2, 3, 4) for to in ("float32", "uint8")}
NAMES["tconv", "cuda_window_mma"] = OPERANDS | {f"{math}_to_{to}" for math in MATHS for to in ("float32", "uint8")}
NAMES["dcgan"] = {f"to_{kind}" for kind in ("float32", "uint8", "float16", "bfloat16")}
NAMES["dcgan"] |= {f"project_to_{kind}" for kind in ("float32", "float16", "bfloat16")}
NAMES["gemv", "cuda_coalesced"] = {"transpose", "gemv"}
NAMES["gemv", "cuda_warp"] = {"gemv_wide", "gemv_single", "add_up"}
NAMES["descent"] = {"product", "reduction", "transpose", "scale", "vecdif", "vecsum"}
NAMES["descent", "cublas"] = {"begin", "divide", "first_entry", "length", "advance"}
NAMES["descent", "cuda_fused"] = {"advance_by_one", "update_x", "recompute_residual"}
NAMES["descent", "cuda_persistent"] = {"solve", "solve_resident", "solve_in_registers"}
NAMES["descent", "cuda_cluster"] = NAMES["descent", "cuda_symmetric"] = {"solve"}
BY_INDEX = ("products", "activations", "output_error", "deltas", "weight_change", "update")
NAMES["backprop", "cuda_flat"] = {f"{name}_{index}" for name in BY_INDEX for index in ("walk", "offsets")}
ELEVEN = (
    *(f"{name}_{place}" for name in ("products", "hidden_deltas") for place in ("global", "whole")),
    *(f"{name}_tiled" for name in ("products", "weight_change")),
    *(f"error_{way}" for way in ("atomic", "emulated", "block")),
    *("activations", "output_deltas", "weight_change_global", "bias_change", "update"),
)
NAMES["backprop", "cuda_kernels"] = {
    f"{name}_{scalars}_{tables}"
    for name in ELEVEN
    for scalars in ("argument", "constant")
    for tables in ("global", "readonly", "texture")
}
NAMES["backprop", "cuda"] = {"gather", "sigmoid", "output", "slope", "add_up", "scale", "add"}
NAMES["backprop", "cuda_fused"] = {"forward_backward", "accumulate_gradients", "update"}
# Kernels that exist only in float32.
SINGLE = {("backprop", "cuda_fused"): {"forward_backward_tf32", "accumulate_gradients_tf32"}}
NAMES["descent_kernel", "cuda_version1"] = {"init", *NAMES["descent"]}
NAMES["descent_kernel", "cuda_version2"] = {"init", *NAMES["descent"], "hash", "gemv"}


# Whole solves spill a few bytes that are needed once per step, since registers are full of values that are always
# needed.
SPILLED = {("descent", name): 512 for name in ("cuda_fused", "cuda_persistent", "cuda_cluster", "cuda_symmetric")}
# Register tiles of the maximum size: a few addresses don't fit.
SPILLED["backprop", "cuda_fused"] = 128
SPILLED["backprop", "cuda_kernels"] = 16
# As large as they may be, too, with two places in a product.
SPILLED["tconv", "cuda_implicit_wgmma"] = 40


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working directory of its own, so that nothing built before is found."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("workload", "variant", "dtype", "choice", "architecture"), CHOICES)
def test_every_kernel_compiles_without_spilling(elsewhere, workload, variant, dtype, choice, architecture):
    slug = binaries.slug(workload, variant, dtype, binaries.choices(workload, variant, dtype)[choice])
    path = report.write(architecture, workload, variant, slug)
    assert path.with_suffix(".cubin").read_bytes().startswith(b"\x7fELF")
    about = files.read_json(path)
    single = SINGLE.get((workload, variant), set()) if dtype == "float32" else set()
    assert set(about["kernels"]) == (NAMES.get((workload, variant)) or NAMES[workload]) | single
    for name, found in about["kernels"].items():
        assert 0 < found["registers"] <= 255, name
        most = SPILLED.get((workload, variant), 0)
        assert max(found["spills"], found["stack"]) <= most, name
    assert about["warnings"] == []


def test_a_binary_is_compiled_again_when_its_source_has_changed_and_only_then(elsewhere, monkeypatch):
    arguments = "sm_90", "gemm", "cuda_naive", "dtype=float32,block=8"
    path = compiler.ensure(*arguments)
    before = path.stat().st_mtime_ns
    assert compiler.ensure(*arguments).stat().st_mtime_ns == before
    monkeypatch.setattr(compiler.sources, "kernel_fingerprint", lambda source: "changed")
    assert compiler.ensure(*arguments).stat().st_mtime_ns > before
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    assert compiler.ensure(*arguments).read_bytes() == sound


def test_processes_that_need_the_same_binary_wait_for_each_other(elsewhere):
    arguments = ["sm_90", "gemm", "cuda_naive", "dtype=float32,block=8"]
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        paths = {job.result() for job in [pool.submit(compiler.ensure, *arguments) for _ in range(3)]}
    assert paths == {binaries.path_of(*arguments)}
    assert set(files.read_json(report.write(*arguments))["kernels"]) == NAMES["gemm"]


@pytest.mark.parametrize("name", ["by_nvrtc", "by_nvcc"])
def test_an_illegal_block_is_a_sentence_with_its_reason(name):
    if name == "by_nvcc" and not compiler.shutil.which("nvcc"):
        pytest.skip("requires nvcc")
    source = binaries.source_of("gemm", "cuda_shared")
    with pytest.raises(
        LadderError, match=r"cuda_shared.cu can't be compiled for sm_90 with .*BLOCK=33.* [Aa]t most 1024"
    ):
        getattr(compiler, name)(source, binaries.macros("dtype=float32,block=33"), "sm_90")


def test_an_unknown_architecture_is_a_sentence(elsewhere):
    with pytest.raises(LadderError, match="can't be compiled for sm_1"):
        compiler.ensure("sm_1", "gemm", "cuda_naive", "dtype=float32,block=8")


def test_without_a_compiler_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    with pytest.raises(LadderError, match="no CUDA compiler"):
        compiler.compile(binaries.source_of("gemm", "cuda_naive"), {}, "sm_90")


def test_a_case_needs_the_binaries_of_its_kernels():
    sizes = workloads.complete("gemm", {"m": 8, "n": 8, "k": 8, "dtype": "float32"})
    assert binaries.kernels(Case("gemm", "blas", sizes, {"threads": 1})) == set()
    assert binaries.kernels(Case("gemm", "cublas", sizes, {})) == set()
    training = workloads.complete("mlp", {"images": 2, "batch": 2, "epochs": 1, "rate": 1.0})
    assert binaries.kernels(Case("mlp", "host", training, {"product": "openmp", "threads": 1})) == set()
    case = Case("gemm", "cuda_shared", sizes, {"block": 32})
    assert binaries.kernels(case) == {("gemm", "cuda_shared", "dtype=float32,block=32")}
    case = Case("gemm", "cuda_shared", sizes, {})
    assert binaries.kernels(case) == {("gemm", "cuda_shared", "dtype=float32,block=16")}


def test_a_case_that_names_no_tiling_needs_every_one_whatever_else_it_names():
    sizes = workloads.complete("descent", {"n": 8, "kappa": 10, "iterations": 2})
    found = {
        slug
        for tuning in ({}, {"graph": "on"}, {"recompute": 3, "graph": "on"})
        for *_, slug in binaries.kernels(Case("descent", "cuda_fused", sizes, tuning))
    }
    tilings = binaries.choices("descent", "cuda_fused", "float32")
    assert found == {binaries.slug("descent", "cuda_fused", "float32", tiling) for tiling in tilings}
    own = {"block": 256, "team": 32, "rows": 1, "unroll": 4}
    ((*_, slug),) = binaries.kernels(Case("descent", "cuda_fused", sizes, own | {"graph": "on"}))
    assert slug == binaries.slug("descent", "cuda_fused", "float32", own)


CHOOSES = """
DEVICE = "cuda"
RUNTIME = "cuda"
SOURCE = "chooses.cu"
TILES = {tiles}

def setup(problem, *, block: int = 16, depth: int = 4):
    pass
"""


@pytest.fixture
def needed(tmp_path, monkeypatch):
    """A function: the constants of the binaries of a variant with these TILES that a training of a dtype needs."""
    (tmp_path / "gemm").mkdir()
    monkeypatch.setattr(workloads, "folders", lambda workload: [workloads.HOME / workload, tmp_path / workload])

    def needed(name, tiles, dtype):
        (tmp_path / f"gemm/{name}.py").write_text(CHOOSES.format(tiles=tiles))
        sizes = workloads.complete("mlp", {"images": 2, "batch": 2, "epochs": 1, "rate": 1.0, "dtype": dtype})
        found = binaries.kernels(Case("mlp", "cuda", sizes, {"product": name}))
        return {constants for workload, variant, constants in found if variant == name}

    return needed


def test_a_training_needs_every_tiling_that_its_product_chooses_from(needed):
    tiles = '({"block": 8}, {"block": 32, "depth": 2})'
    due = {"dtype=float32,block=8,depth=4", "dtype=float32,block=32,depth=2"}
    assert needed("chooses", tiles, "float32") == due
    tiles = '{"float64": ({"block": 8},), "float32": ({"depth": 1}, {})}'
    assert needed("chooses_by_type", tiles, "float64") == {"dtype=float64,block=8,depth=4"}
    due = {"dtype=float32,block=16,depth=1", "dtype=float32,block=16,depth=4"}
    assert needed("chooses_by_type", tiles, "float32") == due
    assert needed("chooses_by_itself", "len('')", "float32") == {"dtype=float32,block=16,depth=4"}


def test_tiles_that_are_none_are_a_sentence(needed):
    for number, tiles in enumerate(('{"block": 8}', '{"float64": ({},)}', "3")):
        with pytest.raises(LadderError, match=rf"TILES of gemm/wrong{number} must be a tuple"):
            needed(f"wrong{number}", tiles, "float32")
    with pytest.raises(LadderError, match="gemm/wrong has no tuning named colour"):
        needed("wrong", '({"colour": 1},)', "float32")


def test_only_the_tunings_that_are_macros_make_binaries(needed):
    """By default all whole numbers are; what is read as text must be written out."""
    due = {"dtype=float32,depth=4"}
    assert needed("few_macros", '({"block": 8}, {"block": 32})\nMACROS = ("depth",)', "float32") == due
    with pytest.raises(LadderError, match=r"computed\.py computes MACROS, which is read as text"):
        needed("computed", '({"block": 8},)\nMACROS = tuple(["depth"])', "float32")
