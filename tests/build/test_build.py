"""CUDA kernels, tested without a GPU: every kernel compiles for every architecture; the binaries that a case needs."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from ladder.build import binaries, compiler, report
from ladder.catalogue import locations, workloads
from ladder.errors import LadderError
from ladder.records import files
from ladder.records.case import Case

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
CUDA_VARIANTS = [
    (workload, variant)
    for workload in workloads.names()
    for variant in workloads.variants(workload)
    if workloads.constants(workload, variant).get("SOURCE", "").endswith(".cu")
]
# These compile in less than a second; among them are loops, shared memory and tensor cores.
QUICK_VARIANTS = [("stream", "cuda"), ("gemv", "cuda_warp"), ("gemm", "cuda_shared"), ("gemm", "cuda_mma")]


def dtypes_of(workload, variant):
    """The dtypes for which a variant can be built."""
    limits = workloads.constants(workload, variant).get("LIMITS", {})
    supported = limits.get("dtype", workloads.load(workload).SIZES.get("dtype"))
    return [dtype for dtype in binaries.TYPES if not isinstance(supported, tuple) or dtype in supported]


def marks_of(variant, dtype, tiling_index, architecture):
    """The markers of a compilation: `make test` compiles a few variants, and `make test-slow` one tiling of each."""
    first_dtype = min(dtypes_of(*variant))  # float32, except for variants in float64 alone
    if (dtype, tiling_index, architecture) != (first_dtype, 0, "sm_90"):
        return [pytest.mark.exhaustive]
    return [] if variant in QUICK_VARIANTS else [pytest.mark.slow]


# For sm_90, the architecture of all measurements, every dtype and every tiling among which a variant chooses, by index:
# dtypes may differ in their number of tilings. For other architectures, one tiling in float32.
COMPILATIONS = [
    pytest.param(*variant, dtype, index, architecture, marks=marks_of(variant, dtype, index, architecture))
    for variant in CUDA_VARIANTS
    for dtype in dtypes_of(*variant)
    for index in range(len(binaries.tiling_choices(*variant, dtype)))
    for architecture in ARCHITECTURES
    if architecture == "sm_90" or (dtype, index) == ("float32", 0)
]
FORMS = ("nn", "tn", "nt")
MLP_KERNELS = {"gather", "sigmoid", "relu", "softmax_loss", "sigmoid_slope", "relu_slope"}
# The names of the kernels in the binaries, by workload, or by (workload, variant) where a variant has other ones.
KERNEL_NAMES = {"gemm": {f"gemm_{form}" for form in FORMS}, "stream": {"read", "copy", "triad"}, "mlp": MLP_KERNELS}
KERNEL_NAMES["fma"] = {"recurrence"}
KERNEL_NAMES["gemm", "cuda_tma"] = KERNEL_NAMES["gemm"] | {"add_parts"}
KERNEL_NAMES["gemm", "cuda_skinny"] = {"gemm_across", "gemm_along", "gemm_outer", "add"}
KERNEL_NAMES["gemm", "cuda_packed"] = {"gemm_packed", "add_packed", "pack"}
KERNEL_NAMES["gemm", "cuda_wgmma"] = {"gemm_nn", "gemm_nt", "add_nn", "add_nt", "pack"}
KERNEL_NAMES["gemm", "cublas_mixed"] = {"float16", "bfloat16", "tf32x3"}
KERNEL_NAMES["gemv"] = {"gemv"}
KERNEL_NAMES["tconv"] = {"convolve"}
MATH_MODES = ("tf32", "float16", "bfloat16")
OPERAND_KERNELS = {f"{math}_operands" for math in MATH_MODES}
KERNEL_NAMES["tconv", "cuda_im2col"] = {"gather", "add_bias"}
KERNEL_NAMES["tconv", "cuda_col2im"] = {"add_up"}
KERNEL_NAMES["tconv", "cuda_implicit_mma"] = OPERAND_KERNELS | {
    f"{math}_to_{to}" for math in MATH_MODES for to in ("float32", "operands")
}
KERNEL_NAMES["tconv", "cuda_implicit_wgmma"] = KERNEL_NAMES["tconv", "cuda_implicit_mma"]
KERNEL_NAMES["tconv", "cuda_implicit_tma"] = KERNEL_NAMES["tconv", "cuda_implicit_mma"]
KERNEL_NAMES["tconv", "cuda_window"] = {
    f"to{channels}_{to}" for channels in (1, 2, 3, 4) for to in ("float32", "uint8")
}
KERNEL_NAMES["tconv", "cuda_window_mma"] = OPERAND_KERNELS | {
    f"{math}_to_{to}" for math in MATH_MODES for to in ("float32", "uint8")
}
KERNEL_NAMES["dcgan"] = {f"to_{kind}" for kind in ("float32", "uint8", "float16", "bfloat16")}
KERNEL_NAMES["dcgan"] |= {f"project_to_{kind}" for kind in ("float32", "float16", "bfloat16")}
KERNEL_NAMES["mlp", "cuda_fused"] = {"forward_images", "forward", "delta", "output", "update"}
KERNEL_NAMES["mlp", "cuda_fused_mma"] = KERNEL_NAMES["mlp", "cuda_fused"]
KERNEL_NAMES["mlp", "cuda_persistent"] = {"measure", "train", "train_shallow"}
KERNEL_NAMES["gemv", "cuda_coalesced"] = {"transpose", "gemv"}
KERNEL_NAMES["gemv", "cuda_warp"] = {"gemv_wide", "gemv_single", "add_up"}
KERNEL_NAMES["descent"] = {"product", "reduction", "transpose", "scale", "vecdif", "vecsum"}
KERNEL_NAMES["descent", "cublas"] = {
    "begin_vectors",
    "divide_by_diagonal",
    "begin_scalars",
    "step_length",
    "update_scalars",
}
KERNEL_NAMES["descent", "cuda_fused"] = {"advance_by_one", "update_x", "recompute_residual"}
KERNEL_NAMES["descent", "cuda_persistent"] = {"solve", "solve_resident", "solve_in_registers"}
KERNEL_NAMES["descent", "cuda_cluster"] = KERNEL_NAMES["descent", "cuda_symmetric"] = {"solve"}
FLAT_KERNELS = ("products", "activations", "output_error", "deltas", "weight_change", "update")
KERNEL_NAMES["backprop", "cuda_flat"] = {f"{name}_{index}" for name in FLAT_KERNELS for index in ("walk", "offsets")}
# Of the variant `cuda_kernels`.
CUDA_KERNELS_KERNELS = (
    *(f"{name}_{place}" for name in ("products", "hidden_deltas") for place in ("global", "whole")),
    *(f"{name}_tiled" for name in ("products", "weight_change")),
    *(f"error_{way}" for way in ("atomic", "emulated", "block")),
    *("activations", "output_deltas", "weight_change_global", "bias_change", "update"),
)
KERNEL_NAMES["backprop", "cuda_kernels"] = {
    f"{name}_{scalars}_{tables}"
    for name in CUDA_KERNELS_KERNELS
    for scalars in ("argument", "constant")
    for tables in ("global", "readonly", "texture")
}
KERNEL_NAMES["backprop", "cuda"] = {"gather", "sigmoid", "output", "slope", "add_up", "scale", "add"}
KERNEL_NAMES["backprop", "cuda_fused"] = {"forward_backward", "accumulate_gradients", "update"}
# Kernels that exist only in float32.
FLOAT32_ONLY = {("backprop", "cuda_fused"): {"forward_backward_tf32", "accumulate_gradients_tf32"}}
KERNEL_NAMES["descent_kernel", "cuda_version1"] = {"init", *KERNEL_NAMES["descent"]}
KERNEL_NAMES["descent_kernel", "cuda_version2"] = {"init", *KERNEL_NAMES["descent"], "hash", "gemv"}


# The bytes per thread that a kernel may spill. Kernels that run a whole solve keep the values of every iteration in
# registers, and spill a few that are needed once per step.
MAX_SPILLS = {("descent", name): 512 for name in ("cuda_fused", "cuda_persistent", "cuda_cluster", "cuda_symmetric")}
# Their register tiles have the maximum size, so a few addresses don't fit.
MAX_SPILLS["backprop", "cuda_fused"] = 128
MAX_SPILLS["backprop", "cuda_kernels"] = 16
# Sums and the next fragments fill its registers, so a few other values don't fit.
MAX_SPILLS["gemm", "cuda_tma"] = 320
MAX_SPILLS["gemm", "cuda_wgmma"] = 96
MAX_SPILLS["gemm", "cuda_packed"] = 128
# The addresses of every layer's arrays are on the stack.
MAX_SPILLS["mlp", "cuda_persistent"] = 1024
# Its launch bounds leave each thread its sums and 64 other registers.
MAX_SPILLS["tconv", "cuda_implicit_wgmma"] = 40


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """An empty working directory, without binaries from earlier builds."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "variant", "dtype", "tiling_index", "architecture"), COMPILATIONS)
def test_every_kernel_compiles_without_spilling(empty_folder, workload, variant, dtype, tiling_index, architecture):
    slug = binaries.slug(workload, variant, dtype, binaries.tiling_choices(workload, variant, dtype)[tiling_index])
    path = report.write(architecture, workload, variant, slug)
    assert path.with_suffix(".cubin").read_bytes().startswith(b"\x7fELF")
    contents = files.read_json(path)
    float32_only = FLOAT32_ONLY.get((workload, variant), set()) if dtype == "float32" else set()
    assert set(contents["kernels"]) == (KERNEL_NAMES.get((workload, variant)) or KERNEL_NAMES[workload]) | float32_only
    for name, kernel in contents["kernels"].items():
        assert 0 < kernel["registers"] <= 255, name
        max_spills = MAX_SPILLS.get((workload, variant), 0)
        assert max(kernel["spills"], kernel["stack"]) <= max_spills, name
    assert contents["warnings"] == []


