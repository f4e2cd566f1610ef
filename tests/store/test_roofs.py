"""Ceilings are the rates of the best cases, for each precision separately: no share of a ceiling exceeds MAX_SHARE."""

import json

import pandas as pd
import pytest

import made_up
from conftest import ROOT
from ladder.__main__ import main
from ladder.records import documents
from ladder.store import TABLES, ceilings, rates, roofs
from ladder.store.collect import write_table
from ladder.store.study import Study

PUBLISHED = sorted(ROOT.glob("results/published/*/samples.csv.gz"))
COLUMNS = {*roofs.COLUMNS, "machine", "phase"}
MAX_SHARE = 1.02  # a ceiling is a quantile over processes, which a median may slightly exceed


def call(
    workload, seconds, device="host", precision="float64", threads=1, kernel=None, cache="cold", **further_columns
):
    """A timed call of 1000 FLOPs and 1000 bytes; calls of other durations are of other cases."""
    sizes = f"kernel={kernel}" if kernel else f"dtype={further_columns.pop('dtype', precision)}"
    math = "tf32" if precision == "tf32" else "default"
    tuning = f"threads={threads}" if device == "host" else f"math={math}"
    variant = "cublas" if device == "cuda" else "blas"
    row = {"machine": "here", "experiment": "any", "phase": "total", "workload": workload, "variant": variant}
    row |= {"case": f"{sizes},n={seconds!r},cache={cache},{tuning}", "device": device, "precision": precision}
    row |= {"threads": threads if device == "host" else None, "kernel": kernel, "cache": cache, "flops": 1000}
    return row | {"bytes": 1000, "seconds": seconds} | further_columns


def study_of_calls(*calls):
    """A study of two experiments; the second one has only the last call."""
    samples = pd.DataFrame(calls)
    return Study({"one": {"samples": samples.iloc[:-1]}, "other": {"samples": samples.iloc[-1:]}}, "here")


def test_arithmetic_is_the_best_of_all_products_of_a_precision_on_a_number_of_threads():
    study = study_of_calls(
        call("gemm", 2.0),
        call("gemm", 0.5, threads=2),
        call("gemm", 0.25, precision="float32"),
        call("gemm", 0.0625, phase="compute"),
        call("gemv", 0.125),
        call("gemm", 1.0, cache="warm"),  # of another experiment
    )
    assert roofs.arithmetic(study, "float64", 1) == 1000.0
    assert roofs.arithmetic(study, "float64", 2) == roofs.arithmetic(study, "float64") == 2000.0
    assert roofs.arithmetic(study, "float32", 1) == 4000.0
    assert roofs.arithmetic(study, "float64", 4) is None
    assert roofs.gpu_arithmetic(study, "float64") is None


def test_a_gpu_has_a_ceiling_for_each_precision_and_multiply_adds_beside_it():
    study = study_of_calls(
        call("gemm", 1.0, "cuda", "float32"),
        call("gemm", 0.125, "cuda", "tf32", dtype="float32"),
        call("fma", 0.5, "cuda", "float32"),
    )
    assert roofs.gpu_arithmetic(study, "float32") == 1000.0
    assert roofs.gpu_arithmetic(study, "tf32") == 8000.0
    assert roofs.gpu_arithmetic(study, "float64") is None


def test_streams_set_the_bandwidth_and_products_with_a_vector_may_raise_it():
    study = study_of_calls(
        call("stream", 1.0, kernel="read"),
        call("stream", 0.5, kernel="copy"),
        call("stream", 0.125, kernel="read", cache="warm"),
        call("gemv", 0.25),
        call("gemv", 0.0625, threads=2),
    )
    assert roofs.bandwidth(study, 1) == roofs.bandwidth(study) == 4000.0
    assert roofs.bandwidth(study, 1, kernel="read") == 1000.0
    assert roofs.bandwidth(study, 2) is None  # no stream on two threads


def test_an_outlier_sets_no_ceiling():
    """Two of 82 samples once read memory at 183 GB/s, the next at 161, their median at 146."""
    case = call("stream", 1.0, kernel="read") | {"experiment": "any"}
    calls = [case | {"process": process, "seconds": 1.0 + 1e-3 * process} for process in range(10) for _ in range(9)]
    calls[4]["seconds"] = calls[40]["seconds"] = 0.8  # two samples, of the first and of the fifth process
    calls += [case | {"process": 10, "seconds": 0.8} for _ in range(9)]  # nor does a process among eleven
    assert roofs.bandwidth(study_of_calls(*calls)) == pytest.approx(1000.0, rel=0.01)


def test_figures_draw_the_ceilings_of_the_tables():
    study = study_of_calls(call("gemm", 1.0), call("gemm", 0.5, cache="warm"), call("stream", 0.25, kernel="triad"))
    assert rates.products(study, "float64", 1) == roofs.arithmetic(study, "float64", 1) == 2000.0
    assert rates.bandwidths(study) == {1: roofs.bandwidth(study, 1)} == {1: 4000.0}


def two_machines():
    """A study of two machines; the second one is published, three times faster, and first in the tables."""
    calls = [call("gemm", 1.0), call("gemm", 0.25, threads=2), call("stream", 0.5, kernel="read")]
    calls.append(call("gemm", 0.125, "cuda"))
    other_calls = [row | {"machine": "there (published)", "seconds": row["seconds"] / 3} for row in calls]
    return Study({"one": {"samples": pd.DataFrame([*other_calls, *calls])}}, "here")


