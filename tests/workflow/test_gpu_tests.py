"""Tests of `make test-gpu`: on made-up outputs of its tools and, with a GPU, on planted faults."""

import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import gpu_tests
import kernel_cases
from conftest import TESTS
from ladder.build import report
from ladder.harness.comparison import parse_key
from ladder.machine import cpus
from ladder.records import files

OUTPUT_HEAD = "========= COMPUTE-SANITIZER\ngemm/cublas/x\n"  # what a run prints first
RACECHECK_SUMMARY = "========= RACECHECK SUMMARY: {} hazards displayed ({} errors, 0 warnings)\n"
# A stand-in for compute-sanitizer and the process that it runs; a case's name says what goes wrong with its run.
FAKE_SANITIZER = r"""#!/bin/sh
until [ "${1##*/}" = kernel_cases.py ]; do shift; done; shift
printf '%s\n' "$@"
cases=$#; errors=0; status=0
for name do
    case $name in
        early) echo Traceback >&2; echo "========= ERROR SUMMARY: 0 errors"; exit 1 ;;
        killed) kill -KILL $$ ;;
        silent) echo "{\"cases\": $cases}"; exit 0 ;;
        faulty) errors=2; status=1 ;;
        skipped) cases=$((cases - 1)) ;;
        bad_status) status=3 ;;
    esac
done
echo "{\"cases\": $cases}"
echo "========= ERROR SUMMARY: $errors errors"
exit $status
"""
# The tool that finds the planted fault of a variant, and the variant.
PLANTED_FAULTS = [("memcheck", "planted_overrun"), ("racecheck", "planted_race")]


def complete_run(errors=0):
    """The result of a complete run of three cases with this number of errors."""
    return gpu_tests.parse_output(
        f'{OUTPUT_HEAD}{{"cases": 3}}\n========= ERROR SUMMARY: {errors} errors\n', int(errors > 0)
    )


def summary(**changes):
    """A summary of runs without errors, with changes."""
    clean_summary = {
        "source": {"commit": "abc", "dirty": False},
        "card": "A GPU",
        "driver": "580.1",
        "cuda": "13.0",
        "tests": {"passed": 5, "failed": 0, "skipped": 1, "status": 0},
        "sanitizers": {"memcheck": complete_run(), "racecheck": complete_run()},
    }
    return clean_summary | changes


@pytest.mark.parametrize(
    ("last_line", "errors"),
    [
        ("========= ERROR SUMMARY: 0 errors\n", 0),
        ("========= ERROR SUMMARY: 1 error\n", 1),
        ("========= ERROR SUMMARY: 2112 errors\n", 2112),
        (RACECHECK_SUMMARY.format(0, 0), 0),
        (RACECHECK_SUMMARY.format(14, 14), 14),
        ("========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n", 1),
        ("========= Error: Device not supported. Please refer to the documentation\n", None),
        ("", None),
    ],
)
def test_the_errors_that_a_tool_found_are_read_from_its_last_line(last_line, errors):
    result = gpu_tests.parse_output(f'{OUTPUT_HEAD}{{"cases": 3}}\n{last_line}', 0)
    assert (result["cases"], result["errors"]) == (3, errors)
    assert gpu_tests.is_complete(result) == (errors is not None)
    assert gpu_tests.is_clean(summary(sanitizers={"memcheck": result, "racecheck": complete_run()})) == (errors == 0)


def test_a_run_that_ended_early_is_not_complete():
    result = gpu_tests.parse_output(f"{OUTPUT_HEAD}Traceback\n========= ERROR SUMMARY: 0 errors\n", 1)
    assert not gpu_tests.is_complete(result)
    gpu_summary = summary(
        sanitizers={
            "memcheck": gpu_tests.merge([complete_run(), result], requested_count=6),
            "racecheck": complete_run(2),
        }
    )
    assert not gpu_tests.is_clean(gpu_summary)
    not_done = "memcheck: not done: some cases were not run, or not judged (3 cases ended, with status 1)"
    assert not_done in gpu_tests.sentences(gpu_summary)
    assert "racecheck: 2 errors in 3 cases" in gpu_tests.sentences(gpu_summary)


