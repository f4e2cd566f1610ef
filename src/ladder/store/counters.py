"""The published table of counters: a row for each kernel of a case, in the folder of its machine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ladder.harness.kernel_counters import KernelCounters
from ladder.planning.plan import PlannedCase
from ladder.records.files import write_atomically
from ladder.store import COUNTERS_FILE, headers, table_files

TABLE = "counters"


def rows(item: PlannedCase, kernels: Sequence[KernelCounters], origin: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a case; `origin` has their columns machine, commit and gpu."""
    case = item.case
    shared = {"experiment": item.experiment, "workload": case.workload, "variant": case.variant, "case": case.slug}
    return [{**origin, **shared, "cache": case.cache, **columns_of(kernel)} for kernel in kernels]


def columns_of(kernel: KernelCounters) -> dict[str, Any]:
    """The columns of a kernel."""
    return {
        "kernel": kernel.kernel,
        "launches": kernel.launches,
        "kernel_seconds": kernel.seconds,
        "issue": kernel.issue,
        "pipe": kernel.pipe,
        "pipe_share": kernel.pipes[kernel.pipe],
        **{f"{name.lower()}_share": share for name, share in kernel.memories.items()},
        "stall": kernel.stall,
        "stall_share": kernel.stalls.get(kernel.stall),
    }


def write(folder: Path | str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows into a machine's published folder, with those of other cases that are there.

    Raises LadderError if these can't be read.
    """
    path, table = Path(folder) / COUNTERS_FILE, pd.DataFrame(rows)
    if path.exists():
        earlier = read([path])
        names = ["experiment", "workload", "variant", "case"]
        keys, earlier_keys = (frame.set_index(names).index for frame in (table, earlier))
        table = pd.concat([earlier[~earlier_keys.isin(keys)], table])
    text = table.to_csv(index=False, float_format="%.4g")
    write_atomically(path, headers.compress(headers.complete_header(text, TABLE)))


def require_readable(folder: Path | str) -> None:
    """Raises LadderError if a machine's published folder has a table that can't be read, and so can't be extended."""
    path = Path(folder) / COUNTERS_FILE
    if path.exists():
        read([path])


def read(paths: Sequence[Path | str]) -> pd.DataFrame:
    """The rows of published tables. Raises LadderError for one that can't be read."""
    return pd.concat([pd.DataFrame(), *(table_files.read(Path(path), TABLE) for path in paths)])
