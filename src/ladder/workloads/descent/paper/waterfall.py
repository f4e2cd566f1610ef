"""What each rung gains: the time of an iteration of a small system, from loops on the CPU to one launch for a solve."""

from ladder.report import study
from ladder.report.figures import layout, medians, peaks, waterfall
from ladder.report.rungs import measured
from ladder.workloads.descent.paper import query, rungs
from ladder.workloads.stream.paper.ceilings import bandwidths

TITLE = "What each rung of steepest descent gains"
CATEGORY = "Descent"
CAPTION = """\
The time of an iteration of steepest descent, rung by rung, peers below: on the card, rungs differ by what an iteration
waits for, the host, launches or barriers. A dot is the median of a process, a tick the prediction of the model, the
wide line the time in which A is read once from memory. Beside: the median of the dots, and how many times as fast a
rung is as the one above, with its 99 % interval.
"""
EXPERIMENTS = ("descent_ladder",)
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine."""
    tables = tables["descent_ladder"]
    frame, found = medians.samples(tables), {}
    for name in medians.machines(tables):
        rows = query.of_iterations(frame[frame["machine"] == name])
        if len(rows):
            found[name] = panel(of_one_size(rows), ceilings.get(name, peaks.NONE))
    return waterfall.figure(found, "time of an iteration", "A read once") if found else layout.empty("steepest descent")


def of_one_size(rows):
    """The ladder at the largest size, in single precision where there is a choice."""
    rows = study.where(rows, n=rows["n"].max())
    return study.where(rows, dtype=min(rows["dtype"]))


def panel(rows, ceilings):
    """A machine's problem, rungs and ceiling."""
    lines = [
        waterfall.Rung(
            one.label(own),
            one.variant,
            study.processes(own),
            rungs.predicted(one, own.iloc[0], reading(own.iloc[0], ceilings)),
            bool(own["converged"].all()),
            one.is_peer,
        )
        for one, own in measured(rungs.LINES, rows)
    ]
    first = rows.iloc[0]
    rates = bandwidths(ceilings, "cuda") or bandwidths(ceilings)
    least = query.size_of(first) / max(rates.values()) if rates else None
    return f"n = {first['n']:,}, {first['dtype']}", lines, least


def reading(row, ceilings):
    """The B/s at which the device of a case reads on its threads, or None."""
    threads = int(row["threads"]) if row["device"] == "host" else 1
    return bandwidths(ceilings, row["device"]).get(threads)
