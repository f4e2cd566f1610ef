"""The stored cases of a system, ranked by time within each set of sizes.

The fastest tuning of a variant, and the fastest variant, are chosen on half of their processes; the other half gives
the ratios to the fastest (`statistics.selection`). A ratio is taken within the campaigns that measured both cases;
without any, it supports no verdict, and a variant with a single tuning takes part with all its processes.
"""

from dataclasses import dataclass, replace

import pandas as pd

from ladder.catalogue import workloads
from ladder.records.case import Case
from ladder.report import ratios
from ladder.statistics.quotients import Ratio
from ladder.store import ceilings, rates, roofs, study

ARITHMETIC, MEMORY = "arithmetic", "memory"
GPU_DEVICES = ("cuda", "mpi_cuda", "offload")  # the devices with GPUs


@dataclass(frozen=True)
class Entry:
    """A case of a ranking.

    `seconds` is its median time with the interval at 99 %; `rate` is in `unit`, FLOP/s or B/s; `share` is that of the
    `ceiling` that is closest, ARITHMETIC or MEMORY; both are None without one. `over_fastest` is the ratio to the time
    of the fastest, None for itself. `tuning_count` is the number of its variant's cases of which it is the best,
    `test_rows` are of processes other than those on which it was chosen.
    """

    case: Case
    rows: pd.DataFrame
    test_rows: pd.DataFrame
    tuning_count: int
    seconds: Ratio
    rate: float
    unit: str
    share: float | None
    ceiling: str | None
    over_fastest: Ratio | None = None


@dataclass(frozen=True)
class Ranking:
    """The entries of a machine with the same sizes and cache protocol, the fastest first.

    `unmeasured` are the rungs that the machine has measured, but not at these sizes; `lacks_gpus` says whether it has
    measured variants that use GPUs, but none at these sizes.
    """

    machine: str
    sizes: dict
    entries: list
    unmeasured: tuple = ()
    lacks_gpus: bool = False


def rankings(results, filters=None, every_tuning=False):
    """The Rankings of `store.results.Results`, the least work first.

    `filters` are {size, tuning or "cache": text} that cases must have; with `every_tuning`, a variant has an entry for
    each of its tunings.
    """
    cases_by_sizes, devices_by_sizes = {}, {}
    for (variant, slug), rows in results.calls.groupby(["variant", "case"], sort=False):
        case = Case.parse(rows["workload"].iloc[0], variant, slug)
        devices_by_sizes.setdefault(sizes_of(case), {})[variant] = rows["device"].iloc[0]
        if matches(case, filters or {}):
            cases_by_sizes.setdefault(sizes_of(case), {})[variant, slug] = case, rows
    workload = results.calls["workload"].iloc[0] if len(results.calls) else None
    devices = {name: device for by_variant in devices_by_sizes.values() for name, device in by_variant.items()}
    ranked = [
        replace(rank(results, cases, every_tuning), **unmeasured_fields(workload, devices, devices_by_sizes[sizes]))
        for sizes, cases in cases_by_sizes.items()
    ]
    return sorted(ranked, key=lambda ranking: float(ranking.entries[0].rows["bytes"].iloc[0]))


def unmeasured_fields(workload, devices, measured):
    """The fields `unmeasured` and `lacks_gpus` of a Ranking.

    `devices` are all variants of the machine, `measured` those at these sizes, both {variant: device}.
    """
    on_gpus = [name for name, device in devices.items() if device in GPU_DEVICES]
    missing = [name for name in workloads.rungs(workload) if name in devices and name not in measured]
    return {"unmeasured": tuple(missing), "lacks_gpus": bool(on_gpus) and measured.keys().isdisjoint(on_gpus)}


def sizes_of(case):
    """A case's sizes and cache protocol, as its slug begins."""
    return Case(case.workload, case.variant, case.sizes, {}, case.cache).slug


def texts_of(case):
    """{name: text} of a case's sizes, cache protocol, tuning and variables."""
    return dict(pair.split("=", 1) for pair in case.slug.split(","))


def matches(case, filters):
    """Whether a case has these values, given as texts; a size or tuning that it lacks matches nothing."""
    texts = texts_of(case)
    return all(is_same(texts.get(name), value) for name, value in filters.items())


def is_same(text, value):
    """Whether two texts are the same value: 1 is 1.0."""
    try:
        return text == value or (text is not None and float(text) == float(value))
    except ValueError:
        return False


def rank(results, cases, every_tuning):
    """The Ranking of cases, {(variant, slug): (case, rows)}, of the same sizes."""
    rows_by_variant = {}
    for key, (_, rows) in cases.items():
        rows_by_variant.setdefault(key if every_tuning else key[0], {})[key] = rows
    entries = []
    for tunings in rows_by_variant.values():
        best, test_rows = study.best_and_test_rows(tunings)
        entries.append(entry_of(results, *cases[best], test_rows, len(tunings)))
    fastest, rows_of_fastest = study.best_and_test_rows({entry.case.key: entry.rows for entry in entries})
    others = [entry for entry in entries if entry.case.key != fastest]
    (first,) = (entry for entry in entries if entry.case.key == fastest)
    ordered = [with_ratio(entry, rows_of_fastest) for entry in sorted(others, key=lambda entry: entry.seconds.value)]
    sizes = {**first.case.sizes, "cache": first.case.cache}
    return Ranking(results.machine, sizes, [first, *ordered])


def entry_of(results, case, rows, test_rows, tuning_count):
    """The Entry of a case, without its ratio to the fastest."""
    median, interval = study.median_time(rows), ratios.over_seconds(rows, 1.0)
    seconds = Ratio(median, min(interval.low, median), max(interval.high, median))
    work = ceilings.work_column(case.workload)
    amounts = {name: float(rows[name].iloc[0]) for name in ("flops", "bytes")}
    share, ceiling = share_of(results.ceilings, rows.iloc[0], amounts, median)
    return Entry(
        case, rows, test_rows, tuning_count, seconds, amounts[work] / median, roofs.UNITS[work], share, ceiling
    )


def with_ratio(entry, rows_of_fastest):
    """An entry with its ratio to the fastest, from processes on which neither was chosen.

    In a common campaign, both cases' test rows are of the same turns, so their processes form pairs. Without one, a
    single tuning uses all its processes for a narrower interval, even those on which it lost against the fastest, so
    its ratio is slightly too large.
    """
    is_paired = bool({*study.by_campaign(entry.test_rows)} & {*study.by_campaign(rows_of_fastest)} - {None, ""})
    rows = entry.test_rows if is_paired or entry.tuning_count > 1 else entry.rows
    times, times_of_fastest = study.by_campaign(rows), study.by_campaign(rows_of_fastest)
    return replace(entry, over_fastest=ratios.between(times, times_of_fastest, study.cases(rows, rows_of_fastest)))


def share_of(machine, row, amounts, seconds):
    """The share of the ceiling that is closest, and which it is: (share, ARITHMETIC or MEMORY), or (None, None).

    The memory's ceiling is one of cold caches. Ceilings are those of one host or one GPU.
    """
    if row["device"] not in ("host", "cuda"):
        return None, None
    work_and_rates = {ARITHMETIC: (amounts["flops"], rates.products_of(machine, row))}
    if row["cache"] == "cold":
        work_and_rates[MEMORY] = amounts["bytes"], rates.memory_of(machine, row, int(row["threads_found"]))
    shares = [(work / rate / seconds, name) for name, (work, rate) in work_and_rates.items() if work and rate]
    return max(shares, default=(None, None))
