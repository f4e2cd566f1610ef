"""From records and published measurements to tidy tables, one folder per experiment.

| table | a row is | columns beside the case's own |
| --- | --- | --- |
| samples.csv | one timed call, or one phase of one pass | process, sample, phase (`total` is the headline), seconds |
| checks.csv | one comparison with the reference | check, error, bound |
| curves.csv | one point of a curve | process, and what the workload's CURVE names, such as epoch and loss |
| traces.csv | what ran in one lane, from when to when | process, lane, name, start, end (seconds) |
| missing.csv | a case of the plan without a record | why |

The case's own columns: machine (with " (published)" where it is), experiment, workload, variant, case, device, cache,
every size and every tuning by its name, threads_found, flops, bytes, precision, converged. In samples.csv the
workload's FACTS are columns, too, and `commit` is that of the source that measured the case, as `revision.format`
writes it; what was published early lacks it. `campaign` is the stretch of measuring, `host` and `gpu` are digests of
where it ran, several GPUs with a blank between; what was published early lacks them. On a GPU that reports it, `throttled` says whether the process's GPU was
throttled for power or heat. Where the protocol asks for it, `joules` and `sustained` are the energy and the seconds of
a run, averaged over runs repeated for at least a second (what was published early lacks them). `cold_start` is a
process's set-up and first call, in seconds, once its libraries are loaded and its inputs are there: a GPU's start
is part of it where the arrays lie on the host. What was published early lacks it. Where there are ranks, `nodes` counts
those that they ran on (what was published early lacks it, too), a phase's seconds are those of the slowest rank, and
`imbalance` is their ratio to the mean over the ranks, 1 where all take equally long.
"""

from pathlib import Path

import pandas as pd

from ladder.errors import LadderError
from ladder.harness import traces
from ladder.machine import revision
from ladder.machine.nvidia import THROTTLING
from ladder.records import campaigns, checksums, record
from ladder.records.case import Case
from ladder.store import PUBLISHED, TABLES, stored

KEY = ["machine", "workload", "variant", "case"]
# The entries of a process's state that are averages over repeated runs.
REPEATED = ("joules", "sustained")
# Of a record, where and in which stretch of measuring it was made.
PLACE = ("campaign", "host")
# The numbers of processes of one campaign: those of the next continue from here, so that they never mix in a case.
APART = 1000


def collect(plan, folder, published=()):
    """Write an experiment's tables.

    `plan` is {experiment, cases: [{key, machine, left_out, sources}]}; `published` are folders of published
    measurements. A record of other sources than the plan's is refused: it was measured with code that has changed
    since.
    """
    tables = {name: [] for name in TABLES}
    for planned in plan["cases"]:
        path = Path(record.path_of(planned["machine"], planned["key"]))
        columns = own_columns(planned["machine"], plan["experiment"], *planned["key"].split("/"))
        if planned["left_out"]:
            tables["missing"].append(columns | {"why": planned["left_out"]})
        elif not path.exists():
            tables["missing"].append(columns | {"why": "not measured"})
        else:
            document = record.read(path)
            if document["sources"] != planned["sources"]:
                raise LadderError(f"{path} was measured with code that has changed since: delete it and measure again.")
            for name, rows in rows_of(document, columns).items():
                tables[name] += rows
    frames = {}
    for name, rows in tables.items():
        # Published rows are skipped if there are new ones of the same case on the same machine.
        here = {key_of(row) for row in [*rows, *tables["samples"]]}
        frames[name] = concatenated([pd.DataFrame(rows), *published_parts(published, name, plan["experiment"], here)])
    for name, frame in frames.items():  # once all could be read
        write_table(folder, name, frame)
    checksums.write(folder, [f"{name}.csv" for name in tables])


def own_columns(machine, experiment, workload, variant, slug):
    """The columns that a case has in every table."""
    case = Case.parse(workload, variant, slug)
    names = {"machine": machine, "experiment": experiment, "workload": workload, "variant": variant, "case": slug}
    return names | {"cache": case.cache} | case.sizes | case.tuning | case.variables


