"""Where the time of calls goes: bars of phases below a dot for the whole call, in panels."""

from ladder.report.figures import bars, formats, layout, theme
from ladder.report.figures.theme import Line2D, Patch
from ladder.report.telling.chapter_study import parts
from ladder.report.telling.lines import place
from ladder.statistics import intervals
from ladder.store import study as queries


def figure(rows, colours, empty):
    """Rows of panels, {title: [panel]}, from `panel`; `colours` are those of the phases, in their order."""
    rows = {title: panels for title, every in rows.items() if (panels := list(filter(None, every)))}
    if not rows:
        return layout.empty(empty)
    every = [bar for panels in rows.values() for _, groups, _ in panels for _, drawn in groups for bar in drawn]
    for bar in every:
        order = sorted(bar["times"], key=list(colours).index)
        bar["parts"] = [(1e3 * bar["times"][phase], colours[phase]) for phase in order]
    phases = {phase for bar in every for phase in bar["times"]}
    entries = [Patch(facecolor=colour, label=phase) for phase, colour in colours.items() if phase in phases]
    call = Line2D([], [], color=theme.DARK, marker="o", linestyle="", label="whole call")
    return bars.figure(rows, "time (ms)", 0.85, [*entries, call])


def panel(study, title, groups, with_before=False):
    """Bars in groups, {words: [(name, selection)]}; None without any measurement.

    A bar without a name has its place; `with_before` says the time before the first call, behind a plus.
    """
    measured = {
        words: [bar(study, name, side, with_before) for name, side in sides if len(study.find(side))]
        for words, sides in groups.items()
    }
    measured = [(words, drawn) for words, drawn in measured.items() if drawn]
    return (title, measured, ()) if measured else None


def bar(study, name, selection, with_before):
    """A case as a bar of milliseconds."""
    rows = study.find(selection)
    seconds, interval = queries.middle(rows), intervals.summary(queries.processes(rows))
    is_alone = rows["device"].iloc[0] == "mpi" and rows["ranks"].iloc[0] == 1  # so that nothing moves
    before = study.phases(selection, before=True) if with_before and not is_alone else queries.NO_ROWS
    return {
        "name": name or place(rows.iloc[0]),
        "value": 1e3 * seconds,
        "low": 1e3 * min(interval.low, seconds),
        "high": 1e3 * max(interval.high, seconds),
        "converged": bool(rows["converged"].all()),
        "times": parts(rows, study.phases(selection)),
        "text": formats.time(seconds) + (f" + {formats.time(queries.middle(before))}" if len(before) else ""),
    }
