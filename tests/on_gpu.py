"""`make test-gpu`: the tests that wait for a GPU, then every CUDA kernel under compute-sanitizer; a summary as a file.

    python tests/on_gpu.py [--out results/tests-gpu.json]

Tests run side by side, behind them those marked `clock` one by one, and then the cases of each tool of
compute-sanitizer, side by side on all cards. Ends with 0 when all was run and nothing was found. Without a GPU, one
sentence and 1.
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

import sanitized
from ladder import cuda
from ladder.errors import LadderError
from ladder.machine import cpus, description, nvidia, revision
from ladder.records.files import write_atomically
from ladder.store.publish import GPU_TESTS

HOME = Path(__file__).parent
CHUNK = 8  # cases of one watched process: with fewer, starts take the time; with more, processes idle in the end
# Options of the tool, and of the cases that it watches. Padding keeps what lies beyond one array from being the next
# one; in shared memory, the libraries' kernels are not ours to judge.
TOOLS = {"memcheck": (["--padding", "4096"], {}), "racecheck": ([], {"own": True})}
MEMORY = 8192  # MiB of the card for each process
SUMMARY = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards? displayed)", re.MULTILINE)


def side_by_side(cores, cards):
    """How many processes run at once: each has a core, and MEMORY of a card; every card is shared by as many."""
    memories = [int(card["memory"].split()[0]) for card in cards]
    return max(1, min(cores, len(cards) * (min(memories) // MEMORY))) if cards else cores


CARDS = nvidia.gpus()
TESTED = side_by_side(cpus.cores(), CARDS[:1])  # tests share the first card
WATCHED = side_by_side(cpus.cores(), CARDS)


def sanitizer():
    """The path of compute-sanitizer, or None."""
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def all_watched(tool):
    """What a tool finds while all of its cases run, each once, in several processes side by side; see `merged`."""
    _, options = TOOLS[tool]
    keys = [case.key for case in sanitized.cases(**options)]
    print(f"{tool}: {len(keys)} cases, {WATCHED} processes side by side", flush=True)
    chunks = [keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK)]
    with ThreadPoolExecutor(WATCHED) as pool:
        parts = pool.map(lambda chunk, cards: watched(tool, *chunk, cards=cards), chunks, turns())
        found = merged(list(parts), len(keys))
    print(line(tool, found), flush=True)  # the next tool takes minutes
    return found


def merged(parts, asked):
    """{cases, errors, status, output} of watched runs, which were asked for so many cases; see `told`.

    `errors` is None unless all runs are whole and all cases were run; the status is the worst, and the output that of
    the runs that are not clean.
    """
    cases = sum(part.get("cases", 0) for part in parts)
    whole = all(is_whole(part) for part in parts) and cases == asked
    return {
        "cases": cases,
        "errors": sum(part["errors"] for part in parts) if whole else None,
        "status": max((part["status"] for part in parts), key=abs),
        "output": "\n".join(part["output"][-6000:] for part in parts if not ended_clean(part)),
    }


def turns():
    """The UUIDs of all cards, each of them first in turn, for ever."""
    names = [card["uuid"] for card in CARDS]
    return itertools.cycle([names[first:] + names[:first] for first in range(len(names))] or [names])


def watched(tool, *cases, cards):
    """What a tool of compute-sanitizer finds while the cases of these keys run in one process; see `told`.

    The process sees the cards of these UUIDs, and takes the first where it takes one.
    """
    options, _ = TOOLS[tool]
    command = [sanitizer(), "--tool", tool, "--error-exitcode", "1", *options, sys.executable, HOME / "sanitized.py"]
    seen = os.environ | ({"CUDA_VISIBLE_DEVICES": ",".join(cards)} if cards else {})
    done = subprocess.run([*command, *cases], capture_output=True, text=True, env=seen)
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
    parts = [tested("gpu and not clock", "--numprocesses", str(TESTED)), tested("gpu and clock")]
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
        yield line(tool, summary["sanitizers"].get(tool))
    dirty = " and changes" if summary["source"]["dirty"] else ""
    yield f"{summary['card']}, driver {summary['driver']}, CUDA {summary['cuda']}; {summary['source']['commit']}{dirty}"


def line(tool, found):
    """What a tool has found, or None, in a sentence."""
    if found is None:
        return f"{tool}: not done, because compute-sanitizer is not on the PATH: it comes with the CUDA toolkit"
    if not is_whole(found):
        ended = f"{found['cases']} cases ended, with status {found['status']}"
        return f"{tool}: not done: some cases were not run, or not judged ({ended})"
    return f"{tool}: {found['errors']} errors in {found['cases']} cases"


def is_whole(found):
    """Whether a watched run came to its end and was judged."""
    return "cases" in found and found["errors"] is not None


def ended_clean(found):
    """Whether a watched run is whole and has neither errors nor a bad status."""
    return is_whole(found) and not found["errors"] and not found["status"]


def is_clean(summary):
    """Whether all was run, and nothing found."""
    watched = [summary["sanitizers"].get(tool) for tool in TOOLS]
    return all(found and ended_clean(found) for found in watched) and not summary["tests"]["status"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GPU_TESTS, help=f"file of the summary (default: {GPU_TESTS})")
    options = parser.parse_args()
    try:
        version = cuda.load_cupy().cuda.runtime.runtimeGetVersion()
    except LadderError as error:
        sys.exit(f"test-gpu requires an NVIDIA GPU. {error}")
    card = nvidia.gpus()[0]
    summary = {
        "ended": None,
        "source": revision.current(),
        "card": card["name"],
        "driver": card["driver"],
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "libraries": description.versions(),
        "tests": all_tested(),
        "sanitizers": {tool: all_watched(tool) for tool in TOOLS} if sanitizer() else {},
    }
    for found in summary["sanitizers"].values():
        if output := found.pop("output"):
            print(output)
    summary["ended"] = datetime.now(UTC).isoformat(timespec="seconds")
    write_atomically(options.out, json.dumps(summary, indent=1) + "\n")
    print(*lines(summary), sep="\n")
    sys.exit(not is_clean(summary))


if __name__ == "__main__":
    main()