def rows_of(document, columns):
    """The rows that a record adds to each table."""
    facts = columns | {"device": document["device"], "converged": document["converged"]} | document["cost"]
    facts["commit"] = revision.format(document["source"])
    facts |= {name: document[name] for name in PLACE if name in document}
    if document.get("gpus"):
        facts["gpu"] = " ".join(document["gpus"])
    rows = {"samples": [], "checks": [], "curves": [], "traces": []}
    for number, process in enumerate(document["processes"]):
        threads = max(process["threads"]["runtimes"].values(), default=1)
        common = facts | process.get("facts", {}) | {"process": number, "threads_found": threads}
        if "ranks" in process["threads"]:
            common["nodes"] = len({rank["node"] for rank in process["threads"]["ranks"]})
        reasons = process.get("state", {}).get("reasons")
        if reasons is not None:
            common["throttled"] = not THROTTLING.isdisjoint(reasons)
        of_process = {"cold_start": process["setup"] + process["first"]}
        of_process |= {name: process["state"][name] for name in REPEATED if name in process.get("state", {})}
        rows["samples"] += [
            common | {"sample": index, "phase": "total", "seconds": seconds} | of_process
            for index, seconds in enumerate(process["samples"])
        ]
        rows["samples"] += [
            common | {"sample": index, "phase": phase, "seconds": seconds} | imbalance(process, index, phase)
            for index, phases in enumerate(process["phases"])
            for phase, seconds in phases.items()
        ]
        rows["checks"] += [
            columns | {"process": number, "check": check["name"], "error": check["error"], "bound": check["bound"]}
            for check in process["checks"]
        ]
        rows["curves"] += [columns | {"process": number} | point for point in process["curve"]]
        rows["traces"] += [
            columns | {"process": number} | dict(zip(traces.COLUMNS, row, strict=True))
            for row in process.get("trace", [])
        ]
    return rows


def imbalance(process, index, phase):
    """The column of that name of a phase in one pass; none where there are no ranks."""
    if "by_rank" not in process:
        return {}
    seconds = process["by_rank"][index][phase]
    # A clock may see no time go by.
    return {"imbalance": max(seconds) * len(seconds) / sum(seconds) if any(seconds) else 1.0}


def key_of(row):
    """What names a case on a machine."""
    return tuple(row[name] for name in KEY)


def published_parts(folders, name, experiment, here):
    """An experiment's rows of a published table by folder; a case that campaigns measured is of these alone."""
    of_campaigns = [folder for folder in folders if is_campaign(folder)]
    parts = [published_rows(folder, name, experiment, here) for folder in of_campaigns]
    parts = [part.assign(process=part["process"] + APART * number) for number, part in enumerate(parts) if len(part)]
    again = {(machine.removesuffix(PUBLISHED), *key) for part in parts for machine, *key in part[KEY].to_numpy()}
    others = [folder for folder in folders if folder not in of_campaigns]
    return [*parts, *(published_rows(folder, name, experiment, here | again) for folder in others)]


def is_campaign(folder):
    """Whether a published folder is that of a campaign."""
    return Path(folder).parent.name == campaigns.PUBLISHED.name


def published_rows(folder, name, experiment, here):
    """An experiment's rows of a published table, the machine named as published; empty where there is no such table.

    Cases whose keys are in `here` are skipped.
    """
    frame = stored.published(folder, name, experiment)
    if frame.empty:
        return frame
    measured_here = pd.MultiIndex.from_frame(frame[KEY]).isin(here)
    frame = frame[~measured_here].dropna(axis="columns", how="all")
    return frame.assign(machine=frame["machine"] + PUBLISHED) if len(frame) else pd.DataFrame()


def concatenated(frames):
    """The rows of all frames; empty ones bring no columns."""
    return pd.concat([frame for frame in frames if len(frame)] or [pd.DataFrame()])


def write_table(folder, name, frame):
    """Write a table as CSV; a whole number stays whole, also where other rows have none."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    frame.convert_dtypes().to_csv(Path(folder) / f"{name}.csv", index=False)


def join(folders, out):
    """The one tidy table of the study: the samples of all experiments, a row per sample."""
    frames = [
        frame for frame in (stored.read(Path(folder) / "samples.csv", "samples") for folder in folders) if len(frame)
    ]
    if not frames:
        raise LadderError("There is nothing to put into the table: no record was found and nothing is published.")
    pd.concat(frames).convert_dtypes().to_csv(out, index=False)
