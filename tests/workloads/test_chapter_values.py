"""The values that texts of chapters ask for, of made-up measurements, as plain text; and what models predict."""

import math
import re

import pandas as pd
import pytest

import chapter
from ladder.report import assumptions
from ladder.report.telling import chapter_study
from ladder.store import rates
from ladder.workloads.backprop.paper.lines import SIZE
from ladder.workloads.mlp.paper.lines import NETWORK

# Of each chapter, {what a template may ask for: how its text begins}.
VALUES = {
    "gemv": {
        'comparison("serial", "openmp", "it")': "is 4.0 x faster than it",
        'time("openmp")': "25 milli second",
        'share("openmp")': "80 percent",
        'speedup("naive", "coalesced")': "2.5 x",
        'share("nccl-ship")': "97 percent",  # of the link
        'efficiency(select("graph", "most GPUs"), "ranks")': "100 percent",
        'efficiency(select("graph", "larger"), "ranks")': "50 percent",
        'memory_threads("host")': "24",
        'reading_rate("host", 24)': "300 giga bytes",
        'memory_rate("host", 24)': "300 giga bytes",
        # It takes one and a half times a product on one rank, of which each on four saves three quarters.
        'break_even(select("resident", "ranks"), select("resident", "ranks", ranks=1), "one rank", "products")': (
            "pays off against one rank after 2.0"
        ),
    },
    "mlp": {
        'speedup(select("training/cublas", graph="off"), select("training/cuda_shared", graph="off"))': "1.4",
        'speedup("training/cuda_shared", "training/cublas")': "2.2",
        'speedup("pytorch_cuda", "training/cuda_mma")': "3.0",
        'speedup(select("cublas", "single"), "tf32/cublas")': "8.0 x",
        'speedup("tf32/cuda_mma", "tf32/cublas")': "2.0 x",
        'speedup(select("cuda_naive", "nn"), select("cuda_shared", "nn"))': "1.5",
        'speedup(select("cuda_naive", "tn"), select("cuda_shared", "tn"))': "1.7 x",
        'speedup(select("cuda_naive", "nt"), select("cuda_shared", "nt"))': "12",
        'operations(select("training/cublas", graph="off"))': "36 micro second",
        'time("training/cublas")': "36 micro second",  # of a batch
        'claimed_ratio("graph")': "3.3",
        'rate(select("cublas", "rows", m=100), "flops")': "4.7 tera flops",
        'rate(select("cublas", "rows", m=60000), "flops")': "47 tera flops",
        "copies()": "2.0 milli second",
    },
    "backprop": {
        'time("before")': "40 second",
        'speedup("before", "loop_order")': "10",
        'speedup("before", select("tuned", threads=1))': "160 x",
        'speedup("all flags", select("tuned", threads=1))': "5.7 x",
        'speedup(select("pytorch", threads=1), select("tuned", threads=1))': "2.0 x",
        'speedup(select("by hand", threads=1), select("tuned", threads=1))': "1.6 x",
        'speedup("numpy_loop", "tuned")': "2.5 x",
        'speedup("pytorch_cuda", "cuda_fused")': "1.5 x",
        'speedup("serial", "tasks")': "4.0 x",
        'efficiency("openmp", "threads")': "100 percent",
        'count("openmp", "threads")': "4",
        'predicted_time("cuda_fused")': "310 micro second",
        'predicted_time("tf32")': "110 micro second",
        'share("cuda_fused")': "77 percent",
        'phase_share("before", "weight change")': "40 percent",
        "epochs_to_error()": "3",  # by the rule 1 / epoch
        'time_to_error(select("numpy_loop", "learning"))': "120 milli second",
    },
    "descent": {
        'time("cuda_persistent")': "2.0 micro second",
        'time("cuda_version1")': "80 micro second",
        'speedup("cupy_loop", "cuda_persistent")': "68 x",
        'speedup("cuda_version2", "openmp")': "10.0 x",
        'count("openmp", "threads")': "4",
        'count("cuda_persistent", "steps")': "100",
        'number(earlier.iteration(2) / median("cuda_persistent"), 2)': "410",
        'comparison(select("cuda_fused", "large"), select("cuda_persistent", "large"), "it")': "ties with it",
        'speedup(select("cublas", "large", product="symv"), select("cuda_symmetric", "large"))': "1.9 x",
        # Of 50 steps of 107 GB each at 4.4 TB/s, 1.02 times that; 1.03 by the best sample.
        'share(select("cuda_fused", "largest"))': "97 percent",
        'time(select("cuda_fused", "largest solves"))': "1.2 second",
        'matrix(select("cuda_fused", "largest"))': "100 gibi byte",
        'tally("earlier")': "1 is confirmed and 3 are refuted",
        # Of 2 us a launch and 4 ps an element of a matrix, of which product and reduction have 512 x 512.
        "one_of_each()": "14 micro second",
        # By the rule CG costs 2e-8 n^2 on the host and Cholesky 2e-11 n^3.
        'overtakes("host", "cg")': "is faster than Cholesky from $n = 1000",
        'overtakes("cuda", "cg")': "is faster than Cholesky at every size",
        "largest_solved()": "16384",
        'number(condition("kappa"))': "100",
        'number(condition("tolerance"), 1)': "1e-4",
        # At n = 16384 Cholesky takes 0.44 s, CG 11 ms and by half of A 21 ms.
        'speedup(solve("direct"), solve("cg"))': "41 x",
        'speedup(solve("direct"), solve("cg", "cuda_symmetric"))': "20 x",
        # At n = 4096 CG takes 0.67 ms; to 1e-4 it takes 46 steps at kappa = 100 and 150 at 1000, every tenth known.
        "number(more_steps(), 2)": "3.3",
        'seconds(more_steps() * median(solve("cg", n=4096)), 2)': "2.2 milli second",
        'time(solve("direct", n=4096))': "6.9 milli second",
        'steps_of("cg", 10)': "15",
        'steps_of("steepest", 1000)': "more than 200",
        'residual("true", "steepest", 10)': "1.0e-6",
        'residual("reported", "steepest recomputed", 10)': "1.0e-6",
        'residual("true", "steepest recomputed", 10)': "1.1e-6",
        # Of steepest descent 1e-6 (9 / 11)^40, 40 steps after the jump; before it, 50 steps from the start, 4e-5.
        'residual("least_after_jump", "steepest recomputed", 10)': "3.3e-10",
        'residual("least_after_jump", "cg recomputed", 100)': "1.0e-6",
        "recomputed_every()": "50",
        'energy("cuda_persistent")': "100 milli joule",
        'energy("cublas")': "400 milli joule",  # of the graph alone
    },
    "dcgan": {
        'time("loops", 3)': "100",
        'number(1 / median("mixed"), 2)': "670",
        'speedup("loops", "parity")': "5.0 x",
        'speedup("peer-home", "home")': "2.0 x",
        'picture_energy("window")': "5.0 milli joule",
        'count("home", "batch")': "512",
        "digits(FLOPS / 1e6)": "274",
        "factor(WITH_ZEROS / FLOPS)": "4.7 x",  # 1299 MFLOP with zeros inserted
        'phase_share("window", "layer 1")': "3",
        # Of 100 pictures a call takes 1.1 ms on one GPU, 1.3 on two and 2.15 on four, of 200 1.2, 0.6 and 0.3; a start
        # 0.4 s on one and 0.7 on two.
        'pays("two", 2)': "pay off from 11",
        'pays("two", 2, with_start=True)': "pay off at no number from ",
        'pays("most", 4)': "pay off from 13",
        'efficiency_on("threads", "two", 2)': "100 percent",
        'efficiency_on("ranks", "two", 2)': "100 percent",
        "most_cards()": "4",
        'efficiency_on("threads", "most", 4)': "100 percent",
        'efficiency_on("ranks", "most", 4)': "100 percent",
        'efficiency_on("graph", "most", 4)': "80 percent",
        'efficiency_on("tapered", "most", 4)': "50 percent",
        'efficiency_on("threads", "most", 4, weak=True)': "100 percent",
        'efficiency_on("ranks", "most", 4, weak=True)': "100 percent",
        'efficiency_on("graph", "most", 4, weak=True)': "80 percent",
        # Of half precision 0.7 us a picture for a screen, where 32 bits take 1.4; as long in TF32.
        'seconds(lines.IMAGES * median(select("screen", math="float16")))': "3.67 milli second",
        'speedup(select("home-brought", "floats"), select("screen", "screen", math="float16"))': "2.0 x",
        'speedup(select("home-brought-tf32", "floats"), select("screen", "screen", math="tf32"))': "1.0 x",
        # With its copies a picture takes 1.4 us, its kernels 1.12 in the same batches and 1.4 in one.
        'time_share(select("brought", graph="on", **lines.TAPERED), "home-brought-tf32")': "80 percent",
        'time_share(claims.kernels("tf32"), "home-brought-tf32")': "100 percent",
        'time_share(claims.kernels("tf32"), "home-brought-tf32", at_power_limit=True)': "91 percent",
    },
}


