"""Cases of every CUDA kernel at small odd shapes, for NVIDIA's compute-sanitizer and for tests; runs and checks them.

    compute-sanitizer --tool memcheck python tests/kernel_cases.py CASE [CASE ...]

`cases` has every variant in every form and dtype, with every kernel and every tuning that the variant selects by shape,
including sums that a cluster of blocks shares; `gpu_tests.py` runs them all under the tools of compute-sanitizer. Every
result is checked. The last line is JSON with the number of cases.
"""

import argparse
import itertools
import json
import tempfile
from pathlib import Path

from ladder import cuda, devices
from ladder.build import binaries
from ladder.catalogue import setup_arguments, traits, workloads
from ladder.data import dataset
from ladder.data.digits import write as write_digits
from ladder.harness import validation, worker
from ladder.harness.comparison import parse_key
from ladder.harness.steps import Steps, chain_steps
from ladder.records.case import Case

DTYPES = ("float64", "float32")
# m, n, k: two odd shapes, and one whose rows fit whole 16-byte vectors, but which doesn't fill its tiles.
GEMM_SHAPES = ((17, 65, 33), (65, 17, 70), (36, 132, 68))
STREAM_K_VARIANTS = ("cuda_packed", "cuda_tma", "cuda_wgmma")
STREAM_K_SHAPE = (17, 65, 9999)  # its sums are so long that its few tiles are split
# Few rows, columns and terms; blocks share the sums of the first two.
SKINNY_SHAPES = ((3, 65, 2000), (65, 5, 2000), (130, 140, 3))
FURTHER_SHAPES = dict.fromkeys(STREAM_K_VARIANTS, (STREAM_K_SHAPE,)) | {"cuda_skinny": SKINNY_SHAPES}
# n, m: odd shapes, rows that fit whole 16-byte vectors, and long rows whose columns are split over blocks.
GEMV_SHAPES = ((1, 1), (17, 65), (65, 68), (3, 40_001), (5, 40_000))
MIXED_TUNINGS = tuple({"math": math} for math in ("float16", "bfloat16", "tf32x3"))
# Of `descent/cuda_persistent`: with the matrix in registers, in shared memory, or read in every step.
DESCENT_TUNINGS = ({}, {"blocks": 3}, {"block": 128, "team": 64, "rows": 1, "unroll": 4, "blocks": 3})
# Every kernel of the sources occurs in one of these.
BACKPROP_TUNINGS = {
    "cuda": ({"product": "cuda_naive"},),
    "cuda_fused": ({}, {"math": "tf32"}),
    "cuda_flat": ({}, {"index": "offsets", "block": 33}),
    "cuda_kernels": (
        {},
        {"operands": "global", "scalars": "argument", "tables": "global", "error": "atomic", "block": 96},
        {"tables": "readonly", "error": "emulated", "block": 32},
    ),
}
# images, h, c, k
TCONV_SHAPES = ((1, 1, 1, 1), (3, 5, 17, 3), (2, 3, 5, 33))
MLP_SIZES = {"layers": "784-17-33-10", "images": 65, "batch": 32, "epochs": 1, "rate": 0.5, "source": "digits"}
# A batch that `cuda_persistent` reads in parts.
LARGE_BATCH_SIZES = MLP_SIZES | {"layers": "784-300-10", "images": 700, "batch": 650}
BACKPROP_SIZES = {"layers": "784-33-17-9-10", "images": 65, "epochs": 1, "rate": 0.01, "source": "digits"}


def case(workload, variant, tuning, **sizes):
    """A case with these sizes, and defaults for all others."""
    return Case(workload, variant, workloads.complete(workload, sizes), tuning, "warm")


