"""How far a run is, and what became of it: told from files alone, while it goes on and later.

| file | says |
| --- | --- |
| `.snakemake/ladder-run.json` | which cases the last run was to measure, written before its first job |
| `.snakemake/incomplete/` | Snakemake's markers of jobs that have started and not ended |
| the cases' records and logs | done; failed, where there is a log and no record |
"""

import base64
import json
import os
import sys
import textwrap
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from ladder.errors import LadderError
from ladder.records import documents, record, runs
from ladder.records.files import read_json, write_atomically

FOLDER = Path(".snakemake")
RUN = "ladder-run.json"
STATES = ("done", "running", "waiting", "failed", "cut off", "not begun", "left out")


def note(planned, due, folder=FOLDER):
    """Write what a run that begins is to measure, `due` being the paths of these records; what `read` gives.

    Raises LadderError when it can't be written.
    """
    run = {"cases": cases_of(planned, due)}
    write_atomically(folder / RUN, json.dumps(run) + "\n")
    return read(folder)


def read(folder=FOLDER):
    """The last run: its cases, and when it began in nanoseconds. Raises LadderError when there was none."""
    path = folder / RUN
    if not path.exists():
        raise LadderError("No run has begun here yet: start one with `snakemake`, or name a --configfile.")
    # By the clock of the disk, as all other times of files.
    return {"began": changed(path), **documents.read(path, "run")}


def cases_of(planned, due=()):
    """The cases of a plan, each once: [{key, machine, left_out, due}]."""
    found = {}
    for one in planned:
        path = record.path_of(one.machine, one.case.key)
        found[path] = {"key": one.case.key, "machine": one.machine, "left_out": one.left_out, "due": path in due}
    return list(found.values())


def log_of(machine, key):
    """Where the log of a case's job lies."""
    return f"results/logs/measure/{machine}/{record.in_path(key)}.log"


def changed(path):
    """When a file was last changed, in nanoseconds; 0 where there is none."""
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


def markers(folder=FOLDER):
    """The files whose jobs have started and not ended: {path: (since when, the number of a job that waits, or None)}.

    Snakemake has no function for it that only reads. It names a marker by the file's path in base 64, cut to folders
    that begin with `@` where that is long. The marker of a job of Slurm holds its number until its node writes it anew.
    """
    found, root = {}, folder / "incomplete"
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            try:
                code = "".join(part.removeprefix("@") for part in path.relative_to(root).parts)
                file = base64.urlsafe_b64decode(code).decode()
            except ValueError:
                continue  # none of these markers
            try:
                number = json.loads(path.read_text(encoding="utf-8"))["external_jobid"]
            except FileNotFoundError:
                continue  # the job has ended meanwhile
            except (OSError, ValueError, TypeError, KeyError):
                number = None  # the marker is just being written, or torn
            found[file] = changed(path), number
    return found


def state_of(case, started, began, at_work):
    """One of STATES, by the markers of started jobs, when the run began, and whether a Snakemake is at work on it."""
    path = record.path_of(case["machine"], case["key"])
    if case["left_out"]:
        return "left out"
    if path in started:
        since, number = started[path]
        if at_work and since >= began:
            return "waiting" if number else "running"
        if not (at_work and case["due"]):
            return "cut off"
    oldest = began if case["due"] else 1  # what is older than a run that is to make it isn't the run's
    if changed(path) >= oldest:
        return "done"
    return "failed" if changed(log_of(case["machine"], case["key"])) >= oldest else "not begun"


def states(cases, began, at_work, folder=FOLDER):
    """The state of every case, in their order."""
    started = markers(folder)
    found = [state_of(case, started, began, at_work) for case in cases]
    # A log and no record may also be those of a job that has started since: it has a marker by now, or its record.
    started = markers(folder)
    pairs = zip(cases, found, strict=True)
    return [state_of(case, started, began, at_work) if state == "failed" else state for case, state in pairs]


