"""Compare the project's best variant with the library on random shapes.

    python benchmarks/shapes.py --seed 1 [--workload gemm] [--device host] [--count 24] [--threads 1] [--csv shapes.csv]
    python benchmarks/shapes.py --seed 1 --library pytorch
    python benchmarks/shapes.py --seed 1 2 3 4 5 --device cuda --sizes >shapes.yaml

Sizes are drawn log-uniformly from the seed, within limits on a product's sides, FLOPs and bytes; each form and each
type comes equally often. Fresh processes of the harness measure the variants of a shape in turns, with all checks and
with cold caches. Every second process chooses the fastest of the project's variants, and the others compare it with
the library, so that a lucky choice doesn't win. A ratio is the library's time over that of this variant: above 1
the variant is faster. Prints every shape, the geometric means of the ratios with 95 % intervals over shapes, the shapes
with the lowest ratios, and which classes of shapes have an interval below 1 ("loses").

On the host, the library is SciPy's BLAS or, with `--library pytorch`, PyTorch's, which is MKL in its wheels for x86.
With `--math tf32`, products in float32 on tensor cores are compared instead. With `--sizes` nothing is measured: the
shapes are printed as sizes of an experiment, as in `config/shapes.yaml`.
"""

import argparse
import csv
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ladder.catalogue import traits, workloads
from ladder.errors import LadderError
from ladder.harness import case_files
from ladder.harness.leases import hold_machine
from ladder.harness.progress import Progress
from ladder.harness.ranking import QUICK, Ranking, rank
from ladder.records.case import Case
from ladder.statistics import intervals, selection
from ladder.statistics.quotients import quotient

# The project's variants and the library, by workload and device; those of another precision don't take part. On the
# host, another library can be chosen.
CONTENDERS = {
    ("gemm", "host"): (("tiled",), "blas"),
    ("gemm", "cuda"): (("cuda_tiled", "cuda_skinny", "cuda_packed", "cuda_mma", "cuda_tma", "cuda_wgmma"), "cublas"),
    ("gemv", "host"): (("openmp",), "blas"),
    ("gemv", "cuda"): (("cuda_warp",), "cublas"),
}
FORMS = {"gemm": ("nn", "tn", "nt"), "gemv": (None,)}
DTYPES = ("float64", "float32")
MAX_SIDE = 2**18
MAX_BYTES = {"host": 2**28, "cuda": 2**32}  # of all arrays
FLOPS_LIMITS = {"host": (1e6, 1e10), "cuda": (1e8, 1e12)}  # of a product; below these, a call's overhead is compared
MIN_BYTES = 2**20  # of a matrix of gemv
SHORT_SIDE = 32  # a side up to this length is short
# The sizes that are lengths of rows in memory of the matrices: of both operands and the result or, for gemv (None), of
# its only matrix.
ROW_LENGTHS = {"nn": ("k", "n", "n"), "tn": ("m", "n", "n"), "nt": ("k", "k", "n"), None: ("m",)}
WORST_COUNT = 10  # of the shapes that are printed


class Result(NamedTuple):
    """A shape with its fastest case by a variant of the project, and the ratio of the library's time to that case's."""

    sizes: dict
    case: Case
    ratio: float
    low: float
    high: float


def draw_shapes(workload, device, seed, count):
    """`count` shapes, drawn from the seed: a list of sizes."""
    generator = np.random.default_rng(seed)
    form_types = [(form, dtype) for form in FORMS[workload] for dtype in DTYPES]
    return [draw_shape(generator, workload, device, *form_types[i % len(form_types)]) for i in range(count)]


def draw_shape(generator, workload, device, form, dtype):
    """The sizes of one shape within the limits."""
    names = ("m", "n", "k") if workload == "gemm" else ("n", "m")
    itemsize = np.dtype(dtype).itemsize
    while True:
        sides = [round(MAX_SIDE ** generator.random()) for _ in names]
        sizes = dict(zip(names, sides, strict=True)) | {"dtype": dtype} | ({"form": form} if form else {})
        if is_within_limits(workload, device, sides, itemsize):
            return workloads.complete(workload, sizes)


def is_within_limits(workload, device, sides, itemsize):
    """Whether a shape is large enough to measure more than overhead, and small enough to measure many of them."""
    if workload == "gemv":
        return MIN_BYTES <= itemsize * math.prod(sides) <= MAX_BYTES[device]
    m, n, k = sides
    low, high = FLOPS_LIMITS[device]
    return low <= 2 * m * n * k <= high and itemsize * (m * k + k * n + 2 * m * n) <= MAX_BYTES[device]


def measure(workload, device, sizes, tuning, limits, library=None):
    """The Result of a shape; `tuning` is the library's, `limits` the ranking's. Raises LadderError if that fails."""
    ranking = Ranking(cases := contenders(workload, device, sizes, tuning, library), cases[0], limits)
    progress = SentencesOnly()
    with hold_machine(*cases):
        rank(ranking, {case: case_files.provide(case, progress.say) for case in cases}, progress)
    if cases[0] not in ranking.remaining:
        raise LadderError(f"{workload}/{cases[0].variant} can't be measured, so there is nothing to compare with.")
    best, test_times = selection.choose_best({case: ranking.times(case) for case in ranking.remaining[1:]})
    ratio = quotient(ranking.times(cases[0]), test_times)
    return Result(sizes, best, ratio.value, ratio.low, ratio.high)


