"""Numba's compilation ahead of measurements, once for each kind of problem, with a note on what it depends on."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import PROTOCOL
from ladder.build import compilation
from ladder.catalogue import locations, sources, workloads
from ladder.data import dataset
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import precompile as precompiling
from ladder.harness.precompile import precompile
from ladder.harness.workers import Worker
from ladder.planning import configuration
from ladder.records import files
from ladder.records.case import Case
from ladder.records.documents import digest
from ladder.workloads.mlp import reference

TRAINING = {"layers": "784-17-10", "images": 65, "batch": 30, "epochs": 1, "rate": 0.5, "source": "digits"}


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """A working directory with its own variants, lock and compiled code."""
    (tmp_path / "variants/gemm").mkdir(parents=True)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "variants"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    sources.clear_caches()


def product_case(variant="openmp", threads=1, **sizes):
    sizes = workloads.complete("gemm", {"m": 17, "n": 5, "k": 9} | sizes)
    return Case("gemm", variant, sizes, {"threads": threads}, "warm")


def training_case(product, threads=2, **sizes):
    tuning = {"product": product, "threads": threads}
    return Case("mlp", "host", workloads.complete("mlp", TRAINING | sizes), tuning, "warm")


def triad_case():
    sizes = workloads.complete("stream", {"kernel": "triad", "elements": 65})
    return Case("stream", "openmp", sizes, {"threads": 2}, "warm")


def precompile_command(case):
    words = [sys.executable, "-m", "ladder", "precompile", case.workload, case.variant, case.slug]
    return [*words, "--out", f"{case.sizes['dtype']}.json"]


def compiled_count(case):
    """The number of functions that Numba compiles in a worker that measures a case."""
    paths = {}
    if case.workload == "mlp":
        write_digits("digits")
        np.savez("reference.npz", **reference.compute(case.sizes, dataset.load("digits")))
        paths = {"data": {"digits": "digits"}, "reference": "reference.npz"}
    worker = Worker(case, configuration.protocol(PROTOCOL), **paths)
    try:
        worker.wait_ready()
        return worker.go()["compiled"]
    finally:
        worker.stop()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(product_case("openmp", 2, form="nt", dtype="float32"), marks=pytest.mark.slow),
        pytest.param(product_case("interchanged", 2, form="nn"), marks=pytest.mark.slow),
        triad_case(),
        pytest.param(product_case("tiled", 2, form="tn"), marks=pytest.mark.exhaustive),
        pytest.param(training_case("blas", activation="relu", dtype="float32"), marks=pytest.mark.slow),
        pytest.param(training_case("tiled", activation="sigmoid"), marks=pytest.mark.slow),
    ],
    ids=lambda case: case.key,
)
def test_after_compiling_ahead_a_measurement_compiles_nothing(case):
    assert precompile(case, configuration.protocol({}))["compiled"] > 0
    assert compiled_count(case) == 0


@pytest.mark.slow
def test_without_compiling_ahead_a_measurement_compiles_and_reports_it():
    assert compiled_count(product_case()) > 0
    assert compiled_count(product_case(m=1, threads=2)) == 0
    assert compiled_count(product_case(form="tn")) > 0
    assert compiled_count(product_case("blas")) == 0


def test_one_job_serves_all_sizes_and_threads_of_a_kind():
    cases = [product_case(), product_case(m=1), product_case(threads=2), product_case(seed=3)]
    assert len({compilation.note_path(case) for case in cases}) == 1
    other_kinds = [
        product_case(form="tn"),
        product_case(dtype="float32"),
        product_case("tiled"),
        product_case("interchanged"),
        triad_case(),
    ]
    other_kinds += [training_case("blas"), training_case("tiled"), training_case("blas", activation="relu")]
    assert len({compilation.note_path(case) for case in [product_case(), *other_kinds]}) == len(other_kinds) + 1
    assert compilation.note_path(training_case("blas", batch=7, threads=1)) == compilation.note_path(
        training_case("blas")
    )


def test_compiling_is_needed_if_the_variant_or_its_imports_use_numba():
    variants = {name for name in workloads.variants("gemm") if compilation.is_needed(product_case(name))}
    assert variants == {"openmp", "interchanged", "tiled"}
    assert compilation.is_needed(triad_case())
    assert all(compilation.is_needed(training_case(name)) for name in ("blas", "tiled", "c_openmp"))
    for name in ("numpy_loop", "pytorch", "pytorch_cuda"):
        assert not compilation.is_needed(Case("mlp", name, workloads.complete("mlp", TRAINING), {}))


@pytest.mark.slow
def test_code_whose_text_has_changed_is_compiled_again_and_no_other():
    source = Path("variants/gemm/copy.py")
    shutil.copy(locations.WORKLOADS / "gemm/openmp.py", source)
    case = product_case("copy")
    first, modified = precompile(case, configuration.protocol({})), compilation.note_path(case).stat().st_mtime_ns
    assert precompile(product_case("copy", m=3), configuration.protocol({})) == first
    assert compilation.note_path(case).stat().st_mtime_ns == modified
    source.write_text(
        f"# Numba's cache depends on the text, including comments.\n{source.read_text(encoding='utf-8')}",
        encoding="utf-8",
    )
    recompiled = precompile(case, configuration.protocol({}))
    assert recompiled["compiled"] == first["compiled"]
    assert recompiled["state"] != first["state"]
    assert compiled_count(case) == 0


def test_a_note_is_valid_until_numba_changes(monkeypatch):
    started = []  # the cases for which workers were started

    class FakeWorker:
        def __init__(self, case, protocol, prelude):
            started.append(case)

        def wait_ready(self):
            pass

        def compile(self):
            return {"compiled": len(started)}

        def stop(self):
            pass

    monkeypatch.setattr(precompiling, "Worker", FakeWorker)
    notes = []
    for numba_version in ("2.0", "2.0", "3.0", "1.0"):
        monkeypatch.setattr("importlib.metadata.version", lambda name, version=numba_version: version)
        notes.append(precompile(product_case(m=99), configuration.protocol({})))
    assert [note["compiled"] for note in notes] == [1, 1, 2, 3]
    assert [note["state"]["numba"] for note in notes] == ["2.0", "2.0", "3.0", "1.0"]
    assert {(case.sizes["m"], case.threads) for case in started} == {(compilation.SMALL_SIZE, 1)}


def test_a_workload_that_refuses_small_sizes_is_compiled_for_the_sizes_of_its_cases(monkeypatch):
    def refuse(sizes):
        return "The product needs m=3 or more." if sizes["m"] < 3 else None

    monkeypatch.setattr(workloads.load("gemm"), "refuse", refuse)
    small_case = compilation.representative_case(product_case(threads=4, m=99, form="tn"))
    assert (small_case.sizes, small_case.threads) == (product_case(m=99, form="tn").sizes, 1)
    assert compilation.note_path(product_case(m=99)) == compilation.note_path(product_case(m=99, threads=4))
    assert compilation.note_path(product_case(m=99)) != compilation.note_path(product_case(m=98))


def test_code_compiled_by_another_numba_is_compiled_again(monkeypatch):
    before = compilation.compiler_inputs(product_case())
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.1")
    assert compilation.compiler_inputs(product_case()) != before


@pytest.mark.slow
def test_kinds_that_are_compiled_at_the_same_time_are_all_kept():
    """Both processes write to the index of the same function."""
    cases = [product_case(dtype=dtype) for dtype in ("float64", "float32")]
    runs = [subprocess.Popen(precompile_command(case)) for case in cases]
    assert [run.wait(120) for run in runs] == [0, 0]
    for case in cases:
        contents = files.read_json(f"{case.sizes['dtype']}.json")
        assert contents.pop("digest") == digest(contents)
        assert contents == files.read_json(compilation.note_path(case))
    assert [compiled_count(case) for case in cases] == [0, 0]


@pytest.mark.slow
def test_a_variant_that_fails_at_small_sizes_can_still_be_measured():
    text = (locations.WORKLOADS / "gemm/openmp.py").read_text()
    refusal = '    assert problem.sizes["m"] > 9, "too small"\n    multiply'
    Path("variants/gemm/large.py").write_text(text.replace("    multiply", refusal), encoding="utf-8")
    assert "AssertionError: too small" in precompile(product_case("large"), configuration.protocol({}))["failed"]
    assert compiled_count(product_case("large")) > 0
    with pytest.raises(LadderError, match="AssertionError: too small"):
        compiled_count(product_case("large", m=9))


def test_precompiling_a_variant_without_numba_is_an_error():
    result = subprocess.run(precompile_command(product_case("blas")), capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (
        1,
        "ladder precompile: gemm/blas has no function that Numba compiles.\n",
    )