def roofs_of(study):
    """A study's ceilings: arithmetic on one, two and any number of threads, bandwidth, and arithmetic on a GPU."""
    on_threads = (roofs.arithmetic(study, "float64", threads) for threads in (1, 2, None))
    return [*on_threads, roofs.bandwidth(study), roofs.gpu_arithmetic(study, "float64")]


def test_of_two_machines_each_has_its_own_ceilings():
    """Whether they come from the tables or from a file, and in any order."""
    both_machines = two_machines()
    slow, fast = [1000, 4000, 4000, 2000, 8000], [3000, 12000, 12000, 6000, 24000]
    names = "here", "there (published)"
    assert [roofs_of(both_machines.for_machine(name)) for name in names] == [pytest.approx(slow), pytest.approx(fast)]
    by_name = {name: both_machines.for_machine(name).ceilings for name in names[::-1]}
    from_file = Study({}, None, roofs=by_name)
    assert [roofs_of(from_file.for_machine(name)) for name in names] == [pytest.approx(slow), pytest.approx(fast)]
    assert roofs_of(from_file.for_machine("nowhere")) == [None] * 5


def test_the_verb_writes_the_ceilings_of_every_machine_under_its_own_name(tmp_path):
    """The ceilings of a published machine use all its cases, not only those in tables of ceiling experiments."""
    samples = two_machines().tables["one"]["samples"].assign(process=0, sample=0)
    with_gpus = samples[samples["machine"] == "here"].assign(
        machine="with-gpus", seconds=lambda rows: rows["seconds"] / 9
    )
    samples = pd.concat([samples, with_gpus])
    for table in TABLES:
        write_table(tmp_path / "one", table, samples if table == "samples" else pd.DataFrame())
    faster_samples = samples[samples["machine"] == "there (published)"].assign(machine="there")
    faster_samples = faster_samples.assign(seconds=faster_samples["seconds"] / 2)
    (tmp_path / "there").mkdir()
    faster_samples.to_csv(tmp_path / "there/samples.csv.gz", index=False)
    (tmp_path / "there/machine.json").write_text(json.dumps({"machine": "there", "description": made_up.description()}))
    main(
        ["roofs", str(tmp_path / "one"), "--published", str(tmp_path / "there"), "--out", str(tmp_path / "roofs.json")]
    )
    document = documents.read(tmp_path / "roofs.json", "roofs")
    best_rates = {
        name: {(row["workload"], row["device"]): row["best"] for row in machine_ceilings["rows"]}
        for name, machine_ceilings in document.items()
    }
    expected = {("gemm", "host"): 4000, ("stream", "host"): 2000, ("gemm", "cuda"): 8000}
    assert best_rates == {
        "here": pytest.approx(expected),
        "with-gpus": pytest.approx({key: 9 * rate for key, rate in expected.items()}),
        "there (published)": pytest.approx({key: 6 * rate for key, rate in expected.items()}),
    }
    assert {row["unit"] for row in document["here"]["rows"] if row["workload"] == "stream"} == {"B/s"}


@pytest.fixture(scope="module", params=PUBLISHED, ids=lambda path: path.parent.name)
def published_study(request):
    """The study of a published machine, with only the columns and rows that shares of ceilings need."""
    samples = pd.read_csv(request.param, usecols=lambda name: name in COLUMNS, low_memory=False)
    samples = samples[samples["phase"] == "total"]
    samples = roofs.samples_with_ceilings(samples)
    if samples.empty:
        pytest.skip("no work with a ceiling was measured there")
    return Study({"all": {"samples": samples}}, samples["machine"].iloc[0])


def medians(study, workload, device):
    """A row per case of a workload on a device, with its median seconds."""
    rows = study.samples("all", workload=workload, device=device)
    assert len(rows)
    names = ["variant", "case"]
    return rows.assign(seconds=rows.groupby(names)["seconds"].transform("median")).drop_duplicates(names)


def test_some_published_machine_has_work_with_a_ceiling():
    workloads = [set(pd.read_csv(path, usecols=["workload"])["workload"]) for path in PUBLISHED]
    assert sum(any(map(ceilings.stated_ceiling, names)) for names in workloads) > 1


@pytest.mark.parametrize("workload", ["gemm", "gemv"])
@pytest.mark.parametrize("device", ["host", "cuda"])
def test_no_published_share_of_a_ceiling_exceeds_the_maximum(published_study, workload, device):
    if not len(published_study.samples("all", workload=workload, device=device)):
        pytest.skip("nothing of it was measured there")
    shares = []
    for case in medians(published_study, workload, device).itertuples():
        threads = int(case.threads) if device == "host" else None
        if workload == "gemm":
            precision = case.precision
            ceiling = (
                roofs.arithmetic(published_study, precision, threads)
                if threads
                else roofs.gpu_arithmetic(published_study, precision)
            )
            assert ceiling, "a product sets a ceiling itself"
        else:
            ceiling = roofs.bandwidth(published_study, threads) if threads else roofs.gpu_bandwidth(published_study)
        if ceiling:
            shares.append(getattr(case, ceilings.work_column(workload)) / case.seconds / ceiling)
    min_share = 0.3  # of the best case; less would mean a wrong ceiling
    assert min_share < max(shares, default=1.0) <= MAX_SHARE
