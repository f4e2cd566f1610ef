"""Published folders with made-up samples, for tests of queries of stored results."""

import gzip
import json
from pathlib import Path

import pandas as pd

import made_up
from ladder.catalogue import traits, workloads
from ladder.records.case import Case
from ladder.store import TABLES, collect, data_package

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def gemv_case(variant="openmp", n=512, cache="cold", **tuning):
    """A case of gemv."""
    return Case("gemv", variant, workloads.complete("gemv", {"n": n, "m": 512}), tuning or {"threads": 1}, cache)


def rows_of(case, processes, experiment="gemv_threads", **columns):
    """The rows of a case's timed calls; `processes` has the seconds of each process's calls."""
    cost = vars(workloads.load(case.workload).cost(case.sizes))
    columns_of_case = collect.case_columns("", experiment, *case.key.split("/")) | cost
    columns_of_case |= {
        "device": traits.device(case),
        "converged": True,
        "commit": COMMIT,
        "threads_found": case.threads,
    }
    return [
        columns_of_case | columns | {"process": number, "sample": sample, "phase": "total", "seconds": seconds}
        for number, times in enumerate(processes)
        for sample, seconds in enumerate(times)
    ]


def publish(machine, rows, campaign=None):
    """Publish rows below the working directory, as those of a machine or of one of its campaigns."""
    folder = data_package.PUBLISHED_FOLDER / (f"campaigns/{campaign}" if campaign else machine)
    folder.mkdir(parents=True)
    frame = pd.DataFrame(rows).assign(machine=machine)
    if campaign:
        frame["campaign"] = campaign
    publication = {"machine": machine, "description": made_up.description()}
    if campaign:
        publication["campaign"] = {"name": campaign, "began": campaign, "machine": machine, "commit": COMMIT}
        publication["campaign"] |= {"dirty": False, "host": "a", "gpus": []}
    tables = dict.fromkeys(TABLES, "\n") | {"samples": frame.convert_dtypes().to_csv(index=False)}
    for name, text in tables.items():
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path(folder, "machine.json").write_text(json.dumps(publication), encoding="utf-8")
    return folder
