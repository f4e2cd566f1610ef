"""A machine's ceilings from records: which cases set a ceiling, and which don't."""

import itertools

import pytest

import made_up
from ladder.catalogue import traits, workloads
from ladder.records import record
from ladder.records.case import Case
from ladder.store import ceilings

GEMM_SIZES = {"m": 10, "n": 10, "k": 10}  # 2000 FLOPs
FMA_SIZES = {"elements": 100, "length": 10}  # 2000 FLOPs
HOST_CACHE_BYTES, GPU_CACHE_BYTES = 11, 7
GPU = {"name": "a GPU", "uuid": "0", "architecture": "sm_90", "cache_bytes": GPU_CACHE_BYTES}


def write_record(path, workload, variant, dtype, tuning, seconds):
    """Write a record whose fastest sample took `seconds`; returns its path."""
    sizes = workloads.complete(workload, (GEMM_SIZES if workload == "gemm" else FMA_SIZES) | {"dtype": dtype})
    case = Case(workload, variant, sizes, tuning, "warm")
    process = dict.fromkeys(("setup", "first", "check", "total"), 1.0) | {"phases": [], "curve": []}
    process |= {"samples": [2 * seconds, seconds], "checks": [{"name": "a check", "error": 0.0, "bound": 1.0}]}
    process["threads"] = {"cpus": 1, "affinity": [0], "runtimes": {}, "gpu": GPU}
    contents = {
        "schema": record.SCHEMA_VERSION,
        "machine": "here",
        "workload": workload,
        "variant": variant,
        "case": case.slug,
    }
    contents |= {"device": workloads.constants(workload, variant)["DEVICE"], "processes": [process], "converged": True}
    contents["cost"] = vars(workloads.load(workload).cost(sizes)) | {"precision": traits.precision(case)}
    contents |= {"protocol": {}, "sources": "", "started": "", "wall": 1.0, "slurm": {}}
    contents |= {"description": made_up.description() | {"cache_bytes": HOST_CACHE_BYTES}}
    contents |= {"clocks": {"before": {}, "after": {}}, "source": {"commit": "", "dirty": False}}
    record.write(path, contents)
    return path


@pytest.fixture
def summarise(tmp_path):
    """A function of runs, (workload, variant, dtype, tuning, fastest seconds): the summary of their ceilings."""

    def summarise(*runs):
        paths = [write_record(tmp_path / f"{i}.json", *run) for i, run in enumerate(runs)]
        return ceilings.summarise(paths, margin=1.25)

    return summarise


def test_multiply_adds_may_raise_the_ceiling_of_products_but_never_lower_it(summarise):
    products = [("gemm", "cublas", dtype, {"math": "default"}, 1e-6) for dtype in ("float64", "float32")]
    slower = ("fma", "cuda", "float64", {"block": 128, "chains": 8}, 2e-6)
    faster = ("fma", "cuda", "float32", {"block": 128, "chains": 8}, 0.5e-6)
    for order in itertools.permutations([*products, slower, faster]):
        gpu = summarise(*order)["cuda"]
        assert gpu["flops"] == pytest.approx({"float64": 2e9, "float32": 4e9})
        assert gpu["bandwidth"] == 0.0


def test_multiply_adds_set_no_ceiling_without_products_of_their_device_and_precision(summarise):
    summary = summarise(("fma", "cuda", "float64", {}, 1e-6))
    assert summary["cuda"]["flops"] == summary["flops"] == {}
    assert [(row["workload"], row["best"]) for row in summary["rows"]] == [("fma", pytest.approx(2e9))]
    summary = summarise(
        ("gemm", "blas", "float64", {"threads": 2}, 1e-6),
        ("gemm", "cublas", "float32", {"math": "tf32"}, 1e-6),
        ("fma", "cuda", "float64", {}, 1e-7),
        ("fma", "cuda", "float32", {}, 1e-7),
    )
    assert summary["flops"] == pytest.approx({"float64": 1e9})
    assert summary["cuda"]["flops"] == pytest.approx({"tf32": 2e9})


def test_cache_sizes_come_from_the_machine_that_measured_and_not_from_this_one(summarise):
    summary = summarise(
        ("gemm", "blas", "float64", {"threads": 1}, 1.0), ("gemm", "cublas", "float64", {"math": "default"}, 1.0)
    )
    assert summary["cache_bytes"] == HOST_CACHE_BYTES
    assert summary["cuda"]["cache_bytes"] == GPU_CACHE_BYTES
