"""Where the time of calls goes: bars of phases below a dot for the whole call, in panels."""

from ladder.report import study as queries
from ladder.report.figures import bars, formats, layout, methods, theme
from ladder.report.figures.theme import Line2D, Patch
from ladder.report.telling.chapter_study import parts
from ladder.report.telling.lines import place, select
from ladder.statistics import intervals


def figure(study, rows, colours, empty):
    """Rows of panels, {title: [panel]}, from `panel`; `colours` are those of the phases."""
    rows = {title: panels for title, every in rows.items() if (panels := list(filter(None, every)))}
    if not rows:
        return layout.empty(empty)
    every = [bar for panels in rows.values() for _, groups, _ in panels for _, drawn in groups for bar in drawn]
    for bar in every:
        bar["parts"] = [(1e3 * seconds, colours[phase]) for phase, seconds in bar["times"].items()]
    phases = {phase for bar in every for phase in bar["times"]}
    entries = [Patch(facecolor=colour, label=phase) for phase, colour in colours.items() if phase in phases]
    call = Line2D([], [], color=theme.DARK, marker="o", linestyle="", label="whole call")
    return bars.figure(rows, "time (ms)", 0.85, [*entries, call])


def panel(study, source, keys, title):
    """The lines of these keys on every number of ranks; `title(row)` is of the first row. None without any."""
    order = methods.ordered(list(methods.looks()))
    groups = [(study.line(key).variant, bars_of(study, source, key)) for key in keys]
    groups = sorted((group for group in groups if group[1]), key=lambda group: order.index(group[0]))
    return (title(study.frame(source).iloc[0]), groups, ()) if groups else None


def bars_of(study, source, key):
    """A bar of a line for every number of ranks."""
    rows = queries.where(study.frame(source), variant=study.line(key).variant)
    selections = [select(key, source, ranks=count) for count in queries.values(rows, "ranks")]
    return [bar(study, selection) for selection in selections if len(study.find(selection))]


def bar(study, selection):
    """A case as a bar of milliseconds; behind a plus the time before the first call."""
    rows = study.find(selection)
    seconds, interval = queries.middle(rows), intervals.summary(queries.processes(rows))
    is_alone = rows["device"].iloc[0] == "mpi" and rows["ranks"].iloc[0] == 1  # so that nothing moves
    before = queries.NO_ROWS if is_alone else study.phases_before(selection)
    return {
        "name": place(rows.iloc[0]),
        "value": 1e3 * seconds,
        "median": 1e3 * seconds,
        "low": 1e3 * min(interval.low, seconds),
        "high": 1e3 * max(interval.high, seconds),
        "converged": bool(rows["converged"].all()),
        "times": parts(rows, study.phases(selection)),
        "text": formats.time(seconds) + (f" + {formats.time(queries.middle(before))}" if len(before) else ""),
    }