def test_a_binary_is_compiled_again_when_its_source_has_changed_and_only_then(empty_folder, monkeypatch):
    arguments = "sm_90", "gemm", "cuda_naive", "dtype=float32,block=8"
    path = compiler.ensure(*arguments)
    before = path.stat().st_mtime_ns
    assert compiler.ensure(*arguments).stat().st_mtime_ns == before
    monkeypatch.setattr(compiler.sources, "kernel_fingerprint", lambda source: "changed")
    assert compiler.ensure(*arguments).stat().st_mtime_ns > before
    intact = path.read_bytes()
    path.write_bytes(intact[:-1] + bytes([intact[-1] ^ 1]))
    assert compiler.ensure(*arguments).read_bytes() == intact


def test_processes_that_need_the_same_binary_wait_for_each_other(empty_folder):
    arguments = ["sm_90", "gemm", "cuda_naive", "dtype=float32,block=8"]
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        paths = {job.result() for job in [pool.submit(compiler.ensure, *arguments) for _ in range(3)]}
    assert paths == {binaries.path_of(*arguments)}
    assert set(files.read_json(report.write(*arguments))["kernels"]) == KERNEL_NAMES["gemm"]


@pytest.mark.parametrize("name", ["compile_with_nvrtc", "compile_with_nvcc"])
def test_the_error_of_an_illegal_block_gives_the_reason(name):
    if name == "compile_with_nvcc" and not compiler.shutil.which("nvcc"):
        pytest.skip("requires nvcc")
    source = binaries.source_of("gemm", "cuda_shared")
    with pytest.raises(
        LadderError, match=r"cuda_shared.cu can't be compiled for sm_90 with .*BLOCK=33.* [Aa]t most 1024"
    ):
        getattr(compiler, name)(source, binaries.macros("dtype=float32,block=33"), "sm_90")


