"""Timelines of lines: what ran when in the first process of their traced cases."""

from ladder.store import study as queries


def of_selections(study, experiment, selections, machines=None):
    """{machine and title: rows} of an experiment's traces and {title: selection}; by default on all traced machines."""
    traces = study.study.tables.get(experiment, {}).get("traces", queries.NO_ROWS)
    machines = queries.ordered(queries.values(traces, "machine")) if machines is None else machines
    first = {name: queries.where(traces, machine=name, process=0) for name in machines}
    lines = {title: study.line(selection) for title, selection in selections.items()}
    rows = {f"{name}: {title}": line.rows(first[name]) for name in machines for title, line in lines.items()}
    return {title: traced for title, traced in rows.items() if len(traced)}
