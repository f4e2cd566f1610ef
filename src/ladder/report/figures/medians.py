"""Prepare tables for figures: medians with intervals per case, by machine and by problem."""

import numpy as np
import pandas as pd

from ladder.catalogue import workloads
from ladder.report.figures import methods
from ladder.statistics import intervals, quotients
from ladder.store import study

FAR = 1e30  # beyond every axis: drawn in place of an infinite end of an interval
SUMMARY = ["median", "low", "high", "converged", "processes"]


def machines(*tables):
    """The machines of some experiments' tables, sorted by name, published ones last."""
    return study.sort_machines(
        {name for experiment in tables for frame in experiment.values() if len(frame) for name in frame["machine"]}
    )


def samples(tables):
    """An experiment's timed calls, with a column `method` (see `methods`).

    A case that states no number of threads, such as one on a GPU, has 1.
    """
    frame = tables["samples"]
    if not len(frame):
        return pd.DataFrame(columns=["machine", "method", "device"])
    threads = frame["threads"].fillna(1).astype(int) if "threads" in frame else 1
    return methods.with_methods(frame.assign(threads=threads)[frame["phase"] == "total"])


def join_tables(tables):
    """The tables of several experiments, {experiment: tables}, as those of one: {samples}."""
    frames = [experiment["samples"] for experiment in tables.values()]
    return {"samples": pd.concat([frame for frame in frames if len(frame)] or frames[:1])}


def problems(frame, ignored_sizes=()):
    """[(first row, all rows)] for each combination of sizes and cache but `ignored_sizes`, in the order of the plan."""
    if not len(frame):
        return []
    sizes = workloads.load(frame["workload"].iloc[0]).SIZES
    names = [name for name in (*sizes, "cache") if name in frame and name not in ignored_sizes]
    return [(rows.iloc[0], rows) for _, rows in frame.groupby(names, sort=False, dropna=False)]


def by_machine(frame, order, ignored_sizes=()):
    """{machine: its `problems`} for machines with any, in this order."""
    by_name = {name: problems(frame[frame["machine"] == name], ignored_sizes) for name in order if len(frame)}
    return {name: rows for name, rows in by_name.items() if rows}


def summaries(rows, by=("method", "threads")):
    """A row per case: the columns of `by`, median, low and high in seconds, converged, and the processes' samples.

    Cases with the same values in `by` have a row each, in the order of the plan; a row has the columns of its case if
    `rows` has them. The median is that of the processes' medians, as in tables; the interval is extended to contain it.
    """
    by, cases = list(by), []
    names = [*by, *(name for name in ("machine", *study.CASE) if name in rows and name not in by)]
    for key, group in rows.groupby(names, sort=False, dropna=False):
        processes = study.processes(group)
        interval, median = intervals.summary(processes), quotients.median_time(processes)
        low, high = min(interval.low, median), max(interval.high, median)
        cases.append((*key, median, low, high, bool(group["converged"].all()), processes))
    return pd.DataFrame(cases, columns=[*names, *SUMMARY]).sort_values(by, kind="stable", ignore_index=True)


def first_cases(summaries, by):
    """The summaries of the first case for each combination of the columns `by`."""
    return summaries.drop_duplicates(list(by))


def rates(summaries, work):
    """Summaries of times converted to those of rates: `work` over time."""
    high = work / np.maximum(summaries["low"], 1 / FAR)
    return summaries.assign(median=work / summaries["median"], low=work / summaries["high"], high=high)


def condition_words(row):
    """The words of a problem's title besides its size: the dtype unless it is float64, the cache unless it is cold."""
    dtype = [] if row["dtype"] == "float64" else [row["dtype"]]
    return dtype if row["cache"] == "cold" else [*dtype, f"{row['cache']} cache"]