def cases(only_project_sources=False):
    """Cases of every kernel of the CUDA variants; with `only_project_sources`, of those with sources in the project."""
    for name in cuda_variants("gemm", only_project_sources):
        shapes = (*GEMM_SHAPES, *FURTHER_SHAPES.get(name, ()))
        for dtype, form, (m, n, k) in itertools.product(DTYPES, ("nn", "tn", "nt"), shapes):
            for tuning in MIXED_TUNINGS if name == "cublas_mixed" else binaries.tiling_choices("gemm", name, dtype):
                yield from if_within_limits(case("gemm", name, tuning, form=form, m=m, n=n, k=k, dtype=dtype))
    for name in cuda_variants("gemv", only_project_sources):
        for dtype, (n, m) in itertools.product(DTYPES, GEMV_SHAPES):
            for tuning in binaries.tiling_choices("gemv", name, dtype):
                yield case("gemv", name, tuning, n=n, m=m, dtype=dtype)
    for dtype, kernel, elements in itertools.product(DTYPES, ("read", "copy", "triad"), (17, 2**16 + 33)):
        yield case("stream", "cuda", {}, kernel=kernel, elements=elements, dtype=dtype)
    for dtype, (elements, length) in itertools.product(DTYPES, ((17, 3), (1025, 131))):
        yield case("fma", "cuda", {}, elements=elements, length=length, dtype=dtype)
    for dtype, activation in itertools.product(DTYPES, ("sigmoid", "relu")):
        tuning = {"product": "cuda_naive"}
        yield case("mlp", "cuda", tuning, activation=activation, dtype=dtype, **MLP_SIZES)
        for sizes in (MLP_SIZES, LARGE_BATCH_SIZES):
            for name in ("cuda_fused", "cuda_fused_mma"):
                for tiling in ({}, *binaries.tiling_choices("mlp", name, dtype)):
                    yield case("mlp", name, tiling, activation=activation, dtype=dtype, **sizes)
            yield case("mlp", "cuda_persistent", {}, activation=activation, dtype=dtype, **sizes)

    yield from descent_cases(only_project_sources)
    yield from backprop_cases()
    yield from tconv_cases(only_project_sources)
    yield from dcgan_cases()


def tconv_cases(only_project_sources):
    """Every arithmetic with every tiling, and every product of `gemm`; the last block of images isn't full."""
    for name in cuda_variants("tconv", only_project_sources=True):  # we don't check PyTorch's kernels
        tunings = math_tunings(name)
        if "product" in setup_arguments.tunings("tconv", name):
            tunings = [{"product": product, "block": 2} for product in product_variants(only_project_sources)]
        for dtype, tuning, (images, h, c, k) in itertools.product(DTYPES, tunings, TCONV_SHAPES):
            for tiling in binaries.tiling_choices("tconv", name, dtype):
                sizes = {"images": images, "h": h, "c": c, "k": k, "dtype": dtype}
                yield from if_within_limits(case("tconv", name, tuning | tiling, **sizes))


def math_tunings(variant):
    """The tunings of every arithmetic of a variant of `tconv`; an empty one if it has only one arithmetic."""
    if "math" not in setup_arguments.tunings("tconv", variant):
        return [{}]
    return [{"math": math} for math in ("tf32", "float16", "bfloat16")]


def product_variants(only_project_sources):
    """The variants of `gemm` whose products other workloads can use."""
    return [name for name in cuda_variants("gemm", only_project_sources) if workloads.defines("gemm", name, "product")]


def products_and_dtypes():
    """The variants of `gemm` whose products other workloads can use, with each dtype that their LIMITS allow."""
    for variant in product_variants(only_project_sources=False):
        for dtype in workloads.constants("gemm", variant).get("LIMITS", {}).get("dtype", DTYPES):
            yield variant, dtype


def dcgan_cases():
    """Images that don't fill the last batch; batch norms fused with the layers, or in passes of their own."""
    for tuning in (
        {"batch": 2},
        {"batch": 2, "epilogue": "separate", "last": "cuda_parity"},
        {"batch": 2, "epilogue": "separate", "first": "cuda_im2col", "last": "cuda_col2im", "product": "cuda_columns"},
        {"batch": 2, "first": "cuda_implicit_mma", "last": "cuda_window_mma", "math": "float16"},
        {"batch": 2, "first": "cuda_implicit_wgmma", "last": "cuda_window", "math": "tf32", "epilogue": "folded"},
        {"batch": 2, "first": "cuda_implicit_tma", "last": "cuda_window_mma", "math": "float16"},
        {"batch": 2, "first": "cuda_implicit_mma", "last": "cuda_window_mma", "math": "tf32"},
    ):
        for pictures in ("float32", "uint8"):
            yield case("dcgan", "cuda", tuning, images=5, channels=8, pictures=pictures)
    for tuning in (
        {"batch": 2, "graph": "on"},
        {"batch": 2, "memory": "staged", "streams": 1},
        {"batch": 2, "memory": "pageable", "copies": "after"},
    ):
        yield case("dcgan", "home", tuning, images=5, channels=8)


