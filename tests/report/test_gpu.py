"""What the paper says of a GPU."""

import json

import pytest

import made_up
from ladder.report import gpu, numbers
from ladder.report.latex import code, percent, rate
from ladder.report.study import Study


@pytest.fixture(scope="module")
def measured():
    """A study of a GPU with times made up."""
    return made_up.study(chosen=list(made_up.gpu_cases()))


def test_the_rungs_are_compared_by_their_times(measured):
    values = gpu.numbers(measured)
    assert values["gpu/gemm/float64/cuda_shared/against/cuda_naive"].startswith("is \\num{1.50} times as fast")
    assert values["gpu/gemm/float64/cuda_mma/against/cublas"].startswith("takes \\num{1.10} times as long")
    assert values["gpu/mlp/float64/product"] == code("cublas")
    assert values["gpu/mlp/float64/against/eager"].startswith("is \\num{22")
    assert values["gpu/findings/shared/verdict"] == "holds in part"
    assert values["gpu/mlp/float64/share"].startswith("\\qty{99.5}")


def test_a_lower_precision_does_not_compete(measured):
    """In float32 the tensor cores work in TF32."""
    rows = gpu.square_table(measured)
    assert rows.count(code("tf32")) == 1
    only = [one for one in made_up.gpu_cases() if one[1].tuning.get("product") in ("cuda_mma", "cuda_naive")]
    values = gpu.numbers(made_up.study(chosen=[*only, next(made_up.gpu_cases()), *square()]))
    assert values["gpu/mlp/float64/product"] == code("cuda_mma")
    assert values["gpu/mlp/float32/product"] == code("cuda_naive")


def square():
    return [one for one in made_up.gpu_cases() if one[0] == "gemm_gpu_float64"]


def test_multiply_adds_are_the_ceiling_of_what_uses_no_tensor_cores(measured):
    values = gpu.numbers(measured)
    rows = measured.samples("ceiling_gpu_fma", dtype="float64")
    best = (rows["flops"] / rows["seconds"]).max()
    assert values["gpu/ceiling/fma/float64"] == rate(best, "flops")
    tiled = measured.samples("gemm_gpu_float64", variant="cuda_tiled", form="nn")
    share = tiled["flops"].iloc[0] / tiled["seconds"].median() / best
    assert values["gpu/gemm/float64/cuda_tiled/share-of-fma"] == percent(share)
    without = [one for one in made_up.gpu_cases() if one[0] != "ceiling_gpu_fma"]
    assert gpu.numbers(made_up.study(chosen=without))["gpu/gemm/float64/cuda_tiled/share-of-fma"] is None


def test_the_link_is_known_from_the_bytes_of_streams_arrays(measured):
    """Triad sends two arrays and brings back one; read brings back partial sums alone."""
    values = gpu.numbers(measured)
    moved = {"to device": {"read": 1, "copy": 1, "triad": 2}, "to host": {"copy": 1, "triad": 1}}
    for name, phase in gpu.LINK.items():
        found = measured.samples("ceiling_gpu_bandwidth", phase=phase).groupby("kernel")["seconds"].min()
        best = max(arrays * 8 * 2**22 / found[kernel] for kernel, arrays in moved[phase].items())
        assert values[f"gpu/ceiling/{name}"] == rate(best, "bandwidth")
    table = gpu.ceilings_table(made_up.both(measured, made_up.study("another (published)")))
    (row,) = [line for line in table.splitlines() if line.count("&") == 10 and "texttt{a-" in line]
    assert "--" not in row


def test_cases_on_a_throttled_card_are_counted_each_once(measured):
    values = gpu.numbers(measured)
    everything = list(made_up.gpu_cases())
    assert values["gpu/throttled/of"] == f"\\num{{{len({case.key for _, case, _ in everything})}}}"
    slow = {case.key for _, case, _ in everything if case.variant == "cublas"}
    assert values["gpu/throttled/cases"] == f"\\num{{{len(slow)}}}"
    for parts in (silent := made_up.study(chosen=everything)).tables.values():
        parts["samples"] = parts["samples"].drop(columns="throttled")
    assert gpu.numbers(silent)["gpu/throttled/cases"] is None


def test_the_training_on_the_card_is_compared_with_that_on_the_best_threads():
    values = gpu.numbers(made_up.study(chosen=[*made_up.cases(), *made_up.gpu_cases()]))
    assert values["gpu/beside/product"] == code("cublas")
    sentence = r"is \num{226} times as fast as \texttt{blas} on \num{12} threads"
    assert values["gpu/beside/against/blas"].startswith(sentence)
    assert values["gpu/beside/transfers"].startswith(r"\qty{9")
    alone = gpu.numbers(made_up.study(chosen=list(made_up.gpu_cases())))
    assert "want of a measurement" in alone["gpu/beside/against/blas"]


@pytest.mark.parametrize(
    ("alone", "verdict"),
    [
        (0.1, "does not hold"),  # ahead, copies or not
        (0.44, "holds"),
        (0.5, "can't be told"),  # whether it is far ahead without copies
        (0.6, "holds in part"),  # near without them
        (2 / 3, "can't be told"),  # whether it is near with them
        (1.0, "does not hold"),  # far behind with them
    ],
)
def test_copies_bring_the_card_near_the_host_or_do_not(alone, verdict):
    """In what is made up, the copies to the card and back take as long as an epoch each."""
    host = [one for one in made_up.cases() if one[1].tuning.get("product") == "blas" and one[0] == "mlp_threads"]
    name, case, _ = next(one for one in made_up.gpu_cases() if one[0] == "mlp_threads" and "cublas" in one[1].slug)
    card = [(name, case, alone * min(time for *_, time in host))]
    values = gpu.numbers(made_up.study(chosen=[*square(), *host, *card]))
    assert values["gpu/findings/transfers/verdict"] == verdict
    assert r"\texttt{blas} on \num{12} threads" in values["gpu/findings/transfers/evidence"]
    for part in (host, card):
        values = gpu.numbers(made_up.study(chosen=[*square(), *part]))
        assert values["gpu/findings/transfers/verdict"] == "not tested"
        assert values["gpu/findings/transfers/evidence"] == "a measurement is missing"


def test_without_a_gpu_every_number_says_so():
    values = numbers.filled(gpu.numbers(Study({}, None)))
    assert all(
        isinstance(value, numbers.Missing) or "want of a measurement" in value
        for key, value in values.items()
        if "findings" not in key
    )
    for name, text in gpu.tables(Study({}, None), []).items():
        assert "no measurement" in text, name


def test_the_table_of_kernels_shows_what_they_take(tmp_path):
    kernels = {
        f"gemm_{form}": {"registers": 30 + i, "shared": 1024, "stack": 0, "spills": 8 * i, "threads": 256, "dynamic": i}
        | {"occupancy": {"blocks": 8 - i, "warps": 64 - 8 * i, "share": 1 - i / 8} if i < 2 else None}
        for i, form in enumerate(("nn", "tn", "nt"))
    }
    report = {
        "architecture": "sm_90",
        "workload": "gemm",
        "variant": "cuda_naive",
        "constants": "dtype=float32,block=16",
    }
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report | {"kernels": kernels, "warnings": ["w"]}))
    assert r"30--32 & 1024--1026 & 88--100\,\% & 0--16 & 1" in gpu.kernels([path])
    for kernel in kernels.values():
        kernel |= {"dynamic": None, "occupancy": None}
    path.write_text(json.dumps(report | {"kernels": kernels, "warnings": []}))
    assert "30--32 & 1024 & -- & 0--16 & 0" in gpu.kernels([path])
