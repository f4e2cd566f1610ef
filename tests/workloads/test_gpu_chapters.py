"""What the chapters say of one GPU."""

import json

import pytest

import made_up
from ladder.planning import configuration
from ladder.report import kernels_table, numbers
from ladder.report.latex import code, number, percent, rate
from ladder.report.phrases import Missing
from ladder.report.study import Study
from ladder.report.tables import tables
from ladder.workloads.gemm.paper import numbers as gemm_numbers
from ladder.workloads.gemm.paper import tables as gemm_tables
from ladder.workloads.mlp.paper import numbers as mlp_numbers
from ladder.workloads.stream.paper import numbers as stream_numbers
from ladder.workloads.stream.paper import tables as stream_tables


def numbers_of(found):
    return numbers.numbers(found, configuration.protocol({}), 1.25)


@pytest.fixture(scope="module")
def measured():
    """A study of a GPU with times made up."""
    return made_up.study(chosen=list(made_up.gpu_cases()))


@pytest.fixture(scope="module")
def values(measured):
    return numbers_of(measured)


def test_the_rungs_are_compared_by_their_times(values):
    assert values["gemm/gpu/float64/cuda_shared/against/cuda_naive"].startswith("is \\num{1.50} times as fast")
    assert values["gemm/gpu/float64/cuda_columns/against/cuda_shared"].startswith("is \\num{2.00} times as fast")
    assert values["gemm/gpu/float64/cuda_mma/against/cublas"].startswith("takes \\num{1.10} times as long")
    assert values["mlp/gpu/float64/product"] == code("cublas")
    assert values["mlp/gpu/float64/against/eager"].startswith("is \\num{22")
    assert values["gemm/findings/shared/verdict"] == "holds in part"
    assert values["mlp/gpu/float64/share"].startswith("\\qty{99.5}")


def test_a_lower_precision_does_not_compete(measured):
    """In float32 the tensor cores work in TF32."""
    rows = gemm_tables.tables(measured)["gpu"]
    assert rows.count(code("tf32")) == 1
    only = [one for one in made_up.gpu_cases() if one[1].tuning.get("product") in ("cuda_mma", "cuda_naive")]
    values = mlp_numbers.numbers(made_up.study(chosen=[*only, next(made_up.gpu_cases()), *square()]))
    assert values["mlp/gpu/float64/product"] == code("cuda_mma")
    assert values["mlp/gpu/float32/product"] == code("cuda_naive")


def test_mixed_precision_is_told_with_what_it_gains_and_loses(measured, values):
    """The error is a tenth of each bound: of float16's some 8 times float32's, of a split operand's hardly more."""
    assert values["gemm/gpu/mixed/tf32/gain"].startswith(r"\num{6.0}")
    assert values["gemm/gpu/mixed/tf32x3/gain"].startswith(r"\num{2.0}")
    best = measured.samples("ceiling_gpu_half")
    assert values["gemm/gpu/mixed/float16/ceiling"] == rate((best["flops"] / best["seconds"]).max(), "flops")
    single = 6 * 4097**0.5 * (2.0**-24 + 2.0**-53)
    assert values["gemm/gpu/mixed/float16/error"] == number(0.1 * (single + 2.0**-10) / single)
    assert values["gemm/gpu/mixed/tf32x3/error"] == number(0.1 * (single + 3 * 2.0**-22) / single)
    lines = gemm_tables.tables(measured)["gpu_mixed"].splitlines()
    assert [line.partition(" & ")[0] for line in lines if "texttt" in line] == [
        code(name) for name in ("float32", "tf32", "float16", "bfloat16", "tf32x3")
    ]


def square():
    return [one for one in made_up.gpu_cases() if one[0] == "gemm_gpu_float64"]


