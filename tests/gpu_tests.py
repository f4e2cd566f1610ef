"""`make test-gpu`: run the tests that require a GPU, then every CUDA kernel under compute-sanitizer; write a summary.

    python tests/gpu_tests.py [--out results/tests-gpu.json]

Tests run in parallel, then the tests marked `clock` one by one, and then, for each tool of compute-sanitizer, its cases
in parallel on all GPUs. Exits with 0 if everything ran and no tool found an error; without a GPU with 1 and a sentence.
"""

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import kernel_cases
from ladder import cuda
from ladder.errors import LadderError
from ladder.machine import cpus, description, nvidia, revision
from ladder.records.files import write_atomically
from ladder.store.publish import GPU_TESTS

TESTS = Path(__file__).parent
CASES_PER_PROCESS = 8  # under a tool: fewer would cost more starts, and with more, processes would idle at the end
# Options of each tool, and of `kernel_cases.cases` for it. Padding separates an array from the next one.
# `only_project_sources`: we don't check the shared memory of libraries' kernels.
TOOLS = {"memcheck": (["--padding", "4096"], {}), "racecheck": ([], {"only_project_sources": True})}
PROCESS_MIB = 8192  # GPU memory that a process may need
MAX_OUTPUT = 6000  # characters of a failed run that are printed, the last ones
SUMMARY = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards? displayed)", re.MULTILINE)


