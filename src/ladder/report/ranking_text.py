"""Rankings as text for a terminal and as JSON."""

import math

from ladder.errors import pluralize
from ladder.machine import revision
from ladder.quantities import digits, rate, seconds
from ladder.report import ratios
from ladder.report.terminal import (
    MAX_TERMINAL_SPAN,
    NONE,
    UNKNOWN,
    is_narrow,
    percent,
    seconds_with_interval,
)
from ladder.statistics import verdicts
from ladder.store import study
from ladder.store.results import FROM_RECORDS, RECORDS
from ladder.terminal import table, titled_table, wrap

UNPAIRED_MARK = "~"  # before a ratio whose sides share no campaign
UNCONVERGED_MARK = "*"  # after a variant whose median isn't as precise as the protocol asks
NO_GPU_MARK = "‡"  # after the fastest where no variant on a GPU was measured, though some were at other sizes
LOCAL_MARK = "°"  # after a variant whose result comes from this folder's records
NOT_SLOWER = "not slower †"  # than the fastest, on the processes on which it wasn't chosen
SUMMARY_HEAD = ("sizes", "fastest", "on", "time", "ceiling", "next", "on", "slower by [99 %]")
RANKING_HEAD = ("", "variant", "on", "time [99 %]", "rate", "ceiling", "slower by [99 %]", "tuning")
DEVICE_NAMES = {"host": "CPU", "cuda": "GPU", "mpi": "ranks", "mpi_cuda": "GPUs", "offload": "GPUs"}
RIGHT_ALIGNED = ("", "rate", "ceiling", "time")


def summary(rankings):
    """Yield a line for each set of sizes of a machine: its fastest variant, and how much slower the next one is."""
    common = common_sizes(rankings)
    if common:
        yield f"All with {join_pairs(common)}."
    titles, rows = [], []
    for ranking in rankings:
        first, *others = ranking.entries
        next_cells = (
            [name(others[0]), device_name(others[0]), slower_by(others[0].over_fastest)] if others else [NONE] * 3
        )
        titles.append(join_pairs({key: value for key, value in ranking.sizes.items() if key not in common}))
        rows.append(
            [
                name(first) + NO_GPU_MARK * ranking.lacks_gpus,
                device_name(first),
                seconds(first.seconds.value),
                share(first),
                *next_cells,
            ]
        )
    yield from titled_table(SUMMARY_HEAD, titles, rows, RIGHT_ALIGNED)


def details(ranking):
    """Yield the lines of a ranking: its sizes, then its entries."""
    yield from wrap(join_pairs(ranking.sizes))
    rows = [
        [
            str(number),
            name(entry),
            device_name(entry),
            seconds_with_interval(entry.seconds),
            rate(entry.rate, entry.unit),
            share(entry),
            slower_by(entry.over_fastest) if entry.over_fastest else "fastest" + NO_GPU_MARK * ranking.lacks_gpus,
            tuning(entry),
        ]
        for number, entry in enumerate(ranking.entries, 1)
    ]
    yield from table(RANKING_HEAD, rows, RIGHT_ALIGNED)


def notes(rankings):
    """Yield what the marks mean, and on how many campaigns and commits the rankings rest."""
    yield from marks(rankings)
    entries = [entry for ranking in rankings for entry in ranking.entries]
    campaigns = {key for entry in entries for key in study.by_campaign(entry.rows) if key}
    commits = {commit for entry in entries for commit in entry.rows["commit"].dropna().unique()}
    yield f"From {pluralize(len(campaigns), 'campaign')} and {pluralize(len(commits), 'commit')}."


def marks(rankings):
    """Yield what the marks mean, as far as they occur."""
    entries = [entry for ranking in rankings for entry in ranking.entries]
    compared = [entry.over_fastest for entry in entries if entry.over_fastest]
    yield "ceiling: share of the best measured rate of arithmetic (a) or memory (m), by precision and threads."
    if any(slower_by(quotient).startswith(UNPAIRED_MARK) for quotient in compared):
        yield f"{UNPAIRED_MARK}: measured in no campaign together with the fastest, so the ratio supports no verdict."
    if any(NOT_SLOWER in slower_by(quotient) for quotient in compared):
        yield (
            "†: the fastest was chosen on half of its processes. On the others, which give the ratios, this variant is "
            "as fast or faster."
        )
    if any(UNKNOWN in slower_by(quotient) for quotient in compared):
        factor = f"within a factor of {MAX_TERMINAL_SPAN}"
        yield f"{UNKNOWN}: too few processes, or too different ones, to tell the ratio {factor}."
    if not all(is_converged(entry) for entry in entries):
        yield f"{UNCONVERGED_MARK}: out of time before the interval of the median was as narrow as the protocol asks."
    if any(ranking.lacks_gpus for ranking in rankings):
        gap = "at these sizes the machine has measured no variant on a GPU"
        yield f"{NO_GPU_MARK}: the fastest of those measured; {gap}."
    if any(map(is_local_record, entries)):
        yield f"{LOCAL_MARK}: measured in this folder ({RECORDS}); the others are published."
    if any(entry.tuning_count > 1 for entry in entries):
        yield "The best tuning of each variant is shown; --all shows the others."


