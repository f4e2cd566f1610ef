"""The status of a run, read only from files, during the run and after it.

| file | says |
| --- | --- |
| `.snakemake/ladder-run.json` | the cases that the last run had to measure, written before its first job |
| `.snakemake/incomplete/` | Snakemake's markers of jobs that have started but not ended |
| the cases' records and logs | a case is done if it has a record, and failed if it only has a log |
"""

from __future__ import annotations

import base64
import json
import os
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ladder.errors import LadderError, pluralize
from ladder.records import documents, record, runs
from ladder.records.files import read_json, write_atomically

if TYPE_CHECKING:
    from ladder.planning.plan import PlannedCase

FOLDER = Path(".snakemake")
RUN_FILE = "ladder-run.json"
STATES = ("done", "running", "waiting", "failed", "cut off", "not begun", "skipped")


def write(planned: tuple[PlannedCase, ...], records: set[str], folder: Path = FOLDER) -> dict[str, Any]:
    """Write the planned cases of a new run, whose jobs write the paths `records`; returns the run as `read` does.

    Raises LadderError if the file can't be written.
    """
    run = {"cases": cases_of(planned, records)}
    write_atomically(folder / RUN_FILE, json.dumps(run) + "\n")
    return read(folder)


def read(folder: Path = FOLDER) -> dict[str, Any]:
    """The last run: its cases, and the time of its start in nanoseconds. Raises LadderError if there was none."""
    path = folder / RUN_FILE
    if not path.exists():
        raise LadderError("No run has begun here yet: start one with `snakemake`, or name a --configfile.")
    # The time of the file, not of this machine's clock: other files' times may come from a file server's clock.
    return {"began": modified_ns(path), **documents.read(path, "run")}