def test_nvrtc_takes_functions_without_annotations_for_functions_of_the_device(tmp_path):
    # Before NVRTC 13.2, generic lambdas are among them.
    source = tmp_path / "unannotated.cu"
    source.write_text(
        "int multiple(int value) { return FACTOR * value; }\n"
        "template <class F> __device__ int apply(F function) { return function(1); }\n"
        'extern "C" __global__ void kernel(int *out) {\n'
        "  *out = apply([&](auto value) { return multiple(value); });\n"
        "}\n"
    )
    code, _, _ = compiler.compile_with_nvrtc(source, {"FACTOR": 2}, "sm_90")
    assert b"kernel" in code


def test_an_unknown_architecture_is_an_error(empty_folder):
    with pytest.raises(LadderError, match="can't be compiled for sm_1"):
        compiler.ensure("sm_1", "gemm", "cuda_naive", "dtype=float32,block=8")


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    with pytest.raises(LadderError, match="no CUDA compiler"):
        compiler.compile(binaries.source_of("gemm", "cuda_naive"), {}, "sm_90")


def test_a_case_needs_the_binaries_of_its_kernels():
    sizes = workloads.complete("gemm", {"m": 8, "n": 8, "k": 8, "dtype": "float32"})
    assert binaries.of_case(Case("gemm", "blas", sizes, {"threads": 1})) == set()
    assert binaries.of_case(Case("gemm", "cublas", sizes, {})) == set()
    training = workloads.complete("mlp", {"images": 2, "batch": 2, "epochs": 1, "rate": 1.0})
    assert binaries.of_case(Case("mlp", "host", training, {"product": "openmp", "threads": 1})) == set()
    case = Case("gemm", "cuda_shared", sizes, {"block": 32})
    assert binaries.of_case(case) == {("gemm", "cuda_shared", "dtype=float32,block=32")}
    case = Case("gemm", "cuda_shared", sizes, {})
    assert binaries.of_case(case) == {("gemm", "cuda_shared", "dtype=float32,block=16")}


