"""The measured cases: a row for each case of an experiment on a machine, with all samples of its processes."""

import functools

import pandas as pd

from ladder.catalogue import datasets, traits
from ladder.records.case import Case
from ladder.report.figures import medians
from ladder.site.compact import number
from ladder.store import published_tables, rates
from ladder.store import study as queries
from ladder.store.study import CASE, RECORD

MICROSECONDS_PER_SECOND = 1e6
SAMPLE_DIGITS = 5  # significant digits of a sample
# The columns whose values a row has from the first sample of its case.
COPIED_COLUMNS = ("device", "precision", "flops", "bytes", "cache")
COLUMNS = (*RECORD, *COPIED_COLUMNS, "seconds", "low", "high", "converged", "share", "joules", "needs", "processes")
PROCESS_COLUMNS = ["campaign", "commit"]
SAMPLE_COLUMNS = (
    *RECORD,
    *COPIED_COLUMNS,
    "phase",
    "process",
    "sample",
    "seconds",
    "converged",
    "threads_found",
    "dtype",
)


def rows(study):
    """[{COLUMNS}] of all machines; `seconds` is the median with its 95 % interval, `share` that of the ceiling.

    `processes` are [[campaign, commit, number, samples in µs]]. The campaign is "" if the published rows have none, and
    the number is that of the process in its file.
    """
    calls = timed_calls(study)
    if calls.empty:
        return []
    first = dict(zip(*first_rows(calls, RECORD), strict=True))
    sources = process_sources(calls)
    share_of = functools.partial(share, functools.cache(ceilings_of(study)))
    cases = []
    for summary in medians.summaries(calls, RECORD).to_dict("records"):
        key = tuple(summary[name] for name in RECORD)
        row = first[key]
        cases.append(
            {name: summary[name] for name in RECORD}
            | {name: row[name] for name in COPIED_COLUMNS}
            | {"flops": number(row["flops"]), "bytes": number(row["bytes"])}
            | {"seconds": number(summary["median"]), "low": number(summary["low"]), "high": number(summary["high"])}
            | {"converged": bool(summary["converged"]), "share": share_of(row, summary["median"])}
            | {"joules": number(row["energy"]), "needs": required_files(Case.parse(*key[2:]))}
            | {"processes": processes(sources[key], summary["processes"])}
        )
    return cases


def timed_calls(study):
    """The timed calls of all experiments and machines, with columns for what tables that were published early lack."""
    calls = study.all_rows("samples", *SAMPLE_COLUMNS, *PROCESS_COLUMNS, "joules", "sustained")
    if calls.empty:
        return calls
    calls = calls[calls["phase"] == "total"].reset_index(drop=True)
    calls = calls.reindex(columns=[*SAMPLE_COLUMNS, *PROCESS_COLUMNS, "joules", "sustained"])
    return calls.assign(
        **{name: calls[name].astype(object).fillna("") for name in PROCESS_COLUMNS}, energy=energy(calls)
    )


def energy(calls):
    """Joules of a run of each row's case, as `store.study.energy` defines them; missing where they weren't measured."""
    valid = calls.assign(joules=pd.to_numeric(calls["joules"].where(calls["sustained"].notna())))
    by_process = valid.groupby([*RECORD, "process"])["joules"].median()
    by_case = by_process.groupby(level=RECORD).median()
    return pd.MultiIndex.from_frame(calls[RECORD]).map(by_case).astype(float)


def first_rows(frame, columns):
    """The keys of a frame's groups, and the first row of each as a dictionary."""
    first = frame.drop_duplicates(columns)
    return [*first[columns].itertuples(index=False, name=None)], first.to_dict("records")


def process_sources(calls):
    """{key of a RECORD: [(campaign, commit, number in its file)]} of its processes in their order."""
    by_record = {}
    for (*key, process), row in sorted(
        zip(*first_rows(calls, [*RECORD, "process"]), strict=True), key=lambda pair: pair[0]
    ):
        number_in_file = int(process) % published_tables.PROCESS_OFFSET
        by_record.setdefault(tuple(key), []).append((*(row[name] for name in PROCESS_COLUMNS), number_in_file))
    return by_record


def processes(sources, samples):
    """The processes of a case as COLUMNS has them."""
    return [
        [*source, [number(seconds * MICROSECONDS_PER_SECOND, SAMPLE_DIGITS) for seconds in times]]
        for source, times in zip(sources, samples, strict=True)
    ]


def ceilings_of(study):
    """A function (machine, device, threads, precision, dtype) that returns the best (FLOP/s, B/s), each maybe None."""

    def ceilings(machine, device, threads, precision, dtype):
        row = {"device": device, "threads_found": threads, "precision": precision, "dtype": dtype}
        machine_study = study.for_machine(machine)
        return rates.products_of(machine_study, row), rates.memory_of(machine_study, row, threads)

    return ceilings


def share(ceilings, row, seconds):
    """The minimum time by the machine's ceilings over the measured time; None on several ranks or without ceilings.

    The ceiling of memory counts for cold caches alone, because warm data may be in a cache.
    """
    if row["device"] not in ("host", "cuda"):
        return None
    flops, bandwidth = ceilings(*(row[name] for name in ("machine", "device", "threads_found", "precision", "dtype")))
    floors = [row["flops"] / flops] if flops else []
    floors += [row["bytes"] / bandwidth] if bandwidth and row["cache"] == "cold" else []
    return number(max(floors, default=0) / seconds) or None


def required_files(case):
    """The files that must exist before a case can be measured: its data and its reference, separated by blanks."""
    slug = traits.reference_slug(case)
    reference = [] if slug is None else [f"results/references/{case.workload}/{slug}.npz"]
    return " ".join([*datasets.files_of(case.workload, case.sizes), *reference])


def index_of(cases):
    """{(machine, workload, variant, case): index of its first row}."""
    index = {}
    for position, row in enumerate(cases):
        index.setdefault(tuple(row[name] for name in ("machine", *CASE)), position)
    return index


def position(index, rows):
    """The index of the case of some rows; None without one."""
    keys = queries.cases(rows)
    return index.get(keys[0]) if keys else None
