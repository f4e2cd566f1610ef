"""What the numbers and tables of matrix-vector products ask of a study: whose measurements, of which matrices."""

import pandas as pd

from ladder.report import collect, study
from ladder.report.latex import code, percent, rate
from ladder.report.phrases import counted, thread_count

MODES = ("ship", "resident")


def study_of(found, experiment, beside=None, **conditions):
    """The study about its subject, or if it has no cases of an experiment, about the machine with most of them.

    Machines with cases of the experiment `beside` come before those without.
    """

    rank = {}
    for name in (found.subject, *found.machines()):
        machine = found.of(name)
        if cases := study.count(machine.samples(experiment, **conditions)):
            has_both = beside is not None and len(machine.samples(beside)) > 0
            rank[name] = name == found.subject, has_both, cases
    return found.of(max(rank, key=rank.get, default=None))


def matrix(frame):
    """The size of a matrix."""
    return f"${frame['n'].iloc[0]} \\times {frame['m'].iloc[0]}$" if len(frame) else None


def machine(found):
    """Where a part was measured."""
    return code(found.subject) if found.subject else None


def throughput(rows):
    """B/s of a case at its median time."""
    return rows["bytes"].iloc[0] / rows["seconds"].median()


def bandwidth(rows, ceiling):
    """B/s at the median time, and its share of a ceiling."""
    if rows.empty:
        return {"rate": None, "share": None}
    return {
        "rate": rate(throughput(rows), "bandwidth"),
        "share": percent(throughput(rows) / ceiling) if ceiling else None,
    }


def sizes(found, *experiments):
    """The timed calls of some experiments by matrix, the smallest first: a list of frames."""
    frames = [frame for frame in map(found.samples, experiments) if len(frame)]
    if not frames:
        return []
    every = collect.with_integers(pd.concat(frames))
    columns = [name for name in ("n", "m", "dtype", "cache") if name in every]
    parts = [rows for _, rows in every.groupby(columns, sort=False)]
    return sorted(parts, key=lambda rows: rows["flops"].iloc[0])


def phases(found, rows):
    """The phases of a case."""
    if rows.empty:
        return rows
    row = rows.iloc[0]
    every = found.rows("samples", row["experiment"], variant=row["variant"], case=row["case"])
    return every[every["phase"] != "total"]


def most_ranks(rows, **conditions):
    """The rows of the case with most ranks among those of one variant and mode."""
    rows = study.where(rows, **conditions)
    return study.where(rows, ranks=rows["ranks"].max()) if len(rows) else rows


def nodes(rows):
    """The nodes among which ranks were spread, where these were several."""
    known = rows["nodes"].dropna() if "nodes" in rows else ()
    most = max(known, default=1)
    return counted(most, "node") if most > 1 else None


def setting(rows):
    """Where a case runs: the number of ranks, and of the threads in each; or None."""
    if rows.empty:
        return None
    row = rows.iloc[0]
    if row["device"] == "mpi_cuda":
        return counted(row["ranks"], "GPU")
    words = counted(row["ranks"], "rank")
    return f"{words} of {thread_count(row['threads'])}" if row["variant"] == "mpi_openmp" else words


def method(rows):
    """A case's variant, and whether its steps are launched as one; or None."""
    if rows.empty:
        return None
    row = rows.iloc[0]
    return code(row["variant"]) + (" as one CUDA graph" if row.get("graph") == "on" else "")


def eager(rows):
    """The cases whose steps the host launches one by one."""
    return rows[rows["graph"] != "on"] if "graph" in rows else rows
