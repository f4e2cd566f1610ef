"""From tables to what figures show: medians with intervals per case, machine by machine and problem by problem."""

import numpy as np
import pandas as pd

from ladder.catalogue import workloads
from ladder.report.figures import style
from ladder.statistics import intervals

PUBLISHED = " (published)"
SUMMARY = ["median", "low", "high", "converged", "processes"]


def machines(*tables):
    """The machines of some experiments' tables: measured here first, then published, each in order of its name."""
    found = {name for one in tables for frame in one.values() if len(frame) for name in frame["machine"]}
    return sorted(found, key=lambda name: (name.endswith(PUBLISHED), name))


def samples(tables, total=True):
    """An experiment's timed calls, or without `total` its phases, with a column `method`; empty where there are none.

    The method is what a figure compares: the variant, with the binding of its threads where it has one, or, for a
    training whose products are another's, the product's. A case that doesn't count threads, such as one on a GPU, has
    one.
    """
    frame = tables["samples"]
    if not len(frame):
        return pd.DataFrame(columns=["machine", "method", "device"])
    counted = frame["threads"].fillna(1).astype(int) if "threads" in frame else 1
    return named(frame.assign(threads=counted)[(frame["phase"] == "total") == total])


def named(frame):
    """A table with the column `method`."""
    method = frame["variant"]
    if "binding" in frame:
        method = (method + " " + frame["binding"]).fillna(method)
    return frame.assign(method=frame["product"].fillna(method) if "product" in frame else method)


def problems(frame, but=()):
    """A table by sizes and cache: [(row of the first case, all rows of the problem)], in the order of the plan."""
    if not len(frame):
        return []
    sizes = workloads.load(frame["workload"].iloc[0]).SIZES
    names = [name for name in (*sizes, "cache") if name in frame and name not in but]
    return [(rows.iloc[0], rows) for _, rows in frame.groupby(names, sort=False, dropna=False)]


def by_machine(frame, order):
    """The problems of each machine that has any: {machine: [(row, rows)]}."""
    found = {name: problems(frame[frame["machine"] == name]) for name in order}
    return {name: some for name, some in found.items() if some}


def summaries(rows, by=("method", "threads")):
    """A row per case: the columns of `by`, median, low and high in seconds, converged, and the processes' samples."""
    found = []
    for key, group in rows.groupby(list(by), sort=True):
        processes = [part["seconds"].to_numpy() for _, part in group.groupby("process")]
        one = intervals.summary(processes)
        found.append((*key, one.median, one.low, one.high, bool(group["converged"].all()), processes))
    return pd.DataFrame(found, columns=[*by, *SUMMARY])


def rates(found, work):
    """Summaries of times as those of rates, for so much work."""
    return found.assign(
        median=work / found["median"], low=work / found["high"], high=work / np.maximum(found["low"], 1 / style.FAR)
    )


def product(row, form=True):
    """A matrix product in words: `nn: 1000 × 300 × 784`, with dtype and cache where they aren't the usual."""
    shape = f"{row['m']} × {row['n']} × {row['k']}"
    return ", ".join([f"{row['form']}: {shape}" if form else shape, *unusual(row)])


def vector_product(row):
    """The matrix of a matrix-vector product in words: `8,192 × 16,384`, with dtype and cache as in `product`."""
    return ", ".join([f"{row['n']:,} × {row['m']:,}", *unusual(row)])


def training(row):
    """A training in words, in three lines."""
    first = ", ".join([str(row["layers"]), row["activation"], *unusual(row)])
    return f"{first}\n{row['images']:,} images of {row['source']}\nbatches of {row['batch']:,}"


def unusual(row):
    """The dtype unless it is float64, the cache unless it is cold."""
    words = [] if row["dtype"] == "float64" else [row["dtype"]]
    return words if row["cache"] == "cold" else [*words, f"{row['cache']} cache"]