def contenders(workload, device, sizes, tuning, library=None):
    """The case of the library, by default that of CONTENDERS, and those of the project's variants in its precision.

    `tuning` is the library's; the variants have its threads.
    """
    names, default = CONTENDERS[workload, device]
    threads = {name: value for name, value in tuning.items() if name == "threads"}
    library_case = Case(workload, library or default, sizes, tuning, "cold", {})
    cases = [Case(workload, name, sizes, threads, "cold", {}) for name in names]
    within_limits = [case for case in cases if not traits.beyond_limits_reason(case)]
    return [library_case, *(case for case in within_limits if traits.precision(case) == traits.precision(library_case))]


class SentencesOnly(Progress):
    """Progress that prints sentences, but not the state of the ranking."""

    def update(self, ranking):
        pass


def geometric_mean(ratios):
    """The geometric mean of ratios with a 95 % interval by Student's t, (mean, low, high)."""
    return tuple(
        float(math.exp(value)) for value in intervals.t_interval(*intervals.mean_and_error(np.log(ratios)), 0.95)
    )


def classes_of(sizes):
    """The names of the classes of shapes that a shape belongs to.

    These are its type, its form, its shortest side if that is short, and `odd row length` if rows of a matrix in memory
    have an odd length, so that vectors of several elements don't divide them; otherwise `even row length`.
    """
    sides = ("m", "n", "k") if "k" in sizes else ("n", "m")
    shortest = min(sides, key=lambda side: sizes[side])
    yield sizes["dtype"]
    if "form" in sizes:
        yield f"form {sizes['form']}"
    yield f"short {shortest}" if sizes[shortest] <= SHORT_SIDE else "no short side"
    is_odd = any(sizes[name] % 2 for name in ROW_LENGTHS[sizes.get("form")])
    yield "odd row length" if is_odd else "even row length"


def describe(result):
    """A line about a shape: form, sides, type, best variant, and ratio with its interval."""
    form = result.sizes.get("form", "")
    shape = " x ".join(str(result.sizes[name]) for name in ("m", "n", "k") if name in result.sizes)
    return (
        f"{form:2} {shape:24} {result.sizes['dtype']}  {result.case.variant:10} "
        f"{result.ratio:5.2f} [{result.low:.2f}, {result.high:.2f}]"
    )


def print_summary(results):
    """Print the geometric means, the worst shapes, and the classes that lose."""
    ratios_by_class = {}
    for result in results:
        for name in ("all", *classes_of(result.sizes)):
            ratios_by_class.setdefault(name, []).append(result.ratio)
    print("\ngeometric means, with 95 % intervals over shapes")
    for name, ratios in ratios_by_class.items():
        mean, low, high = geometric_mean(ratios)
        loses = "  loses" * (high < 1)
        print(
            f"  {name:15} {len(ratios):3} shapes  {mean:5.2f} [{low:.2f}, {high:.2f}], lowest {min(ratios):.2f}{loses}"
        )
    print(f"\nlowest {min(WORST_COUNT, len(results))}")
    for result in sorted(results, key=lambda result: result.ratio)[:WORST_COUNT]:
        print(f"  {describe(result)}")


def write_csv(path, results, tuning):
    """Write a row for each shape."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*results[0].sizes, *tuning, "variant", "ratio", "low", "high"])
        for result in results:
            values = [*result.sizes.values(), *tuning.values()]
            writer.writerow([*values, result.case.variant, result.ratio, result.low, result.high])


def print_sizes(shapes):
    """Print shapes as a list of sizes in YAML."""
    names = ("form", "m", "n", "k", "dtype")
    for sizes in shapes:
        print(f"- {{{', '.join(f'{name}: {sizes[name]}' for name in names if name in sizes)}}}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, nargs="+", required=True, help="of the shapes")
    parser.add_argument("--workload", choices=FORMS, default="gemm", help="default: gemm")
    parser.add_argument("--device", choices=MAX_BYTES, default="host", help="default: host")
    parser.add_argument("--count", type=int, default=24, help="number of shapes per seed (default: 24)")
    parser.add_argument("--threads", type=int, default=1, help="on the host (default: 1)")
    parser.add_argument("--library", choices=("blas", "pytorch"), help="on the host (default: blas)")
    parser.add_argument("--math", choices=("default", "tf32"), default="default", help="of products on a GPU")
    parser.add_argument("--csv", help="write a row for each shape to this CSV file")
    parser.add_argument("--sizes", action="store_true", help="print the shapes as YAML, and measure nothing")
    options = parser.parse_args()
    if options.library and options.device != "host":
        parser.error("--library is for --device host")
    shapes = [
        sizes for seed in options.seed for sizes in draw_shapes(options.workload, options.device, seed, options.count)
    ]
    if options.math == "tf32":
        shapes = [sizes for sizes in shapes if sizes["dtype"] == "float32"]
    if options.sizes:
        print_sizes(shapes)
        return
    tuning = {"threads": options.threads} if options.device == "host" else {}
    if (options.workload, options.device) == ("gemm", "cuda"):
        tuning = {"math": options.math}
    results = []
    try:
        for sizes in shapes:
            results.append(measure(options.workload, options.device, sizes, tuning, QUICK, options.library))
            print(describe(results[-1]), flush=True)
    except LadderError as error:
        sys.exit(f"shapes: {error}")
    print_summary(results)
    if options.csv:
        write_csv(options.csv, results, tuning)


if __name__ == "__main__":
    main()
