"""The judgement of `make test-gpu` by made-up outputs of its tools and, where there is a GPU, by faults to be found."""

import json
import os
import subprocess
import sys

import pytest

import on_gpu
import sanitized
from conftest import TESTS
from ladder.build import report
from ladder.records import files

MEMCHECK = "========= COMPUTE-SANITIZER\ngemm/cublas/x\n"
RACECHECK = "========= RACECHECK SUMMARY: {} hazards displayed ({} errors, 0 warnings)\n"
FAULTS = [("memcheck", "planted_overrun"), ("racecheck", "planted_race")]


def whole(errors=0):
    """A watched run that came to its end."""
    return on_gpu.told(f'{MEMCHECK}{{"cases": 3}}\n========= ERROR SUMMARY: {errors} errors\n', int(errors > 0))


def summary(**changes):
    """A summary of runs that found nothing, but for the changes."""
    found = {
        "source": {"commit": "abc", "dirty": False},
        "card": "A card",
        "driver": "580.1",
        "cuda": "13.0",
        "tests": {"passed": 5, "failed": 0, "skipped": 1, "status": 0},
        "sanitizers": {"memcheck": whole(), "racecheck": whole()},
    }
    return found | changes


@pytest.mark.parametrize(
    ("last", "errors"),
    [
        ("========= ERROR SUMMARY: 0 errors\n", 0),
        ("========= ERROR SUMMARY: 1 error\n", 1),
        ("========= ERROR SUMMARY: 2112 errors\n", 2112),
        (RACECHECK.format(0, 0), 0),
        (RACECHECK.format(14, 14), 14),
        ("========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n", 1),
        ("========= Error: Device not supported. Please refer to the documentation\n", None),
        ("", None),
    ],
)
def test_what_a_tool_found(last, errors):
    found = on_gpu.told(f'{MEMCHECK}{{"cases": 3}}\n{last}', 0)
    assert (found["cases"], found["errors"]) == (3, errors)
    assert on_gpu.is_whole(found) == (errors is not None)
    assert on_gpu.is_clean(summary(sanitizers={"memcheck": found, "racecheck": whole()})) == (errors == 0)


def test_a_run_that_ended_early_is_not_whole():
    found = on_gpu.told(f"{MEMCHECK}Traceback\n========= ERROR SUMMARY: 0 errors\n", 1)
    assert not on_gpu.is_whole(found)
    told = summary(sanitizers={"memcheck": found, "racecheck": whole(2)})
    assert not on_gpu.is_clean(told)
    assert "memcheck: not done: the run ended early with status 1 (0 errors)" in on_gpu.lines(told)
    assert "racecheck: 2 errors in 3 cases" in on_gpu.lines(told)


def test_without_the_sanitizer_it_is_not_done():
    told = summary(sanitizers={})
    assert not on_gpu.is_clean(told)
    assert sum("not done, because compute-sanitizer is not on the PATH" in line for line in on_gpu.lines(told)) == 2


def test_a_clean_summary():
    assert on_gpu.is_clean(summary())
    assert list(on_gpu.lines(summary())) == [
        "tests on a GPU: 5 passed, 0 failed, 1 skipped",
        "memcheck: 0 errors in 3 cases",
        "racecheck: 0 errors in 3 cases",
        "A card, driver 580.1, CUDA 13.0; abc",
    ]
    failed = {"passed": 5, "failed": 1, "skipped": 0, "status": 1}
    assert not on_gpu.is_clean(summary(tests=failed))


def test_pytests_report_is_counted(tmp_path):
    tests = "import pytest\ndef test_a(): pass\ndef test_b(): pass\ndef test_c(): assert 0\n"
    tests += "@pytest.fixture\ndef x(): 1 / 0\ndef test_d(x): pass\n@pytest.mark.skip\ndef test_e(): pass\n"
    (tmp_path / "test_it.py").write_text(tests)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--junitxml", report, tmp_path]
    assert subprocess.run(command, capture_output=True).returncode == 1
    assert on_gpu.counted(report) == {"passed": 2, "failed": 2, "skipped": 1}
    assert on_gpu.counted(tmp_path / "none.xml") == {"passed": 0, "failed": 0, "skipped": 0}


# On a card, by libraries alone.
PEERS = {"descent/cupy_loop", "descent/cupy_cg", "descent/cusolver"}


def test_every_kernel_of_ours_is_watched_and_every_variant():
    watched, own = list(sanitized.cases()), list(sanitized.cases(own=True))
    libraries = {one.key.rsplit("/", 1)[0] for one in watched} - {one.key.rsplit("/", 1)[0] for one in own}
    assert libraries == {"gemm/cublas", "gemv/cublas", "descent_kernel/cublas", *PEERS}
    keys = [one.key for one in watched]
    assert len(keys) == len(set(keys))
    for variant in ("cuda_tiled", "cuda_mma"):
        for dtype in sanitized.DTYPES:
            mine = [one for one in watched if one.variant == variant and one.sizes["dtype"] == dtype]
            assert {one.sizes["form"] for one in mine} == {"nn", "tn", "nt"}
            assert len({one.tuning["splitk"] for one in mine}) > 1


def test_without_a_gpu_it_says_what_it_waits_for(tmp_path):
    command = [sys.executable, TESTS / "on_gpu.py", "--out", tmp_path / "summary.json"]
    hidden = os.environ | {"PATH": "", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=hidden, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("test-gpu waits for an NVIDIA GPU. ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "summary.json").exists()


@pytest.fixture
def planted(monkeypatch):
    """Variants with faults can be found."""
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))


@pytest.mark.parametrize("variant", [variant for _, variant in FAULTS])
def test_kernels_with_planted_faults_compile(planted, monkeypatch, tmp_path, variant):
    monkeypatch.chdir(tmp_path)
    path = report.write("sm_90", "gemm", variant, "dtype=float32")
    assert list(files.read_json(path)["kernels"]) == ["gemm_nn"]


@pytest.fixture
def watched(planted):
    """A function that has a tool watch a small product by a variant."""
    if not on_gpu.sanitizer():
        pytest.skip("waits for compute-sanitizer")

    def watch(tool, variant):
        return on_gpu.watched(tool, sanitized.case("gemm", variant, {}, m=17, n=65, k=33, dtype="float32").key)

    return watch


@pytest.mark.gpu
@pytest.mark.parametrize(("tool", "variant"), FAULTS)
def test_a_planted_fault_is_found(watched, tool, variant):
    found = watched(tool, variant)
    assert found["errors"], found["output"]
    assert found["status"]


@pytest.mark.gpu
@pytest.mark.parametrize("tool", on_gpu.TOOLS)
def test_a_kernel_without_a_fault_is_found_clean(watched, tool):
    found = watched(tool, "cuda_shared")
    assert (found.get("cases"), found["errors"], found["status"]) == (1, 0, 0), json.dumps(found)
