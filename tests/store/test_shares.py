"""Rates of single cases, and their shares of the ceilings that this machine has measured."""

from types import SimpleNamespace

import pytest

from ladder.harness.case_arguments import cases_of
from ladder.machine import description
from ladder.store import ceiling_rates, shares
from ladder.verbs.arguments import write_json

COST = SimpleNamespace(flops=2e9, bytes=1e9, precision="float64")
GEMM_SLUG = "form=nn,m=64,n=64,k=64,dtype={},source=random,seed=1,cache=warm,threads={}"
STREAM_SLUG = "kernel=read,elements=64,dtype=float64,seed=1,cache=cold,threads=2"
# (workload, variant, slug, device, best rate in FLOP/s or B/s).
ROWS = [
    ("gemm", "blas", GEMM_SLUG.format("float64", 1), "host", 10e9),
    ("gemm", "blas", GEMM_SLUG.format("float64", 2), "host", 19e9),
    ("gemm", "blas", GEMM_SLUG.format("float32", 1), "host", 20e9),
    ("stream", "openmp", STREAM_SLUG, "host", 8e9),
    ("gemm", "cublas", GEMM_SLUG.format("float64", 1).removesuffix(",threads=1"), "cuda", 50e9),
]
CEILINGS = {"rows": [dict(zip(("workload", "variant", "case", "device", "best"), row, strict=True)) for row in ROWS]}


def rate(*words):
    """The rate of a case, given as words of a command line, that took one second: (value, unit, share)."""
    return shares.rate(CEILINGS, cases_of(words)[0], COST, 1.0)


@pytest.mark.parametrize(
    ("words", "unit", "share"),
    [
        (["gemm/blas", "m=9", "n=9", "k=9"], "FLOP/s", 0.2),
        (["gemm/blas", "m=9", "n=9", "k=9", "threads=2", "cache=warm"], "FLOP/s", 2 / 19),
        (["gemm/blas", "m=9", "n=9", "k=9", "threads=3"], "FLOP/s", None),  # no ceiling for three threads
        (["gemm/cuda_naive", "m=9", "n=9", "k=9"], "FLOP/s", 0.04),
        (["stream/openmp", "elements=9", "threads=2"], "B/s", 0.125),
        (["stream/openmp", "elements=9", "threads=2", "cache=warm"], "B/s", None),  # caches are faster than memory
        (["gemv/openmp", "n=9", "m=9", "threads=2"], "B/s", 0.125),
    ],
)
def test_a_rate_has_its_share_of_the_ceiling(words, unit, share):
    value, unit_of_rate, share_of_ceiling = rate(*words)
    assert (value, unit_of_rate) == (1e9 if unit == "B/s" else 2e9, unit)
    assert share_of_ceiling == (share and pytest.approx(share))


def test_the_ceilings_are_those_of_this_machine_s_study(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert shares.of_this_machine() == ceiling_rates.NO_CEILINGS
    summary = {"flops": {}, "bandwidth": 0.0, "cache_bytes": 1, "margin": 1.5}
    rows = [row | {"median": 1.0, "unit": "FLOP/s"} for row in CEILINGS["rows"]]
    write_json(f"{shares.FOLDER}/{description.label()}.json", summary | {"rows": rows})
    assert [row["best"] for row in shares.of_this_machine()["rows"]] == [row[-1] for row in ROWS]