def plain(value):
    """A value in LaTeX as its numbers and words."""
    return " ".join(re.sub(r"\\(?:num|qty|,)|[{}\\]", " ", str(value).replace(r"$\times$", "x")).split())


@pytest.mark.parametrize("workload", VALUES)
def test_values_are_those_of_the_times(workload):
    texts = {asked: plain(eval(asked, chapter.asked(workload))) for asked in VALUES[workload]}
    assert {asked: text for asked, text in texts.items() if not text.startswith(VALUES[workload][asked])} == {}


MODEL_OF_DESCENT = {"n": 512, "dtype": "float32", "threads": pd.NA, "recompute": pd.NA}
BATCH = {
    "workload": "mlp",
    "variant": "cuda",
    "product": "cublas",
    "flops": 1e12,
    "images": 1000,
    "batch": 1,
    **NETWORK,
}
CACHED, READ = 3 * 60000 * 45846 * 4 / 1e11, 512 * 512 * 4
# Rows of a chapter, with the seconds that its model predicts, from a bandwidth of 100 GB/s on four threads or ranks, of
# 4 TB/s on a GPU and 50 GB/s to it, products at 1e11 and multiply-adds at 6e13 FLOP/s.
PREDICTED = [
    ("gemv", {"device": "mpi", "mode": "resident"}, 1e9 / 100e9),
    ("gemv", {"device": "mpi", "mode": "ship"}, 3e9 / 100e9),
    ("gemv", {"device": "mpi", "mode": "ship", "ranks": 2}, None),  # of two nothing is known
    ("gemv", {"device": "mpi_cuda", "mode": "ship", "variant": "nccl_cublas"}, 1e9 / 50e9),
    ("gemv", {"device": "mpi_cuda", "mode": "ship", "variant": "mpi_cublas"}, 1e9 / 200e9),
    ("gemv", {"device": "mpi_cuda", "mode": "resident"}, 1e9 / 16e12),
    ("mlp", {"device": "host", "variant": "openmp"}, 0.64),
    ("mlp", {"device": "host", "variant": "interchanged"}, 0.02),
    ("mlp", {"device": "cuda", "variant": "cuda_shared"}, 8e9 / 6e13),
    ("mlp", {"device": "cuda", "variant": "cuda_tiled"}, 1e9 / 6e13),
    ("mlp", {"device": "cuda"} | BATCH, 0.01 + 8 * assumptions.NODE),
    ("mlp", {"device": "cuda"} | BATCH | {"variant": "pytorch"}, None),
    ("backprop", {"device": "host", "variant": "before"}, 1e9 * 128 / 25e9),
    ("backprop", {"device": "host", "variant": "fusion"}, 16 * 2e9 / 1e11),
    ("backprop", {"device": "host", "variant": "fusion", "flags": "all"}, CACHED),
    ("backprop", {"device": "host", "variant": "openmp", "threads_found": 4}, CACHED / 4),
    ("backprop", {"device": "host", "variant": "tuned"}, 2e9 / 1e11 + 60000 * 784 * 4 / 25e9),
    ("backprop", {"device": "cuda", "variant": "cuda"}, 2e9 / 1e11 + 60000 * (2 * 784 + 6 * 94) * 4 / 4e12),
    ("backprop", {"device": "cuda", "variant": "cuda_kernels"}, 8 * 2e9 / 6e13),
    ("backprop", {"device": "host", "variant": "pytorch"}, None),
    ("descent", {"device": "cuda", "variant": "cuda_fused", "graph": "off"}, assumptions.LAUNCH + READ / 4e12),
    ("descent", {"device": "cuda", "variant": "cuda_fused", "graph": "on"}, assumptions.NODE + READ / 4e12),
    ("descent", {"device": "host", "variant": "openmp", "threads": 4, "recompute": 0}, READ / 100e9),
    ("descent", {"device": "host", "variant": "openmp", "threads": 4, "recompute": 1}, 2 * READ / 100e9),
    ("descent", {"device": "host", "variant": "openmp", "threads": 2, "recompute": 0}, None),
    ("descent", {"device": "cuda", "variant": "cupy_loop"}, None),
]
DEFAULTS = {
    "gemv": {"ranks": 4, "threads": math.nan},
    "mlp": {"workload": "gemm", "flops": 1e9, "dtype": "float64", "threads_found": 2, "precision": "float64"},
    "backprop": SIZE | {"flops": 2e9, "threads_found": 1, "precision": "float32", "flags": "O2"},
    "descent": MODEL_OF_DESCENT,
}


@pytest.mark.parametrize("has_rates", [True, False])
@pytest.mark.parametrize("workload", DEFAULTS)
def test_a_model_charges_what_limits_a_rung(workload, has_rates, monkeypatch):
    """Without the rates it predicts nothing of a GPU."""
    known = {"card_bandwidth": 4e12, "link": 50e9, "products": 1e11, "multiply_adds": 6e13} if has_rates else {}
    for name in ("card_bandwidth", "link", "products", "multiply_adds"):
        monkeypatch.setattr(rates, name, lambda *_, name=name, **__: known.get(name))
    monkeypatch.setattr(rates, "bandwidths", lambda study: {1: 25e9, 4: 100e9})
    model = chapter_study.module(workload, "model")
    for of, row, seconds in PREDICTED:
        if of == workload and has_rates:
            assert model.predict(None, DEFAULTS[of] | row) == (seconds and pytest.approx(seconds)), row
        elif of == workload and "cuda" in row["device"]:
            assert model.predict(None, DEFAULTS[of] | row) is None, row
