"""The values that texts of chapters ask for, of made-up measurements, as plain text; and what models predict."""

import math

import pandas as pd
import pytest

import chapter
from ladder.report import assumptions
from ladder.report.telling import chapter_study
from ladder.store import rates

# {chapter: {an expression of a template: how its text begins}}, without claims' ratios (test_chapter_claims.py).
VALUES = {
    "gemm": {
        'product_rate("gpu", "tf32")': "301 tera flops",  # the 90 % quantile over the processes
        'product_rate("mixed", "float16")': "401 tera flops",
        # A tenth of the bound over float32's bound, 6 sqrt(4097) 2^-24, to which operands in float16 add 2^-10.
        'error("float16")': "4.37",
    },
    "gemv": {
        'comparison("serial", "openmp", "it")': "is 24 x faster than it",
        'share("nccl-ship")': "97 percent",  # of the link
        'efficiency(select("graph", "larger"), "ranks")': "50 percent",
        # Distributing the matrix takes 1.5 times a product on one rank; each product on four saves 0.75 of that.
        'break_even(*[select("resident", "ranks", ranks=n) for n in (4, 1)], "it")': "pays off, "
        "compared with it, after 2.0",
    },
    "mlp": {
        'sum_of_operations(select("small/cublas", graph="off"))': "36 micro second",
        'time("small/cublas")': "36 micro second",  # of a batch
        'speedup(*(claims.deep_launches(name).phase("tn") for name in ("cuda_naive", "cuda_shared")))': "1.5 x",
        # `nt` takes 0.2 of the products' time and `nn` 0.5, for 2.01e6 and 2.794e6 multiply-adds per image.
        'per_flop(claims.deep_launches("cuda_naive"), "nt", "nn")': "0.56 x",
        'speedup("copies/cublas", select("copies/cublas", memory="pinned"))': "3.8 x",
    },
    "backprop": {
        "epochs_to_error()": "3",  # by the rule 1 / epoch
        'time_to_error(select("numpy_loop", "learning"))': "94 milli second",
        # The gain by code is over the earlier study's last program. Its time is for an unknown number of images.
        "speedup(earlier.EARLIER_TIMES[0].program, earlier.EARLIER_TIMES[0].best)": "5.7 x",
        "earlier.EARLIER_TIMES[0].seconds": "None",
    },
    "descent": {
        'time("cuda_persistent")': "2.0 micro second",
        # One call of each kernel takes 2 us and 4 ps per element of a matrix, of which `product` and `reduction` have
        # 512 x 512. Two products take 20.2 us in all, in the earlier study 813 us.
        "seconds(kernels_now(earlier.calls(1)), 2)": "14 micro second",
        "factor(EARLIER_TIMES[0].seconds / kernels_now(earlier.calls(2)))": "40 x",
        'factor(kernels_now(earlier.calls(2)) / median("cuda_persistent"))': "10 x",
        # 50 steps of 107 GB each at 4.3 TB/s, where the ceiling is 4.4 TB/s.
        'share(select("cuda_fused", "largest"))': "97 percent",
        'time(select("cuda_fused", "largest solves"))': "1.2 second",
        # CG reads A 50 times, in 4.5e-9 n^2 s on the host's two threads; Cholesky takes 4.5e-12 n^3 s.
        'overtakes("host", "cg")': "is faster than Cholesky from $n = 1000 ",
        # At n = 16384, the largest, Cholesky takes 4.4 s, and CG that reads half of A 7.3 ms.
        'speedup(solve("direct"), solve("cg", "cuda_symmetric"))': "610 x",
        # At n = 4096 CG takes 0.78 ms. To 1e-4 it needs 46 steps at kappa = 100 and 150 at kappa = 1000, where the
        # curve has every tenth step.
        'seconds(step_ratio() * median(solve("cg", n=4096)), 2)': "2.5 milli second",
        'steps_of("cg", 10)': "15",
        'number(residuals.true_residual("steepest recomputed", 10), 2)': "1.1e-6",
        # Recomputed every 50 steps: at step 100 the residual jumps to 1e-6, and in the next 40 it falls by (9 / 11)^40.
        'number(residuals.min_after_jump("steepest recomputed", 10), 2)': "3.3e-10",
        'number(residuals.rate("steepest", 10), 4)': "0.8182",  # in theory 9 / 11
        "residuals.steepest_error(3.0, [0, 1, 3])": "[1. 0.5 0.125]",
        "residuals.conjugate_bound(9.0, [0, 1, 3])": "[1. 1. 0.25]",
        # Two products with A and two with a row, each with three passes of sums of eight, and four vector kernels.
        'model.launch_count("cuda_version2", 512)': "20",
        "seconds(earlier.total_seconds(earlier.calls(1)), 2)": "500 micro second",
        "seconds(earlier.total_seconds(earlier.calls(2)), 2)": "810 micro second",
        'energy("cublas")': "400 milli joule",  # of the graph alone
    },
    "dcgan": {
        'number(1 / median("blas"), 2)': "8000",  # on 24 threads
        "factor(WITH_ZEROS / FLOPS)": "4.7 x",  # 1299 MFLOP with zeros inserted
        # A picture takes 9 us with separate kernels for batch norms, 6 us with fused ones, and 4.8 us as a graph.
        'speedup(select("window", epilogue="separate"), select("window", graph="on"))': "1.9 x",
        # With the study's kernels, a picture takes 100 us on one GPU. A call for few pictures takes 0.5 ms more, and on
        # two GPUs 1 ms, so two are as fast for ten pictures. A start takes 0.4 s on one GPU and 0.7 s on two.
        'pay_off("ranks-then", 2)': "pay off from 10 ",
        'pay_off("ranks-then", 2, with_start=True)': "pay off at no measured number of pictures, from 10 to 5248",
        'time(lines.cold_start(lines.gpu_run("ranks-then", "ranks", 2, 10)))': "700 milli second",
        "[digits(median(x), 3) for y in earlier.EARLIER_TIMES for x in (y.program, y.best)]": "['0.262', '0.0157']",
        'efficiency_on_gpus("tapered", "most GPUs", largest_gpu_count())': "50 percent",
        'efficiency_on_gpus("graph", "most GPUs", 4, weak=True)': "80 percent",
        # In half precision an 8-bit picture takes 0.6 us; copying one in float32 takes 1.4 us.
        'seconds(lines.IMAGES * median(select("uint8", math="float16")))': "3.15 milli second",
    },
}


