"""`make test-gpu`: the tests that wait for a GPU, then every CUDA kernel under compute-sanitizer; a summary as a file.

    python tests/on_gpu.py [--out results/tests-gpu.json]

Tests run side by side, those marked `clock` behind them. Ends with 0 when all was run and nothing was found. Without a
GPU, one sentence and 1.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from ladder.devices import cuda
from ladder.errors import LadderError
from ladder.machine import description, nvidia, revision
from ladder.records.files import write_atomically
from ladder.report.publish import GPU_TESTS

HOME = Path(__file__).parent
PROCESSES = 4  # of tests side by side, each with whole files
# Options of the tool, and of the run that it watches. Padding keeps what lies beyond one array from being the next one;
# in shared memory, the libraries' kernels are not ours to judge.
TOOLS = {"memcheck": (["--padding", "4096"], []), "racecheck": ([], ["--own"])}
SUMMARY = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards? displayed)", re.MULTILINE)


def sanitizer():
    """The path of compute-sanitizer, or None."""
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def watched(tool, *cases):
    """What a tool of compute-sanitizer finds while the cases run, all of them by default; see `told`."""
    options, arguments = TOOLS[tool]
    command = [sanitizer(), "--tool", tool, "--error-exitcode", "1", *options, sys.executable, HOME / "sanitized.py"]
    done = subprocess.run([*command, *arguments, *cases], capture_output=True, text=True)
    return told(done.stdout + done.stderr, done.returncode)


def told(output, status):
    """{cases, errors, status, output} of a watched run; `errors` is None when the tool gave no summary.

    A run that ended early has no `cases`.
    """
    found = SUMMARY.search(output)
    counted = re.search(r'^\{"cases": .*\}$', output, re.MULTILINE)
    return {
        **(json.loads(counted[0]) if counted else {}),
        "errors": int(found[1] or found[2]) if found else None,
        "status": status,
        "output": output,
    }


def tested(marked, *options):
    """{passed, failed, skipped} of the tests that are so marked, and pytest's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", marked, *options, "--junitxml", report, HOME]
        status = subprocess.run(command, cwd=HOME.parent).returncode
        return {**counted(report), "status": status}


def all_tested():
    """The same of all tests: side by side what can be, then what compares times."""
    parts = [
        tested("gpu and not clock", "--numprocesses", str(PROCESSES), "--dist", "loadfile"),
        tested("gpu and clock"),
    ]
    return {name: sum(abs(part[name]) for part in parts) for name in parts[0]}


def counted(report):
    """{passed, failed, skipped} of pytest's report in XML; an error is a failure."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite")) if report.exists() else []
    total, failed, skipped = (
        sum(int(suite.get(name)) for suite in suites for name in names)
        for names in (["tests"], ["failures", "errors"], ["skipped"])
    )
    return {"passed": total - failed - skipped, "failed": failed, "skipped": skipped}


def lines(summary):
    """The summary in sentences."""
    tests = summary["tests"]
    yield f"tests on a GPU: {tests['passed']} passed, {tests['failed']} failed, {tests['skipped']} skipped"
    for tool in TOOLS:
        found = summary["sanitizers"].get(tool)
        if found is None:
            yield f"{tool}: not done, because compute-sanitizer is not on the PATH: it comes with the CUDA toolkit"
        elif not is_whole(found):
            yield f"{tool}: not done: the run ended early with status {found['status']} ({found['errors']} errors)"
        else:
            yield f"{tool}: {found['errors']} errors in {found['cases']} cases"
    dirty = " and changes" if summary["source"]["dirty"] else ""
    yield f"{summary['card']}, driver {summary['driver']}, CUDA {summary['cuda']}; {summary['source']['commit']}{dirty}"


def is_whole(found):
    """Whether a watched run came to its end and was judged."""
    return "cases" in found and found["errors"] is not None


def is_clean(summary):
    """Whether all was run, and nothing found."""
    watched = [summary["sanitizers"].get(tool) for tool in TOOLS]
    clean = all(found and is_whole(found) and not found["errors"] and not found["status"] for found in watched)
    return clean and not summary["tests"]["status"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GPU_TESTS, help=f"file of the summary (default: {GPU_TESTS})")
    options = parser.parse_args()
    try:
        version = cuda.load_cupy().cuda.runtime.runtimeGetVersion()
    except LadderError as error:
        sys.exit(f"test-gpu waits for an NVIDIA GPU. {error}")
    card = nvidia.gpus()[0]
    summary = {
        "ended": None,
        "source": revision.current(),
        "card": card["name"],
        "driver": card["driver"],
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "libraries": description.versions(),
        "tests": all_tested(),
        "sanitizers": {tool: watched(tool) for tool in TOOLS} if sanitizer() else {},
    }
    for tool in summary["sanitizers"].values():
        output = tool.pop("output")
        if not is_whole(tool) or tool["errors"]:
            print(output[-6000:])
    summary["ended"] = datetime.now(UTC).isoformat(timespec="seconds")
    write_atomically(options.out, json.dumps(summary, indent=1) + "\n")
    print(*lines(summary), sep="\n")
    sys.exit(not is_clean(summary))


if __name__ == "__main__":
    main()