def test_a_case_without_a_tiling_needs_the_binaries_of_all_tilings():
    sizes = workloads.complete("descent", {"n": 8, "kappa": 10, "iterations": 2})
    slugs = {
        slug
        for tuning in ({}, {"graph": "on"}, {"recompute": 3, "graph": "on"})
        for *_, slug in binaries.of_case(Case("descent", "cuda_fused", sizes, tuning))
    }
    tilings = binaries.tiling_choices("descent", "cuda_fused", "float32")
    assert slugs == {binaries.slug("descent", "cuda_fused", "float32", tiling) for tiling in tilings}
    tuning_with_tiling = {"block": 256, "team": 32, "rows": 1, "unroll": 4}
    ((*_, slug),) = binaries.of_case(Case("descent", "cuda_fused", sizes, tuning_with_tiling | {"graph": "on"}))
    assert slug == binaries.slug("descent", "cuda_fused", "float32", tuning_with_tiling)


VARIANT_TEXT = """
DEVICE = "cuda"
RUNTIME = "cuda"
SOURCE = "any.cu"
TILES = {tiles}

def setup(problem, *, block: int = 16, depth: int = 4):
    pass
"""


@pytest.fixture
def slugs_of(tmp_path, monkeypatch):
    """A function that writes a variant of gemm with TILES; returns the slugs of its binaries that a training needs."""
    (tmp_path / "gemm").mkdir()
    monkeypatch.setattr(locations, "folders", lambda workload: [locations.WORKLOADS / workload, tmp_path / workload])

    def slugs_of(name, tiles, dtype):
        (tmp_path / f"gemm/{name}.py").write_text(VARIANT_TEXT.format(tiles=tiles))
        sizes = workloads.complete("mlp", {"images": 2, "batch": 2, "epochs": 1, "rate": 1.0, "dtype": dtype})
        keys = binaries.of_case(Case("mlp", "cuda", sizes, {"product": name}))
        return {slug for workload, variant, slug in keys if variant == name}

    return slugs_of


def test_a_training_needs_every_tiling_of_its_product(slugs_of):
    tiles = '({"block": 8}, {"block": 32, "depth": 2})'
    expected = {"dtype=float32,block=8,depth=4", "dtype=float32,block=32,depth=2"}
    assert slugs_of("chooses", tiles, "float32") == expected
    tiles = '{"float64": ({"block": 8},), "float32": ({"depth": 1}, {})}'
    assert slugs_of("chooses_by_type", tiles, "float64") == {"dtype=float64,block=8,depth=4"}
    expected = {"dtype=float32,block=16,depth=1", "dtype=float32,block=16,depth=4"}
    assert slugs_of("chooses_by_type", tiles, "float32") == expected
    assert slugs_of("chooses_by_itself", "len('')", "float32") == {"dtype=float32,block=16,depth=4"}


def test_malformed_tiles_are_an_error(slugs_of):
    for number, tiles in enumerate(('{"block": 8}', '{"float64": ({},)}', "3")):
        with pytest.raises(LadderError, match=rf"TILES of gemm/wrong{number} must be a tuple"):
            slugs_of(f"wrong{number}", tiles, "float32")
    with pytest.raises(LadderError, match="gemm/wrong has no tuning named colour"):
        slugs_of("wrong", '({"colour": 1},)', "float32")


def test_only_the_tunings_that_are_macros_make_binaries(slugs_of):
    """By default, all whole numbers are macros. MACROS is read as text, so it must be a literal."""
    expected = {"dtype=float32,depth=4"}
    assert slugs_of("few_macros", '({"block": 8}, {"block": 32})\nMACROS = ("depth",)', "float32") == expected
    with pytest.raises(LadderError, match=r"computed\.py computes MACROS, which is read as text"):
        slugs_of("computed", '({"block": 8},)\nMACROS = tuple(["depth"])', "float32")