@pytest.mark.parametrize("workload", VALUES)
def test_values_are_those_of_the_times(workload):
    functions = chapter.text_functions(workload)
    texts = {code: chapter.plain_text(eval(code, functions)) for code in VALUES[workload]}
    assert {code: text for code, text in texts.items() if not text.startswith(VALUES[workload][code])} == {}


# {(chapter, table): parts of the table, as plain text}.
ROWS = {
    # In float32 the tensor cores work in TF32, half as fast as cuBLAS; tf32x3, three products for one, has no ceiling.
    ("gemm", "gpu"): ["wm=64, wn=64 & tf32" + " & 150 & 49.9 percent" * 3],
    ("gemm", "gpu_training"): [
        "float32 & nn & 60000 & 300 & 784 & 564 micro second & 0.0500 & 0.0750 & 0.500 & -- ",
        "tf32 & nn & 60000 & 300 & 784 & 94.1 micro second & -- & -- & -- & 0.500",
    ],
    ("gemm", "gpu_mixed"): [
        "float32 & cublas & 2.75 milli second & 50.0 & 99.7 percent & -- & 0.100",
        "tf32 & cublas & 458 micro second & 300 & 99.7 percent & 6.0 x",
        "tf32x3 & cublas_mixed & 1.37 milli second & 100 & -- & 2.0 x",
    ],
    ("mlp", "gpu"): ["cuda_shared & float32", "cuda_mma , TF32 & float32", " cublas & float32"],
    ("mlp", "ladder"): ["host , blas , 12 threads & a batch", "cuda , cuda_mma , graph & on", "pytorch_cuda , graph &"],
    # Now `tn` takes 0.3 of the products' time, which is 0.995 of a batch of 0.76 s on one thread.
    ("mlp", "earlier"): [
        "openmp & tn & then, s & 1084 (1.0) & 569 (1.9) & 305 (3.6) & 233 (4.7) & 141 (7.7) & 143 (7.6) "
        "& & now, ms & 227 (1.0) & 113 (2.0) & 63.0 (3.6)"
    ],
    ("mlp", "earlier_gpu"): ["whole & 180 (1.0) & 85.8 (2.1) & 66.0 (2.7)"],
    ("gemv", "ladder"): ["mpi_openmp , ship , 2 x 8 threads"],
    ("gemv", "gpus"): ["1, graph"],
    ("gemv", "sizes"): ["mpi & 4 ranks & 376 milli second & 53.7 milli second"],  # ranks compute for a seventh
    ("backprop", "kernels"): ["3000 10 update & 1500", "1500 give back & 500"],  # by number, then those without one
    # `product` writes 512 x 512 elements in 3.05 us, in the earlier study in 189 us, and moves 8 bytes for each.
    # The last part is of version 1.
    ("descent", "elements"): ["29 & 1.3 & 29 & 1.4 & 86 ", "init & -- & 0.51"],
    ("descent", "bandwidth"): ["& 10 & 230 & 11 & 690 "],
    ("dcgan", "gpus"): [
        "Pictures" + " & 1 GPU & 2 GPUs & 4 GPUs" * 3 + " midrule 10 & 39.0 milli second & 88.0 milli second",
        "5248 & 1.01 second & 647 milli second & 504 milli second & 920 milli second & 960 milli second & 1.4 second "
        "& 525 milli second & 262 milli second & 131 milli second",
    ],
    # Products by im2col take three times as long. 5248 pictures take 31.5 ms with hidden copies to pinned memory.
    ("dcgan", "layers"): ["im2col , cublas" + " & 13.3" * 4, "implicit" + " & 40.0" * 4],
    ("dcgan", "home"): ["pinned & 100 milli second & 101 milli second & 31.5 milli second ", "staged &", "pageable &"],
}