def descent_cases(only_project_sources):
    """The elementary kernels, and whole solves by every algorithm that a variant has."""
    for name in cuda_variants("descent_kernel", only_project_sources):
        tunings = ({}, {"block": 32, "load": 12}) if name == "cuda_version2" else ({},)
        kernels = workloads.load("descent_kernel").SIZES["kernel"]
        for dtype, kernel, n, tuning in itertools.product(DTYPES, kernels, (1, 17, 32, 65), tunings):
            yield from if_within_limits(case("descent_kernel", name, tuning, kernel=kernel, n=n, dtype=dtype))
    for name in cuda_variants("descent", only_project_sources):
        tunings = DESCENT_TUNINGS if name == "cuda_persistent" else ({},)
        algorithms = workloads.load("descent").SIZES["algorithm"]
        for dtype, algorithm, n, tuning in itertools.product(DTYPES, algorithms, (1, 17, 65), tunings):
            sizes = {"n": n, "kappa": 10.0, "iterations": 3, "algorithm": algorithm, "dtype": dtype}
            yield from if_within_limits(case("descent", name, tuning, **sizes))


def backprop_cases():
    """An epoch of every variant with CUDA sources in the project."""
    for name in cuda_variants("backprop", only_project_sources=True):
        for dtype, tuning in itertools.product(DTYPES, BACKPROP_TUNINGS.get(name, ({},))):
            yield case("backprop", name, tuning, dtype=dtype, **BACKPROP_SIZES)


def if_within_limits(case):
    """[case], or [] if the case exceeds its variant's LIMITS."""
    return [case] if traits.beyond_limits_reason(case) is None else []


def cuda_variants(workload, only_project_sources):
    """The CUDA variants of a workload; with `only_project_sources`, only those with CUDA sources in the project."""
    for name in workloads.variants(workload):
        constants = workloads.constants(workload, name)
        if constants["DEVICE"] == "cuda" and ("SOURCE" in constants or not only_project_sources):
            yield name


def solve(case, round=0, data=None):
    """Set up a case's variant on the first round's inputs, and run it on those of `round`; returns the problem."""
    workload, device = workloads.load(case.workload), devices.of(case)
    problem = worker.make_problem(workload, case, device)
    generated = workload.GENERATED
    staged = device.staging_arrays({name: array for name, array in problem.inputs.items() if name not in generated})

    def start_round(round):
        written = workload.fill(staged, case.sizes, round, data)
        device.upload(staged, {name: problem.inputs[name] for name in written})
        if generated:
            workload.generate(problem, round)

    start_round(0)
    steps = workloads.load_variant(case.workload, case.variant).setup(problem, **case.tuning)
    start_round(round)
    validation.poison(problem.outputs)
    steps = Steps.of(steps)
    chain_steps([*steps.prepare, *steps.run])()
    return problem


def run_checks(problem, case, round=0, data=None, precision=None):
    """The Checks of a solved problem's result, at the precision of its case or another one."""
    workload, device = workloads.load(case.workload), devices.of(case)
    inputs, outputs = (
        {name: device.to_host(array) for name, array in arrays.items()} for arrays in (problem.inputs, problem.outputs)
    )
    sizes = workload.reference_sizes(case.sizes)
    reference = workload.reference.compute(sizes, data) if sizes else None
    precision = precision or traits.precision(case)
    return workload.check(case.sizes, inputs, outputs, round, data, reference, precision)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", help="workload/variant/slug")
    options = parser.parse_args()
    # Every array is a separate allocation, so an access past its end is an error.
    cuda.load_cupy().cuda.set_allocator(None)
    with tempfile.TemporaryDirectory() as folder:
        write_digits(Path(folder) / "digits")
        digits = dataset.load(Path(folder) / "digits")
    for case in map(parse_key, options.cases):
        print(case.key, flush=True)
        data = digits if workloads.load(case.workload).data_set(case.sizes) else None
        validation.require(run_checks(solve(case, data=data), case, data=data), case.key)
    print(json.dumps({"cases": len(options.cases)}))


if __name__ == "__main__":
    main()