def parallel_processes(cores, gpus):
    """The number of parallel processes: each has a core and PROCESS_MIB of a GPU, equally many on each GPU."""
    memory_mib = [int(gpu["memory"].split()[0]) for gpu in gpus]
    return max(1, min(cores, len(gpus) * (min(memory_mib) // PROCESS_MIB))) if gpus else cores


GPUS = nvidia.gpus()
TEST_PROCESSES = parallel_processes(cpus.cores(), GPUS[:1])  # tests share the first GPU
SANITIZER_PROCESSES = parallel_processes(cpus.cores(), GPUS)  # of a tool, on all GPUs


def sanitizer():
    """The path of compute-sanitizer, or None."""
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def run_all_cases(tool):
    """Run all cases of a tool, each once, in several parallel processes; returns `merge` of their results."""
    _, options = TOOLS[tool]
    keys = [case.key for case in kernel_cases.cases(**options)]
    print(f"{tool}: {len(keys)} cases, {SANITIZER_PROCESSES} processes in parallel", flush=True)
    chunks = [keys[start : start + CASES_PER_PROCESS] for start in range(0, len(keys), CASES_PER_PROCESS)]
    with ThreadPoolExecutor(SANITIZER_PROCESSES) as pool:
        results = pool.map(lambda chunk, gpus: run_cases(tool, *chunk, gpus=gpus), chunks, gpu_orders())
        result = merge(list(results), len(keys))
    print(tool_sentence(tool, result), flush=True)  # the next tool takes minutes
    return result


def merge(results, requested_count):
    """The results of several runs, which should have run `requested_count` cases, as one; see `parse_output`.

    `errors` is None unless all runs are complete and all cases ran; `status` is the worst one, and `output` that of the
    runs that are not clean.
    """
    cases = sum(result.get("cases", 0) for result in results)
    is_whole_run = all(map(is_complete, results)) and cases == requested_count
    return {
        "cases": cases,
        "errors": sum(result["errors"] for result in results) if is_whole_run else None,
        "status": max((result["status"] for result in results), key=abs),
        "output": "\n".join(result["output"][-MAX_OUTPUT:] for result in results if not ended_clean(result)),
    }


def gpu_orders():
    """An endless iterator over lists of the UUIDs of all GPUs, each GPU first in turn."""
    uuids = [gpu["uuid"] for gpu in GPUS]
    return itertools.cycle([uuids[first:] + uuids[:first] for first in range(len(uuids))] or [uuids])


def run_cases(tool, *keys, gpus):
    """Run the cases with these keys in one process under a tool of compute-sanitizer; returns `parse_output` of it.

    The process sees the GPUs with these UUIDs; a case that needs one GPU uses the first.
    """
    options, _ = TOOLS[tool]
    command = [
        sanitizer(),
        "--tool",
        tool,
        "--error-exitcode",
        "1",
        *options,
        sys.executable,
        TESTS / "kernel_cases.py",
    ]
    environment = os.environ | ({"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {})
    result = subprocess.run([*command, *keys], capture_output=True, text=True, env=environment)
    return parse_output(result.stdout + result.stderr, result.returncode)


def parse_output(output, status):
    """{cases, errors, status, output} of a run under a tool; `errors` is None if the tool printed no summary.

    `cases` is missing if the run ended early.
    """
    errors = SUMMARY.search(output)
    cases = re.search(r'^\{"cases": .*\}$', output, re.MULTILINE)
    return {
        **(json.loads(cases[0]) if cases else {}),
        "errors": int(errors[1] or errors[2]) if errors else None,
        "status": status,
        "output": output,
    }


def run_tests(marks, *options):
    """{passed, failed, skipped, status} of the tests that an expression of marks selects; status is that of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", marks, *options, "--junitxml", report, TESTS]
        status = subprocess.run(command, cwd=TESTS.parent).returncode
        return {**count_tests(report), "status": status}


def run_all_tests():
    """The sums of `run_tests` over all tests: in parallel, then one by one those that compare times."""
    results = [run_tests("gpu and not clock", "--numprocesses", str(TEST_PROCESSES)), run_tests("gpu and clock")]
    return {name: sum(abs(result[name]) for result in results) for name in results[0]}


def count_tests(report):
    """{passed, failed, skipped} in pytest's report, an XML file; an error counts as a failure."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite")) if report.exists() else []
    total, failed, skipped = (
        sum(int(suite.get(name)) for suite in suites for name in names)
        for names in (["tests"], ["failures", "errors"], ["skipped"])
    )
    return {"passed": total - failed - skipped, "failed": failed, "skipped": skipped}


def sentences(summary):
    """The summary in sentences."""
    tests = summary["tests"]
    yield f"tests on a GPU: {tests['passed']} passed, {tests['failed']} failed, {tests['skipped']} skipped"
    for tool in TOOLS:
        yield tool_sentence(tool, summary["sanitizers"].get(tool))
    dirty = " and changes" if summary["source"]["dirty"] else ""
    yield f"{summary['card']}, driver {summary['driver']}, CUDA {summary['cuda']}; {summary['source']['commit']}{dirty}"


def tool_sentence(tool, result):
    """The result of a tool, or None if it didn't run, in a sentence."""
    if result is None:
        return f"{tool}: not done, because compute-sanitizer is not on the PATH: it comes with the CUDA toolkit"
    if not is_complete(result):
        state = f"{result['cases']} cases ended, with status {result['status']}"
        return f"{tool}: not done: some cases were not run, or not judged ({state})"
    return f"{tool}: {result['errors']} errors in {result['cases']} cases"


def is_complete(result):
    """Whether a run under a tool came to its end, with a summary."""
    return "cases" in result and result["errors"] is not None


def ended_clean(result):
    """Whether a run is complete, without errors, and with status 0."""
    return is_complete(result) and not result["errors"] and not result["status"]


def is_clean(summary):
    """Whether all tests and cases ran, without an error."""
    results = [summary["sanitizers"].get(tool) for tool in TOOLS]
    return all(result and ended_clean(result) for result in results) and not summary["tests"]["status"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GPU_TESTS, help=f"file of the summary (default: {GPU_TESTS})")
    options = parser.parse_args()
    try:
        version = cuda.load_cupy().cuda.runtime.runtimeGetVersion()
    except LadderError as error:
        sys.exit(f"test-gpu requires an NVIDIA GPU. {error}")
    gpu = nvidia.gpus()[0]
    summary = {
        "ended": None,
        "source": revision.current(),
        "card": gpu["name"],
        "driver": gpu["driver"],
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "libraries": description.versions(),
        "tests": run_all_tests(),
        "sanitizers": {tool: run_all_cases(tool) for tool in TOOLS} if sanitizer() else {},
    }
    for result in summary["sanitizers"].values():
        if output := result.pop("output"):
            print(output)
    summary["ended"] = datetime.now(UTC).isoformat(timespec="seconds")
    write_atomically(options.out, json.dumps(summary, indent=1) + "\n")
    print(*sentences(summary), sep="\n")
    sys.exit(not is_clean(summary))


if __name__ == "__main__":
    main()