def cases_of(planned: Sequence[PlannedCase], records: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The cases of a plan without duplicates: [{key, machine, left_out, due}].

    `left_out` is the reason for skipping a case, or None; `due` says whether the run has to measure it.
    """
    cases = {}
    for item in planned:
        path = record.path_of(item.machine, item.case.key)
        left_out = item.skip_reason and str(item.skip_reason)
        cases[path] = {"key": item.case.key, "machine": item.machine, "left_out": left_out, "due": path in records}
    return list(cases.values())


def log_of(machine: str, key: str) -> str:
    """The path of the log of a case's job."""
    return f"results/logs/measure/{machine}/{record.escape_commas(key)}.log"


def modified_ns(path: Path | str) -> int:
    """When a file was last changed, in nanoseconds; 0 without a file."""
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


def markers(folder: Path = FOLDER) -> dict[str, tuple[int, str | None]]:
    """The files whose jobs have started but not ended: {path: (start in ns, Slurm's ID if the job waits)}.

    Snakemake has no function that only reads these markers. The name of a marker is the file's path in base 64;
    a long one is split into folders that begin with `@`. The marker of a Slurm job holds its ID until the node
    overwrites it.
    """
    started_jobs, root = {}, folder / "incomplete"
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            try:
                encoded_path = "".join(part.removeprefix("@") for part in path.relative_to(root).parts)
                file = base64.urlsafe_b64decode(encoded_path).decode()
            except ValueError:
                continue  # not a marker
            try:
                job_id = json.loads(path.read_text(encoding="utf-8"))["external_jobid"]
            except FileNotFoundError:
                continue  # the job has ended meanwhile
            except (OSError, ValueError, TypeError, KeyError):
                job_id = None  # the marker is just being written, or truncated
            started_jobs[file] = modified_ns(path), job_id
    return started_jobs


def state_of(
    case: Mapping[str, Any], started_jobs: Mapping[str, tuple[int, str | None]], began: int, is_running: bool
) -> str:
    """The state of a case, one of STATES.

    `started_jobs` are their markers, and `began` the start of the run in ns. `is_running` says whether
    Snakemake is running.
    """
    path = record.path_of(case["machine"], case["key"])
    if case["left_out"]:
        return "skipped"
    if path in started_jobs:
        since, job_id = started_jobs[path]
        if is_running and since >= began:
            return "waiting" if job_id else "running"
        if not (is_running and case["due"]):
            return "cut off"
    oldest = began if case["due"] else 1  # an older file is from an earlier run
    if modified_ns(path) >= oldest:
        return "done"
    return "failed" if modified_ns(log_of(case["machine"], case["key"])) >= oldest else "not begun"


def states(cases: Sequence[Mapping[str, Any]], began: int, is_running: bool, folder: Path = FOLDER) -> list[str]:
    """The state of every case, in their order."""
    started_jobs = markers(folder)
    first_states = [state_of(case, started_jobs, began, is_running) for case in cases]
    # A job that started after its marker was looked for has a log but no record, so it seems failed. The second look
    # finds its marker or, if the job has ended, its record.
    started_jobs = markers(folder)
    pairs = zip(cases, first_states, strict=True)
    return [state_of(case, started_jobs, began, is_running) if state == "failed" else state for case, state in pairs]


def reason(log: Path | str) -> str:
    """The last message in the log of a failed job, as one line."""
    try:
        text = Path(log).read_bytes().decode(errors="replace").strip()
    except OSError as error:
        return f"The log can't be read: {error.strerror}."
    if not text:
        return (
            "The log is empty: was the job killed, did it exceed its time limit, or was its record deleted? "
            "`snakemake measurements` measures it again."
        )
    _, prefix, sentence = text.rpartition("ladder measure: ")
    last = sentence if prefix else text.splitlines()[-1]
    line = textwrap.shorten(last, 400, placeholder=" ...")
    return "".join(character if character.isprintable() else "?" for character in line)


def report(cases: Sequence[Mapping[str, Any]], run: Mapping[str, Any] | None = None) -> str:
    """The text that `ladder status` prints about cases; `run` is the run that they belong to, if any."""
    is_running = runs.may_be_running()
    current_states = states(cases, run["began"] if run else 0, is_running)
    began = f"The last run began on {datetime.fromtimestamp(run['began'] / 1e9):%Y-%m-%d at %H:%M:%S}. " if run else ""
    head = f"{began}Snakemake is {'' if is_running else 'not '}at work."
    return "\n".join([head, *table(cases, current_states), *details(cases, current_states)])


def document(cases: Sequence[Mapping[str, Any]], run: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `report` says as JSON: {is_at_work, began, results: [{case, machine, state, why, log}]}.

    `began` is the start of the run in ISO 8601, null without a run. `why` is the reason for skipping a case or the
    message of its failure, and `log` the log of a failed one; both are null for other cases.
    """
    is_running = runs.may_be_running()
    began = datetime.fromtimestamp(run["began"] / 1e9).astimezone().isoformat() if run else None
    results = []
    for case, state in zip(cases, states(cases, run["began"] if run else 0, is_running), strict=True):
        log = log_of(case["machine"], case["key"]) if state == "failed" else None
        why = reason(log) if log else case["left_out"]
        results.append({"case": case["key"], "machine": case["machine"], "state": state, "why": why, "log": log})
    return {"is_at_work": is_running, "began": began, "results": results}


def summary(run: Mapping[str, Any]) -> str:
    """The outcome of a finished run in a few lines; empty if it had nothing to measure."""
    if not any(case["due"] for case in run["cases"]):
        return ""
    all_pairs = zip(run["cases"], states(run["cases"], run["began"], is_running=False), strict=True)
    # If only some tables were requested, other cases count only if they are done or skipped.
    pairs = [(case, state) for case, state in all_pairs if case["due"] or state in ("done", "skipped")]
    cases, final_states = zip(*pairs, strict=True)
    new_cases = [case for case, state in pairs if case["due"] and state == "done"]
    measuring_times = [read_json(record.path_of(case["machine"], case["key"]), "wall")["wall"] for case in new_cases]
    counts = Counter(final_states)
    unmeasured = counts["not begun"] + counts["cut off"]
    lines = [
        f"ladder: Of {pluralize(len(cases), 'case')}, {count_with_verb(len(new_cases))} measured now and "
        f"{counts['done'] - len(new_cases)} before; {counts['failed']} failed, {count_with_verb(unmeasured)} not begun "
        f"or cut off, {count_with_verb(counts['skipped'])} skipped. "
        f"This took {duration(time.time() - run['began'] / 1e9)}, {duration(sum(measuring_times))} of it measuring.",
        *details(cases, final_states, max_listed=10),
    ]
    if counts["failed"] or unmeasured:
        lines.append(
            "ladder: `snakemake` tries them again; `snakemake --config measure=false` writes the paper without them."
        )
    return "\n".join(lines) + "\n"


def count_with_verb(count: int) -> str:
    """A number of cases with its verb: 1 was, 2 were."""
    return f"{count} {'was' if count == 1 else 'were'}"


def duration(seconds: float) -> str:
    """A time as hours:minutes:seconds."""
    return str(timedelta(seconds=round(seconds)))


def table(cases: Sequence[Mapping[str, Any]], states: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table of the number of cases by machine and state."""
    counts = Counter((case["machine"], state) for case, state in zip(cases, states, strict=True))
    rows = {case["machine"]: [counts[case["machine"], state] for state in STATES] for case in cases}
    if len(rows) > 1:
        rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    width = max(map(len, rows), default=0)
    for name, row in {"": STATES, **rows}.items():
        yield f"{name:{width}}  " + "  ".join(f"{cell:>{len(head)}}" for cell, head in zip(row, STATES, strict=True))


def details(cases: Sequence[Mapping[str, Any]], states: Sequence[str], max_listed: int = sys.maxsize) -> Iterator[str]:
    """Yield lines that list at most `max_listed` failed and cut-off cases each, and count skipped ones by reason."""
    pairs = list(zip(cases, states, strict=True))
    for listed_state, title in (("failed", "Failed:"), ("cut off", "Cut off; the next run measures them again:")):
        selection = [case for case, state in pairs if state == listed_state]
        if selection:
            yield title
        for case in selection[:max_listed]:
            yield f"  {case['key']}"
            if listed_state == "failed":
                log = log_of(case["machine"], case["key"])
                yield f"    {reason(log)}"
                yield f"    {log}"
        if len(selection) > max_listed:
            yield f"  and {len(selection) - max_listed} more, which `make status` lists"
    if reasons := Counter(case["left_out"] for case in cases if case["left_out"]):
        yield "Skipped:"
        yield from (f"  {count:5}  {reason}" for reason, count in reasons.most_common())
