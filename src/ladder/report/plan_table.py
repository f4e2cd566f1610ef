"""The table of the plan: how many cases were measured, and which were not, and why."""

import itertools

from ladder.planning.reasons import parse
from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape, listed
from ladder.store import study as queries
from ladder.store.study import CASE

# Columns that are no part of a case's name; the others are sizes and tunings.
NO_NAME = ("machine", "experiment", "workload", "case", "why")
COUNTS = ("ranks", "threads")
# Words that need the name of their column.
BARE = ("on", "off", "cold", "warm")


def plan(study):
    """How many cases were measured and which were not, and why: the subject's by experiment, other machines' in all."""
    rows = []
    for experiment in study.tables:
        ran, absent = study.rows("samples", experiment), study.rows("missing", experiment)
        if len(ran) or len(absent):
            counts = [str(queries.count(frame)) for frame in (ran, absent)]
            rows.append([code(experiment), *counts, reasons(absent, ran)])
    every = [study.all_rows(table, "machine", *CASE) for table in ("samples", "missing")]
    for name in study.machines():
        if name != study.subject:
            counts = [str(queries.count(queries.where(frame, machine=name))) for frame in every]
            rows += [None, [code(name), *counts, "another machine, in all"]]
    columns = r"@{}>{\raggedright}p{0.22\linewidth}rr>{\raggedright\arraybackslash}p{0.56\linewidth}@{}"
    return latex.long_table(columns, ["Experiment", "Measured", "Not", "Which not, and why"], rows)


def reasons(absent, ran):
    """The cases without a record, grouped by why; by its name alone a variant of which none ran, for one reason."""
    if absent.empty:
        return NONE
    why = absent["why"].map(group)
    parts = []
    have_one_reason = {name for name, reasons in why.groupby(absent["variant"]) if reasons.nunique() == 1}
    alone = have_one_reason - set(ran.get("variant", ()))
    for reason, rows in absent.groupby(why, sort=False):
        is_whole = rows["variant"].isin(alone)
        whole = [f"every case of {listed(map(code, rows.loc[is_whole, 'variant'].unique()))}"] if is_whole.any() else []
        parts.append(f"{escape(reason)}: {'; '.join([*whole, *named(rows[~is_whole])])}")
    return ". ".join(parts)


def group(sentence):
    """The reason of a group of cases, which may need different numbers of cores."""
    reason = parse(sentence)
    if reason.kind == "cores":
        return f"more threads or ranks than the {reason.available} cores available"
    return str(reason)


def named(rows):
    """The cases of some rows, in groups."""
    names = rows.drop_duplicates(CASE)
    columns = naming_columns(names)
    cases = [tuple(row) for row in names[columns].astype(object).where(names[columns].notna(), None).to_numpy()]
    return grouped(columns, cases) if cases else []


def naming_columns(rows):
    """The fewest columns that distinguish the rows' cases, variant and threads always: words first, then counts."""
    columns = []
    for column in sorted((name for name in rows if name not in NO_NAME), key=lambda name: order(name, rows[name])):
        is_enough = columns and not rows.duplicated(columns).any()
        if column in ("variant", "threads") or (rows[column].nunique(dropna=False) > 1 and not is_enough):
            columns.append(column)
    return columns


def order(name, values):
    """Where a column stands in the name of a case: the variant, words, counts, other numbers."""
    is_words = values.dropna().map(lambda value: isinstance(value, str)).all()
    if name in COUNTS:
        return 2, COUNTS.index(name)
    return (0 if name == "variant" else 1 if is_words else 3), 0


def grouped(columns, cases):
    """Cases in as few words as products of values allow: `openmp, blas, threads 4, 6`."""
    choices = [list(dict.fromkeys(case[index] for case in cases)) for index in range(len(columns))]
    if len(set(cases)) == len(list(itertools.product(*choices))):
        return [
            " ".join(
                value_list(column, values) for column, values in zip(columns, choices, strict=True) if values != [None]
            )
        ]
    splits = (split(columns, cases, index) for index, values in enumerate(choices) if len(values) > 1)
    return min(splits, key=len)


def split(columns, cases, index):
    """The groups of the cases with each value of one column."""
    values = dict.fromkeys(case[index] for case in cases)
    return [part for value in values for part in grouped(columns, [case for case in cases if case[index] == value])]


def value_list(column, values):
    """One column's values, with the column's name where the values don't speak for themselves."""
    values = [value for value in values if value is not None]
    listed_values = ", ".join(map(code, values))
    speak = all(isinstance(value, str) and value not in BARE for value in values)
    return listed_values if speak else f"{escape(column)} {listed_values}"