def test_multiply_adds_are_the_ceiling_of_what_uses_no_tensor_cores(measured, values):
    rows = measured.samples("ceiling_gpu_fma", dtype="float64")
    best = (rows["flops"] / rows["seconds"]).max()
    assert values["fma/gpu/float64"] == rate(best, "flops")
    tiled = measured.samples("gemm_gpu_float64", variant="cuda_tiled", form="nn")
    share = tiled["flops"].iloc[0] / tiled["seconds"].median() / best
    assert values["gemm/gpu/float64/cuda_tiled/share-of-fma"] == percent(share)
    without = [one for one in made_up.gpu_cases() if one[0] != "ceiling_gpu_fma"]
    assert gemm_numbers.numbers(made_up.study(chosen=without))["gemm/gpu/float64/cuda_tiled/share-of-fma"] is None


def test_the_link_is_known_from_the_bytes_of_streams_arrays(measured, values):
    """Triad sends two arrays and brings back one; read brings back partial sums alone."""
    moved = {"to device": {"read": 1, "copy": 1, "triad": 2}, "to host": {"copy": 1, "triad": 1}}
    for name, phase in stream_numbers.LINK.items():
        found = measured.samples("ceiling_gpu_bandwidth", phase=phase).groupby("kernel")["seconds"].min()
        best = max(arrays * 8 * 2**22 / found[kernel] for kernel, arrays in moved[phase].items())
        assert values[f"stream/gpu/{name}"] == rate(best, "bandwidth")
    table = stream_tables.of_cards(made_up.both(measured, made_up.study("another (published)")))
    (row,) = [line for line in table.splitlines() if line.count("&") == 11 and "texttt{a-" in line]
    assert "--" not in row


def test_cases_on_a_throttled_card_are_counted_each_once(values):
    everything = list(made_up.gpu_cases())
    assert values["gemm/gpu/throttled/of"] == f"\\num{{{len({case.key for _, case, _ in everything})}}}"
    slow = {case.key for _, case, _ in everything if case.variant == "cublas"}
    assert values["gemm/gpu/throttled/cases"] == f"\\num{{{len(slow)}}}"
    for parts in (silent := made_up.study(chosen=everything)).tables.values():
        parts["samples"] = parts["samples"].drop(columns="throttled")
    assert gemm_numbers.numbers(silent)["gemm/gpu/throttled/cases"] is None


def test_the_training_on_the_card_is_compared_with_that_on_the_best_threads(values):
    assert "want of a measurement" in values["mlp/beside/against/blas"]
    whole = mlp_numbers.numbers(made_up.study(chosen=[*made_up.cases(), *made_up.gpu_cases()]))
    assert whole["mlp/beside/product"] == code("cublas")
    sentence = r"is \num{226} times as fast as \texttt{blas} on \num{12} threads"
    assert whole["mlp/beside/against/blas"].startswith(sentence)
    assert whole["mlp/beside/transfers"].startswith(r"\qty{9")


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
    values = mlp_numbers.numbers(made_up.study(chosen=[*square(), *host, *card]))
    assert values["mlp/findings/transfers/verdict"] == verdict
    assert r"\texttt{blas} on \num{12} threads" in values["mlp/findings/transfers/evidence"]
    for part in (host, card):
        values = mlp_numbers.numbers(made_up.study(chosen=[*square(), *part]))
        assert values["mlp/findings/transfers/verdict"] == "not tested"
        assert values["mlp/findings/transfers/evidence"] == "a measurement is missing"


def test_without_a_gpu_every_number_says_so():
    nothing = Study({}, None)
    for key, value in numbers_of(nothing).items():
        if "/gpu/" in key or "/beside/" in key:
            assert isinstance(value, Missing) or "want of a measurement" in value, key
    for name, text in tables(nothing).items():
        assert "no measurement" in text or text.count("not tested") > 3, name


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
    assert r"30--32 & 1024--1026 & 88--100\,\% & 0--16 & 1" in kernels_table.kernels([path])
    for kernel in kernels.values():
        kernel |= {"dynamic": None, "occupancy": None}
    path.write_text(json.dumps(report | {"kernels": kernels, "warnings": []}))
    assert "30--32 & 1024 & -- & 0--16 & 0" in kernels_table.kernels([path])
