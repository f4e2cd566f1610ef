"""Publishing: a machine's tables, description and ceilings as files that are committed to the repository."""

import gzip
import json
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from ladder import collect, record
from ladder.errors import LadderError
from ladder.record import write_atomically


def publish(plans, ceilings, folder):
    """Write `folder` from the records that the plans name; what was published there before is replaced.

    Raises LadderError when no record is there.
    """
    tables = {name: [] for name in collect.TABLES}
    keys = [(plan["machine"], case["key"]) for plan in plans for case in plan["cases"] if not case["left_out"]]
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
    shutil.copyfile(ceilings, folder / "ceilings.json")
    newest = max((record.read(path) for path in paths), key=lambda found: found["started"])
    about = {
        "machine": plans[0]["machine"],
        "published": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": newest["source"],
        "cases": len(frames["samples"][["workload", "variant", "case"]].drop_duplicates()),
        "samples": int((frames["samples"]["phase"] == "total").sum()),
        "description": newest["description"],
    }
    write_atomically(folder / "machine.json", json.dumps(about, indent=1) + "\n")