@pytest.mark.parametrize("tool", gpu_tests.TOOLS)
def test_every_case_is_run_once_under_a_tool(monkeypatch, tool):
    run_keys = []

    def run_cases(requested_tool, *keys, gpus):
        assert requested_tool == tool
        assert 1 <= len(keys) <= gpu_tests.CASES_PER_PROCESS
        run_keys.extend(keys)
        return {"cases": len(keys), "errors": 0, "status": 0, "output": "a case's"}

    monkeypatch.setattr(gpu_tests, "run_cases", run_cases)
    result = gpu_tests.run_all_cases(tool)
    assert sorted(run_keys) == sorted(case.key for case in kernel_cases.cases(only_project_sources=tool == "racecheck"))
    assert result == {"cases": len(run_keys), "errors": 0, "status": 0, "output": ""}


def test_a_key_names_its_case():
    for case in kernel_cases.cases():
        assert parse_key(case.key) == case


@pytest.fixture
def replace_cases(monkeypatch):
    """A function that replaces all cases by cases with these names."""

    def replace(*names):
        monkeypatch.setattr(
            kernel_cases, "cases", lambda only_project_sources=False: [SimpleNamespace(key=name) for name in names]
        )

    return replace


def test_no_more_processes_than_allowed_run_in_parallel(monkeypatch, replace_cases):
    barrier, running_keys, running_counts = threading.Barrier(2), [], []

    def run_cases(tool, *keys, gpus):
        running_keys.append(keys)
        running_counts.append(len(running_keys))
        barrier.wait(timeout=30)
        time.sleep(0.05)  # for others to begin
        running_keys.remove(keys)
        return {"cases": len(keys), "errors": 0, "status": 0, "output": ""}

    monkeypatch.setattr(gpu_tests, "SANITIZER_PROCESSES", 2)
    monkeypatch.setattr(gpu_tests, "run_cases", run_cases)
    replace_cases(*(f"case{number}" for number in range(4 * gpu_tests.CASES_PER_PROCESS)))
    assert gpu_tests.run_all_cases("memcheck")["cases"] == 4 * gpu_tests.CASES_PER_PROCESS
    assert max(running_counts) == 2


@pytest.fixture
def fake_sanitizer(monkeypatch, tmp_path, replace_cases):
    """A function that has `run_all_cases` run the stand-in on twenty cases, in runs of 8, 8 and 4.

    Its argument is {number of a case: what goes wrong}.
    """
    path = tmp_path / "compute-sanitizer"
    path.write_text(FAKE_SANITIZER)
    path.chmod(0o755)
    monkeypatch.setattr(gpu_tests, "sanitizer", lambda: path)
    monkeypatch.setattr(gpu_tests, "CASES_PER_PROCESS", 8)

    def prepare(faults):
        replace_cases(*(faults.get(number, f"case{number}") for number in range(20)))

    return prepare


@pytest.mark.parametrize(("tool", "options"), [("memcheck", "--padding 4096 "), ("racecheck", "")])
def test_a_run_has_the_options_of_its_tool(monkeypatch, tmp_path, tool, options):
    path = tmp_path / "compute-sanitizer"
    path.write_text('#!/bin/sh\necho "$@"\n')
    path.chmod(0o755)
    monkeypatch.setattr(gpu_tests, "sanitizer", lambda: path)
    program = f"{sys.executable} {TESTS / 'kernel_cases.py'}"
    expected = f"--tool {tool} --error-exitcode 1 {options}{program} one two\n"
    assert gpu_tests.run_cases(tool, "one", "two", gpus=[])["output"] == expected


