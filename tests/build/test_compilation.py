"""Numba compiles ahead, once for each kind of problem, so that no measurement has to."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import PROTOCOL
from ladder.build import compilation
from ladder.catalogue import sources, workloads
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
def place(monkeypatch, tmp_path):
    """A working folder with variants, a lock and compiled code of its own."""
    (tmp_path / "variants/gemm").mkdir(parents=True)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "variants"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    sources.forget()


def product(variant="openmp", threads=1, **sizes):
    sizes = workloads.complete("gemm", {"m": 17, "n": 5, "k": 9} | sizes)
    return Case("gemm", variant, sizes, {"threads": threads}, "warm")


def training(product, threads=2, **sizes):
    tuning = {"product": product, "threads": threads}
    return Case("mlp", "host", workloads.complete("mlp", TRAINING | sizes), tuning, "warm")


def triad():
    sizes = workloads.complete("stream", {"kernel": "triad", "elements": 65})
    return Case("stream", "openmp", sizes, {"threads": 2}, "warm")


def command(case):
    line = [sys.executable, "-m", "ladder", "precompile", case.workload, case.variant, case.slug]
    return [*line, "--out", f"{case.sizes['dtype']}.json"]


def compiled(case):
    """How many functions are compiled by a worker that measures a case."""
    given = {}
    if case.workload == "mlp":
        write_digits("digits")
        np.savez("reference.npz", **reference.compute(case.sizes, dataset.load("digits")))
        given = {"data": {"digits": "digits"}, "reference": "reference.npz"}
    worker = Worker(case, configuration.protocol(PROTOCOL), **given)
    try:
        worker.wait_ready()
        return worker.go()["compiled"]
    finally:
        worker.stop()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(product("openmp", 2, form="nt", dtype="float32"), marks=pytest.mark.slow),
        pytest.param(product("interchanged", 2, form="nn"), marks=pytest.mark.slow),
        triad(),
        pytest.param(product("tiled", 2, form="tn"), marks=pytest.mark.slow),
        pytest.param(training("blas", activation="relu", dtype="float32"), marks=pytest.mark.slow),
        pytest.param(training("tiled", activation="sigmoid"), marks=pytest.mark.slow),
    ],
    ids=lambda case: case.key,
)
def test_after_compiling_ahead_a_measurement_compiles_nothing(case):
    assert precompile(case, configuration.protocol({}))["compiled"] > 0
    assert compiled(case) == 0


@pytest.mark.slow
def test_without_it_a_measurement_compiles_and_says_so():
    assert compiled(product()) > 0
    assert compiled(product(m=1, threads=2)) == 0
    assert compiled(product(form="tn")) > 0
    assert compiled(product("blas")) == 0


def test_one_job_serves_all_sizes_and_threads_of_a_kind():
    same = [product(), product(m=1), product(threads=2), product(seed=3)]
    assert len({compilation.note_path(case) for case in same}) == 1
    others = [product(form="tn"), product(dtype="float32"), product("tiled"), product("interchanged"), triad()]
    others += [training("blas"), training("tiled"), training("blas", activation="relu")]
    assert len({compilation.note_path(case) for case in [product(), *others]}) == len(others) + 1
    assert compilation.note_path(training("blas", batch=7, threads=1)) == compilation.note_path(training("blas"))


def test_needed_where_the_variant_or_what_it_imports_or_uses_works_with_numba():
    needed = {name for name in workloads.variants("gemm") if compilation.is_needed(product(name))}
    assert needed == {"openmp", "interchanged", "tiled"}
    assert compilation.is_needed(triad())
    assert all(compilation.is_needed(training(name)) for name in ("blas", "tiled", "c_openmp"))
    for name in ("numpy_loop", "pytorch", "pytorch_cuda"):
        assert not compilation.is_needed(Case("mlp", name, workloads.complete("mlp", TRAINING), {}))


@pytest.mark.slow
def test_code_whose_text_has_changed_is_compiled_again_and_no_other():
    mine = Path("variants/gemm/mine.py")
    shutil.copy(workloads.HOME / "gemm/openmp.py", mine)
    case = product("mine")
    first, written = precompile(case, configuration.protocol({})), compilation.note_path(case).stat().st_mtime_ns
    assert precompile(product("mine", m=3), configuration.protocol({})) == first
    assert compilation.note_path(case).stat().st_mtime_ns == written
    mine.write_text(
        f"# Numba's cache goes by the text, comments included.\n{mine.read_text(encoding='utf-8')}", encoding="utf-8"
    )
    again = precompile(case, configuration.protocol({}))
    assert again["compiled"] == first["compiled"]
    assert again["state"] != first["state"]
    assert compiled(case) == 0


def test_what_is_noted_serves_until_that_changes_for_which_it_was_compiled(monkeypatch):
    started, numba = [], ["2.0"]

    class Compiling:
        def __init__(self, case, protocol, prelude):
            started.append(case)

        def wait_ready(self):
            pass

        def compile(self):
            return {"compiled": len(started)}

        def stop(self):
            pass

    monkeypatch.setattr(precompiling, "Worker", Compiling)
    monkeypatch.setattr("importlib.metadata.version", lambda name: numba[0])
    found = []
    for numba[0] in ("2.0", "2.0", "3.0", "1.0"):
        found.append(precompile(product(m=99), configuration.protocol({})))
    assert [note["compiled"] for note in found] == [1, 1, 2, 3]
    assert [note["state"]["numba"] for note in found] == ["2.0", "2.0", "3.0", "1.0"]
    assert {(case.sizes["m"], case.threads) for case in started} == {(compilation.SMALL, 1)}


def test_what_another_numba_has_compiled_is_compiled_again(monkeypatch):
    before = compilation.state(product())
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.1")
    assert compilation.state(product()) != before


@pytest.mark.slow
def test_kinds_that_are_compiled_side_by_side_are_all_kept():
    """Both write to the index of one function."""
    cases = [product(dtype=dtype) for dtype in ("float64", "float32")]
    runs = [subprocess.Popen(command(case)) for case in cases]
    assert [run.wait(120) for run in runs] == [0, 0]
    for case in cases:
        written = files.read_json(f"{case.sizes['dtype']}.json")
        assert written.pop("digest") == digest(written)
        assert written == files.read_json(compilation.note_path(case))
    assert [compiled(case) for case in cases] == [0, 0]


@pytest.mark.slow
def test_a_variant_that_fails_when_it_is_small_may_still_be_measured():
    text = (workloads.HOME / "gemm/openmp.py").read_text()
    refusal = '    assert problem.sizes["m"] > 9, "too small"\n    multiply'
    Path("variants/gemm/large.py").write_text(text.replace("    multiply", refusal), encoding="utf-8")
    assert "AssertionError: too small" in precompile(product("large"), configuration.protocol({}))["failed"]
    assert compiled(product("large")) > 0
    with pytest.raises(LadderError, match="AssertionError: too small"):
        compiled(product("large", m=9))


def test_what_has_nothing_to_compile_is_a_sentence():
    done = subprocess.run(command(product("blas")), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "ladder precompile: gemm/blas has no function that Numba compiles.\n")