def name(entry):
    """The cell of an entry's variant."""
    return entry.case.variant + UNCONVERGED_MARK * (not is_converged(entry)) + LOCAL_MARK * is_local_record(entry)


def is_local_record(entry):
    """Whether an entry's times are those of a record of this folder, and not published ones."""
    return entry.rows["origin"].iloc[0] == FROM_RECORDS


def device_name(entry):
    """The cell of what an entry runs on: the CPU, a GPU, several GPUs or MPI ranks."""
    return DEVICE_NAMES[entry.rows["device"].iloc[0]]


def is_converged(entry):
    """Whether all processes of an entry's case converged."""
    return bool(entry.rows["converged"].all())


def common_sizes(rankings):
    """The sizes that all rankings share, if there are several."""
    first, *others = (ranking.sizes for ranking in rankings)
    return {key: value for key, value in first.items() if others and all(o.get(key) == value for o in others)}


def join_pairs(pairs):
    """Names and values as text: n=4096 m=4096."""
    return " ".join(f"{key}={value}" for key, value in pairs.items())


def share(entry):
    """The cell of an entry's share of a ceiling, with the ceiling's first letter."""
    return percent(entry.share) + (f" {entry.ceiling[0]}" if entry.ceiling else "  ")


def tuning(entry):
    """The cell of an entry's tuning, with the precision of its arithmetic if that is lower than its dtype says."""
    precision = entry.rows["precision"].iloc[0]
    lower = {} if precision in (entry.case.sizes["dtype"], entry.case.tuning.get("math")) else {"precision": precision}
    return join_pairs(entry.case.tuning | entry.case.variables | lower) or NONE


def slower_by(value):
    """The cell of how much slower an entry is than the fastest, as a ratio or in words.

    If the interval spans a factor of MAX_TERMINAL_SPAN or more, only its lower end is printed ("at least"), or UNKNOWN
    if that end isn't above 1. UNPAIRED_MARK precedes all but UNKNOWN if no campaign measured both.
    """
    text = slower_by_text(value)
    return text if value.spread or text == UNKNOWN else UNPAIRED_MARK + text


def slower_by_text(value):
    """The text of `slower_by`, without its mark."""
    if not is_narrow(value):
        return f"at least {digits(value.low, 2)} ×" if value.low > 1 else UNKNOWN
    if verdicts.outcome_of(value.low, value.high) == verdicts.EQUAL:
        return f"tie within {verdicts.equal_within(value.low, value.high)} %"
    return ratios.plain(value) if value.value >= 1 else NOT_SLOWER


def document(ranking):
    """A ranking as JSON."""
    return {
        "machine": ranking.machine,
        "sizes": ranking.sizes,
        "unmeasured": list(ranking.unmeasured),
        "ranking": [entry_document(entry) for entry in ranking.entries],
    }


def entry_document(entry):
    """An entry of a ranking as JSON; what isn't known is null."""
    rows = entry.rows
    return {
        "case": entry.case.key,
        "variant": entry.case.variant,
        "tuning": entry.case.tuning | entry.case.variables,
        "tunings": entry.tuning_count,
        "device": rows["device"].iloc[0],
        "precision": rows["precision"].iloc[0],
        "seconds": interval(entry.seconds),
        "rate": entry.rate,
        "unit": entry.unit,
        "share": entry.share,
        "ceiling": entry.ceiling,
        "over_fastest": interval(entry.over_fastest) if entry.over_fastest else None,
        "processes": int(rows["process"].nunique()),
        "samples": len(rows),
        "converged": is_converged(entry),
        "origin": rows["origin"].iloc[0],
        "campaigns": [key for key in study.by_campaign(rows) if key],
        "sources": [revision.parse(commit) for commit in rows["commit"].dropna().unique()],
    }


def interval(ratio):
    """A time or ratio with its interval at 99 % as JSON.

    An end that isn't bounded is null, and so is the number of campaigns, except for a ratio taken within campaigns.
    """
    low, high = (end if 0 < end < math.inf else None for end in (ratio.low, ratio.high))
    return {"value": ratio.value, "low": low, "high": high, "campaigns": ratio.spread and ratio.spread.campaigns}