@pytest.mark.parametrize(  # the number of a case, and those of all cases in its run
    ("faulty_number", "numbers_in_run"), [(0, range(8)), (11, range(8, 16)), (19, range(16, 20))]
)
@pytest.mark.parametrize(
    ("fault", "errors", "status"),
    [("early", None, 1), ("killed", None, -9), ("silent", None, 0), ("faulty", 2, 1), ("bad_status", 0, 3)],
)
def test_what_goes_wrong_in_one_of_several_runs_is_reported(
    fake_sanitizer, faulty_number, numbers_in_run, fault, errors, status
):
    fake_sanitizer({faulty_number: fault})
    result = gpu_tests.run_all_cases("memcheck")
    case_count = 20 - len(numbers_in_run) * (fault in ("early", "killed"))  # a run that ends early counts none
    assert (result["cases"], result["errors"], result["status"]) == (case_count, errors, status)
    assert gpu_tests.is_complete(result) == (errors is not None)
    assert not gpu_tests.is_clean(summary(sanitizers={"memcheck": result, "racecheck": complete_run()}))
    assert re.findall(r"^case(\d+)$", result["output"], re.MULTILINE) == [
        str(number) for number in numbers_in_run if number != faulty_number
    ]


def test_a_case_that_was_not_run_is_noticed(fake_sanitizer):
    fake_sanitizer({19: "skipped"})
    result = gpu_tests.run_all_cases("memcheck")
    assert (result["cases"], result["errors"], result["status"]) == (19, None, 0)
    assert not gpu_tests.is_complete(result)


@pytest.mark.parametrize("faults", [*itertools.permutations(["faulty", "killed", "early"])])
def test_the_worst_status_and_every_output_of_several_runs_are_reported(fake_sanitizer, faults):
    fake_sanitizer(dict(zip((0, 8, 16), faults, strict=True)))
    result = gpu_tests.run_all_cases("racecheck")
    assert (result["errors"], result["status"]) == (None, -9)
    assert all(f"{fault}\n" in result["output"] for fault in faults)


def test_errors_of_several_runs_are_summed(fake_sanitizer):
    fake_sanitizer({0: "faulty", 19: "faulty"})
    result = gpu_tests.run_all_cases("memcheck")
    assert (result["cases"], result["errors"], result["status"]) == (20, 4, 1)


def test_a_long_output_hides_no_other():
    outputs = ["Traceback\n", *["=" * 10_000 + "the end\n"] * 3]
    results = [gpu_tests.parse_output(output, 1) for output in outputs]
    output = gpu_tests.merge(results, requested_count=4)["output"]
    assert "Traceback" in output
    assert output.count("the end") == 3
    assert len(output) < 20_000


def test_tests_that_compare_times_run_alone(monkeypatch):
    options = {}

    def run_tests(marker, *arguments):
        options[marker] = arguments
        return {"passed": 2, "failed": 1, "skipped": 0, "status": -1 if arguments else 1}

    monkeypatch.setattr(gpu_tests, "run_tests", run_tests)
    assert gpu_tests.run_all_tests() == {"passed": 4, "failed": 2, "skipped": 0, "status": 2}
    assert options == {"gpu and not clock": ("--numprocesses", str(gpu_tests.TEST_PROCESSES)), "gpu and clock": ()}
    assert 1 <= gpu_tests.TEST_PROCESSES <= cpus.cores()