def reason(log):
    """What a failed job's log says in the end, as one line."""
    try:
        text = Path(log).read_bytes().decode(errors="replace").strip()
    except OSError as error:
        return f"The log can't be read: {error.strerror}."
    if not text:
        return (
            "The log is empty: was the job killed, did it take longer than it may, or was its record deleted? "
            "`snakemake measurements` measures it again."
        )
    _, harness, sentence = text.rpartition("ladder measure: ")
    last = sentence if harness else text.splitlines()[-1]
    return "".join(sign if sign.isprintable() else "?" for sign in textwrap.shorten(last, 400, placeholder=" ..."))


def report(cases, run=None):
    """What `ladder status` prints of cases, those of a run if one is given."""
    at_work = runs.is_at_work()
    found = states(cases, run["began"] if run else 0, at_work)
    began = f"The last run began on {datetime.fromtimestamp(run['began'] / 1e9):%Y-%m-%d at %H:%M:%S}. " if run else ""
    return "\n".join(
        [f"{began}Snakemake is {'' if at_work else 'not '}at work.", *table(cases, found), *details(cases, found)]
    )


def summary(run):
    """What has become of a run that ends, in a few lines; none when it had nothing to measure."""
    if not any(case["due"] for case in run["cases"]):
        return ""
    known = zip(run["cases"], states(run["cases"], run["began"], at_work=False), strict=True)
    # What a run of some tables wasn't asked for isn't missing.
    cases, found = zip(*(one for one in known if one[0]["due"] or one[1] in ("done", "left out")), strict=True)
    now = [case for case, state in zip(cases, found, strict=True) if case["due"] and state == "done"]
    walls = [read_json(record.path_of(case["machine"], case["key"]), "wall")["wall"] for case in now]
    counts = Counter(found)
    unmeasured = counts["not begun"] + counts["cut off"]
    lines = [
        f"ladder: Of {len(cases)} cases {len(now)} measured now, {counts['done'] - len(now)} before, "
        f"{counts['failed']} failed, {unmeasured} not begun or cut off, {counts['left out']} left out. "
        f"This took {timed(time.time() - run['began'] / 1e9)}, {timed(sum(walls))} of it measuring.",
        *details(cases, found, most=10),
    ]
    if counts["failed"] or unmeasured:
        lines.append("ladder: `snakemake` tries again; `snakemake --config measure=false` writes the paper without.")
    return "\n".join(lines) + "\n"


def timed(seconds):
    """A time as hours:minutes:seconds."""
    return str(timedelta(seconds=round(seconds)))


def table(cases, found):
    """Lines that count the states of cases, machine by machine."""
    counts = Counter((case["machine"], state) for case, state in zip(cases, found, strict=True))
    rows = {case["machine"]: [counts[case["machine"], state] for state in STATES] for case in cases}
    if len(rows) > 1:
        rows["all"] = map(sum, zip(*rows.values(), strict=True))
    width = max(map(len, rows), default=0)
    for name, row in {"": STATES, **rows}.items():
        yield f"{name:{width}}  " + "  ".join(f"{cell:>{len(head)}}" for cell, head in zip(row, STATES, strict=True))


def details(cases, found, most=sys.maxsize):
    """Lines on which cases failed and were cut off, `most` of each at most, and why how many are left out."""
    known = list(zip(cases, found, strict=True))
    for state, title in (("failed", "Failed:"), ("cut off", "Cut off; the next run measures them again:")):
        those = [case for case, one in known if one == state]
        if those:
            yield title
        for case in those[:most]:
            yield f"  {case['key']}"
            if state == "failed":
                log = log_of(case["machine"], case["key"])
                yield f"    {reason(log)}"
                yield f"    {log}"
        if len(those) > most:
            yield f"  and {len(those) - most} more, which `make status` tells of"
    if whys := Counter(case["left_out"] for case in cases if case["left_out"]):
        yield "Left out:"
        yield from (f"  {count:5}  {why}" for why, count in whys.most_common())