@pytest.mark.parametrize(("workload", "name"), ROWS)
def test_rows_of_tables_are_those_of_the_times(workload, name):
    table = chapter.all_tables(workload)[name].replace(r"\allowbreak{}", "").replace(r"\_", "_").replace(r"\texttt", "")
    assert [part for part in ROWS[workload, name] if part not in chapter.plain_text(table)] == []


IMAGE_BYTES, MATRIX_BYTES = 60000 * 784 * 4, 512 * 512 * 4
WEIGHT_SECONDS = 3 * 60000 * 45846 * 4 / 1e11  # of three passes over the 45846 weights per image, in the L2 cache
BATCH = {"workload": "mlp", "product": "cublas", "flops": 1e12, "images": 1000, "batch": 1, "layers": "784-300-10"}
# {chapter: [its rows' default columns, (further columns of a row, the seconds that the model predicts), ...]}, from a
# bandwidth of 25 GB/s on a thread, 100 GB/s on four, 4 TB/s on a GPU and 50 GB/s to it, products at 1e11 and
# multiply-adds at 6e13 FLOP/s; a core's L2 cache is assumed to have 100 GB/s.
PREDICTED = {
    "gemv": [
        {"ranks": 4, "threads": math.nan, "device": "mpi_cuda", "mode": "ship"},
        ({"device": "mpi", "mode": "resident"}, 1e9 / 100e9),
        ({"device": "mpi"}, 3e9 / 100e9),
        ({"device": "mpi", "ranks": 2}, None),  # no bandwidth is known on two threads
        ({"variant": "nccl_cublas"}, 1e9 / 50e9),
        ({"variant": "mpi_cublas"}, 1e9 / 200e9),
        ({"mode": "resident"}, 1e9 / 16e12),
    ],
    "mlp": [
        {"workload": "gemm", "device": "cuda", "flops": 1e9, "dtype": "float64", "precision": "float64"},
        # Plain loops take 64 times as long as a library. `interchanged` reads 8 bytes per multiply-add, from the L2
        # caches of two cores. Operands in memory slow a multiply-add down by 8.
        ({"device": "host", "threads_found": 2, "variant": "openmp"}, 64 * 1e9 / 1e11),
        ({"device": "host", "threads_found": 2, "variant": "interchanged"}, 8 * 0.5e9 / 2 / 1e11),
        ({"variant": "cuda_shared"}, 8 * 1e9 / 6e13),
        ({"variant": "cuda_tiled"}, 1e9 / 6e13),
        (BATCH | {"variant": "cuda"}, 1e12 / 1000 / 1e11 + 8 * assumptions.GRAPH_NODE),  # a batch has 8 kernels
    ],
    "backprop": [
        {"layers": "784-56-28-10", "images": 60000, "dtype": "float32", "precision": "float32", "flops": 2e9}
        | {"device": "host", "threads_found": 1, "flags": "O2"},
        # In half of the FLOPs every multiply-add reads two cache lines; the others are scalar, 16 times slower.
        ({"variant": "before"}, 0.5e9 * 128 / 25e9 + 16 * 1e9 / 1e11),
        ({"variant": "fusion"}, 16 * 2e9 / 1e11),
        ({"variant": "fusion", "flags": "all"}, WEIGHT_SECONDS),
        ({"variant": "openmp", "threads_found": 4}, WEIGHT_SECONDS / 4),
        ({"variant": "tuned"}, 2e9 / 1e11 + IMAGE_BYTES / 25e9),
        # Two passes over the images, and six over the 56 + 28 + 10 activations or deltas.
        ({"device": "cuda", "variant": "cuda"}, 2e9 / 1e11 + (2 * IMAGE_BYTES + 6 * 60000 * 94 * 4) / 4e12),
        ({"device": "cuda", "variant": "cuda_kernels"}, 8 * 2e9 / 6e13),
    ],
    "descent": [
        {"n": 512, "dtype": "float32", "device": "host", "variant": "openmp", "threads": 4, "recompute": pd.NA},
        ({"device": "cuda", "variant": "cuda_fused", "graph": "off"}, assumptions.LAUNCH + MATRIX_BYTES / 4e12),
        ({"device": "cuda", "variant": "cuda_fused", "graph": "on"}, assumptions.GRAPH_NODE + MATRIX_BYTES / 4e12),
        ({"recompute": 0}, MATRIX_BYTES / 100e9),
        ({"recompute": 1}, 2 * MATRIX_BYTES / 100e9),
        ({"device": "cuda", "variant": "cupy_loop"}, None),
    ],
}
FLOORS = {"mlp": 0.01, "backprop": 2e9 / 1e11 + 2 * IMAGE_BYTES / 4e12, "descent": MATRIX_BYTES / 4e12}


@pytest.mark.parametrize("has_rates", [True, False])
@pytest.mark.parametrize("workload", PREDICTED)
def test_a_model_charges_what_limits_a_rung(workload, has_rates, monkeypatch):
    """Without the rates it predicts nothing of a GPU. The floor is the work at the best rates."""
    known_rates = {"gpu_bandwidth": 4e12, "link": 50e9, "products": 1e11, "multiply_adds": 6e13} if has_rates else {}
    for name in ("gpu_bandwidth", "link", "products", "multiply_adds"):
        monkeypatch.setattr(rates, name, lambda *_, name=name, **__: known_rates.get(name))
    monkeypatch.setattr(rates, "bandwidths", lambda study: {1: 25e9, 4: 100e9})
    model, (default, *rows) = chapter_study.chapter_module(workload, "model"), PREDICTED[workload]
    for row, seconds in ((default | row, seconds) for row, seconds in rows):
        if has_rates or "cuda" in row["device"]:
            expected = seconds if has_rates else None
            assert model.predict(None, row) == (expected and pytest.approx(expected)), row
    if workload in FLOORS and has_rates:
        assert model.floor(None, default | {"device": "cuda"}) == pytest.approx(FLOORS[workload])