# The memory of a GPU, and the processes, of 8192 MiB each, that share it and 16 cores.
@pytest.mark.parametrize(("mebibytes", "processes"), [(143771, 16), (81559, 9), (24576, 3), (4096, 1)])
def test_processes_share_cores_and_the_memory_of_gpus(mebibytes, processes):
    gpu, other_gpu = {"memory": f"{mebibytes} MiB"}, {"memory": "24576 MiB"}
    assert gpu_tests.parallel_processes(16, [gpu]) == processes
    assert gpu_tests.parallel_processes(64, [gpu, other_gpu]) == max(1, 2 * min(3, mebibytes // gpu_tests.PROCESS_MIB))
    assert gpu_tests.parallel_processes(1, [gpu]) == 1
    assert gpu_tests.parallel_processes(16, []) == 16


@pytest.mark.parametrize("gpu_count", [0, 1, 3])
def test_runs_use_gpus_in_turn_and_see_all(monkeypatch, tmp_path, replace_cases, gpu_count):
    path = tmp_path / "compute-sanitizer"
    path.write_text('#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES" >> "$0.seen"\n')
    path.chmod(0o755)
    monkeypatch.setattr(gpu_tests, "sanitizer", lambda: path)
    monkeypatch.setattr(gpu_tests, "GPUS", [{"uuid": f"GPU-{number}"} for number in range(gpu_count)])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "as it was")
    replace_cases(*(f"case{number}" for number in range(4 * gpu_tests.CASES_PER_PROCESS)))
    gpu_tests.run_all_cases("memcheck")
    visible_gpus = Path(f"{path}.seen").read_text(encoding="utf-8").splitlines()
    rotations = ["GPU-0,GPU-1,GPU-2", "GPU-0,GPU-1,GPU-2", "GPU-1,GPU-2,GPU-0", "GPU-2,GPU-0,GPU-1"]
    assert sorted(visible_gpus) == {0: ["as it was"] * 4, 1: ["GPU-0"] * 4, 3: rotations}[gpu_count]


@pytest.mark.parametrize(("faults", "status"), [({}, 0), ({19: "early"}, 1)])
def test_the_summary_is_written_and_what_was_found_is_shown(
    fake_sanitizer, monkeypatch, capsys, tmp_path, faults, status
):
    fake_sanitizer(faults)
    runtime = SimpleNamespace(runtimeGetVersion=lambda: 13020)
    monkeypatch.setattr(gpu_tests.cuda, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(gpu_tests.nvidia, "gpus", lambda: [{"name": "A GPU", "driver": "580.1"}])
    monkeypatch.setattr(gpu_tests, "run_all_tests", lambda: summary()["tests"])
    monkeypatch.setattr(sys, "argv", ["gpu_tests.py", "--out", str(tmp_path / "summary.json")])
    with pytest.raises(SystemExit) as end:
        gpu_tests.main()
    assert int(end.value.code) == status
    result = {"cases": 16, "errors": None, "status": 1} if faults else {"cases": 20, "errors": 0, "status": 0}
    assert files.read_json(tmp_path / "summary.json")["sanitizers"] == dict.fromkeys(gpu_tests.TOOLS, result)
    output = capsys.readouterr().out
    assert output.count("Traceback\n") == 2 * len(faults)
    assert all(f"{tool}: 20 cases" in output for tool in gpu_tests.TOOLS)
    assert output.index(gpu_tests.tool_sentence("memcheck", result)) < output.index("racecheck: 20 cases")
    assert "case0\n" not in output


def test_without_the_sanitizer_the_summary_says_so():
    gpu_summary = summary(sanitizers={})
    assert not gpu_tests.is_clean(gpu_summary)
    assert (
        sum(
            "not done, because compute-sanitizer is not on the PATH" in line
            for line in gpu_tests.sentences(gpu_summary)
        )
        == 2
    )


def test_a_clean_summary_has_a_line_for_each_tool():
    assert gpu_tests.is_clean(summary())
    assert list(gpu_tests.sentences(summary())) == [
        "tests on a GPU: 5 passed, 0 failed, 1 skipped",
        "memcheck: 0 errors in 3 cases",
        "racecheck: 0 errors in 3 cases",
        "A GPU, driver 580.1, CUDA 13.0; abc",
    ]
    failed = {"passed": 5, "failed": 1, "skipped": 0, "status": 1}
    assert not gpu_tests.is_clean(summary(tests=failed))


def test_pytests_report_is_counted(tmp_path):
    tests = "import pytest\ndef test_a(): pass\ndef test_b(): pass\ndef test_c(): assert 0\n"
    tests += "@pytest.fixture\ndef x(): 1 / 0\ndef test_d(x): pass\n@pytest.mark.skip\ndef test_e(): pass\n"
    (tmp_path / "test_it.py").write_text(tests)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--junitxml", report, tmp_path]
    assert subprocess.run(command, capture_output=True).returncode == 1
    assert gpu_tests.count_tests(report) == {"passed": 2, "failed": 2, "skipped": 1}
    assert gpu_tests.count_tests(tmp_path / "none.xml") == {"passed": 0, "failed": 0, "skipped": 0}


# Peers that use a GPU only through libraries.
LIBRARY_PEERS = {"gemm/cublas_lt", "descent/cupy_loop", "descent/cupy_cg", "descent/cusolver"}


def test_only_variants_that_call_libraries_alone_lack_cases_of_project_sources():
    all_cases, cases_with_source = list(kernel_cases.cases()), list(kernel_cases.cases(only_project_sources=True))
    library_variants = {case.key.rsplit("/", 1)[0] for case in all_cases}
    library_variants -= {case.key.rsplit("/", 1)[0] for case in cases_with_source}
    assert library_variants == {"gemm/cublas", "gemv/cublas", "descent_kernel/cublas", *LIBRARY_PEERS}


def test_cases_are_distinct_and_have_every_form_and_several_splits_of_sums():
    all_cases = list(kernel_cases.cases())
    keys = [case.key for case in all_cases]
    assert len(keys) == len(set(keys))
    for variant in ("cuda_tiled", "cuda_mma"):
        for dtype in kernel_cases.DTYPES:
            selected = [case for case in all_cases if case.variant == variant and case.sizes["dtype"] == dtype]
            assert {case.sizes["form"] for case in selected} == {"nn", "tn", "nt"}
            assert len({case.tuning["splitk"] for case in selected}) > 1


def test_without_a_gpu_the_program_says_what_it_requires(tmp_path):
    command = [sys.executable, TESTS / "gpu_tests.py", "--out", tmp_path / "summary.json"]
    environment = os.environ | {"PATH": "", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert process.returncode == 1
    assert process.stdout == ""
    assert process.stderr.startswith("test-gpu requires an NVIDIA GPU. ")
    assert process.stderr.count("\n") == 1
    assert not (tmp_path / "summary.json").exists()


@pytest.fixture
def planted_variants(monkeypatch):
    """Add the tests' variants, some of which have planted faults, to those that are found by name."""
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))


@pytest.mark.parametrize("variant", [variant for _, variant in PLANTED_FAULTS])
def test_kernels_with_planted_faults_compile(planted_variants, monkeypatch, tmp_path, variant):
    monkeypatch.chdir(tmp_path)
    path = report.write("sm_90", "gemm", variant, "dtype=float32")
    assert list(files.read_json(path)["kernels"]) == ["gemm_nn"]


@pytest.fixture
def run_tool(planted_variants):
    """A function that runs a small product by a variant under a tool."""
    if not gpu_tests.sanitizer():
        pytest.skip("requires compute-sanitizer")

    def run(tool, variant):
        case = kernel_cases.case("gemm", variant, {}, m=17, n=65, k=33, dtype="float32")
        return gpu_tests.run_cases(tool, case.key, gpus=[])

    return run


@pytest.mark.gpu
@pytest.mark.parametrize(("tool", "variant"), PLANTED_FAULTS)
def test_a_planted_fault_is_found(run_tool, tool, variant):
    result = run_tool(tool, variant)
    assert result["errors"], result["output"]
    assert result["status"]


@pytest.mark.gpu
@pytest.mark.parametrize("tool", gpu_tests.TOOLS)
def test_a_kernel_without_a_fault_is_found_clean(run_tool, tool):
    result = run_tool(tool, "cuda_shared")
    assert (result.get("cases"), result["errors"], result["status"]) == (1, 0, 0), json.dumps(result)
