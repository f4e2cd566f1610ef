"""Publishing: a machine's tables, description and ceilings as files that are committed to the repository."""

import gzip
import json
import shutil
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from ladder import collect, record
from ladder.errors import LadderError
from ladder.record import write_atomically

# What `make test-gpu` found on this machine, where it was run.
GPU_TESTS = "results/tests-gpu.json"


def publish(plans, machine, ceilings, folder):
    """Write `folder` from a machine's records that the plans name; what was published there before is replaced.

    What the tests on a GPU found goes with them, where they were run. Raises LadderError when no record is there.
    """
    tables = {name: [] for name in collect.TABLES}
    plans = [plan | {"cases": [case for case in plan["cases"] if case["machine"] == machine]} for plan in plans]
    keys = [(machine, case["key"]) for plan in plans for case in plan["cases"] if not case["left_out"]]
    paths = [path for path in (Path(record.path_of(*key)) for key in keys) if path.exists()]
    with tempfile.TemporaryDirectory() as place:
        for plan in plans:
            collect.collect(plan, place)
            for name, frame in collect.load(place).items():
                tables[name].append(frame)
    frames = {name: collect.concatenated(parts) for name, parts in tables.items()}
    if frames["samples"].empty:
        raise LadderError("There is nothing to publish: no record was found on this machine. Run `snakemake` first.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in frames.items():
        # Without a time stamp, so that the same measurements are the same bytes.
        with (folder / f"{name}.csv.gz").open("wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed:
            packed.write(frame.convert_dtypes().to_csv(index=False).encode())
    if ceilings:
        shutil.copyfile(ceilings, folder / "ceilings.json")
    if Path(GPU_TESTS).exists():
        shutil.copyfile(GPU_TESTS, folder / Path(GPU_TESTS).name)
    records = sorted((record.read(path) for path in paths), key=lambda found: found["started"])
    about = {
        "machine": machine,
        "published": datetime.now(UTC).isoformat(timespec="seconds"),
        "sources": sources(records),
        "cases": len(frames["samples"][["workload", "variant", "case"]].drop_duplicates()),
        "samples": int((frames["samples"]["phase"] == "total").sum()),
        "description": records[-1]["description"],
    }
    write_atomically(folder / "machine.json", json.dumps(about, indent=1) + "\n")


def sources(records):
    """The commits that the records were measured with, each with its number of cases, the first one first."""
    found = Counter((one["source"]["commit"], one["source"]["dirty"]) for one in records)
    return [{"commit": commit, "dirty": dirty, "cases": cases} for (commit, dirty), cases in found.items()]
