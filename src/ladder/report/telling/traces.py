"""Timelines of lines: what ran when in the first process of their traced cases."""

from ladder.report import study as queries


def of_selections(study, experiment, selections, machines=None):
    """{machine and title: rows} of an experiment's traces and {title: selection}; on all machines that were traced."""
    traces = study.study.tables.get(experiment, {}).get("traces", queries.NO_ROWS)
    titled = {}
    for machine in queries.ordered(queries.values(traces, "machine")) if machines is None else machines:
        first = queries.where(traces, machine=machine, process=0)
        for title, selection in selections.items():
            if len(rows := study.line(selection).rows(first)):
                titled[f"{machine}: {title}"] = rows
    return titled
