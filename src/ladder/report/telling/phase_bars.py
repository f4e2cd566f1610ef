"""The figure of phases: for each case stacked bars of its phases' times, and a dot for the whole call, in panels."""

from ladder.report.figures import bars, formats, layout, medians, theme
from ladder.report.figures.theme import Line2D, Patch
from ladder.report.telling.chapter_study import phase_times_of_call
from ladder.report.telling.lines import parallelism
from ladder.store import study as queries


def figure(rows, colours, subject):
    """The figure of {title of a row: panels of `panel`}; `colours` is {phase: colour} in the order of the phases."""
    rows = {title: measured for title, panels in rows.items() if (measured := list(filter(None, panels)))}
    if not rows:
        return layout.empty(subject)
    all_bars = [bar for panels in rows.values() for _, groups, _ in panels for _, group in groups for bar in group]
    for bar in all_bars:
        order = sorted(bar["times"], key=list(colours).index)
        bar["parts"] = [(1e3 * bar["times"][phase], colours[phase]) for phase in order]
    phases = {phase for bar in all_bars for phase in bar["times"]}
    entries = [Patch(facecolor=colour, label=phase) for phase, colour in colours.items() if phase in phases]
    call = Line2D([], [], color=theme.DARK, marker="o", linestyle="", label="whole call")
    return bars.figure(rows, "time (ms)", 0.85, [*entries, call])


def panel(study, title, groups, with_preparation=False):
    """A panel of bars in groups, {heading: [(name, selection)]}; None without any measurement.

    A bar without a name has its threads, ranks or GPUs; `with_preparation` appends the time before calls: `+ 2 s`.
    """
    bars_of = {
        heading: [bar(study, *pair, with_preparation) for pair in pairs if len(study.find(pair[1]))]
        for heading, pairs in groups.items()
    }
    measured = [(heading, group) for heading, group in bars_of.items() if group]
    return (title, measured, ()) if measured else None


def bar(study, name, selection, with_preparation):
    """A selection's case as a bar in milliseconds, a dict as in `bars.draw_groups`."""
    rows = study.find(selection)
    (case,) = medians.summaries(rows, ["case"]).itertuples()
    is_one_rank = rows["device"].iloc[0] == "mpi" and rows["ranks"].iloc[0] == 1  # which distributes nothing before
    preparation = study.phases(selection, outside=True) if with_preparation and not is_one_rank else queries.NO_ROWS
    return {
        "name": name or parallelism(rows.iloc[0]),
        "value": 1e3 * case.median,
        "low": 1e3 * case.low,
        "high": 1e3 * case.high,
        "converged": case.converged,
        "times": phase_times_of_call(rows, study.phases(selection)),
        "text": " + ".join(map(formats.time, filter(None, (case.median, queries.median_time(preparation))))),
    }
