"""The table of the plan: the number of measured cases, and which cases were not measured, and why."""

import functools
import itertools

from ladder.planning.reasons import parse
from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, enumeration, escape
from ladder.store import study as queries
from ladder.store.study import CASE

# Columns that names of cases don't show; all others are the variant, sizes and tunings.
OTHER_COLUMNS = ("machine", "experiment", "workload", "case", "why")
COUNT_COLUMNS = ("ranks", "threads")
# Values that are shown with the name of their column.
AMBIGUOUS_VALUES = ("on", "off", "cold", "warm")


def plan(study):
    """A row for each experiment of the study's machine, and one for each other machine, as LaTeX."""
    rows = []
    for experiment in study.tables:
        samples, missing = study.rows("samples", experiment), study.rows("missing", experiment)
        if len(samples) or len(missing):
            counts = [str(queries.count_cases(frame)) for frame in (samples, missing)]
            rows.append([code(experiment), *counts, reasons(missing, samples)])
    frames = [study.all_rows(table, "machine", *CASE) for table in ("samples", "missing")]
    for name in study.machines():
        if name != study.machine_name:
            counts = [str(queries.count_cases(queries.where(frame, machine=name))) for frame in frames]
            rows += [None, [code(name), *counts, "another machine, in total"]]
    columns = r"@{}>{\raggedright}p{0.22\linewidth}rr>{\raggedright\arraybackslash}p{0.56\linewidth}@{}"
    return latex.long_table(columns, ["Experiment", "Measured", "Not", "Which not, and why"], rows)


def reasons(missing, samples):
    """The cases without a record, grouped by reason.

    A variant without any measured case is named alone if all of its cases have the same reason.
    """
    if missing.empty:
        return NONE
    why = missing["why"].map(reason_of)
    parts = []
    single_reason_variants = {name for name, reasons in why.groupby(missing["variant"]) if reasons.nunique() == 1}
    whole_variants = single_reason_variants - set(samples.get("variant", ()))
    for reason, rows in missing.groupby(why, sort=False):
        is_whole = rows["variant"].isin(whole_variants)
        variants = map(code, rows.loc[is_whole, "variant"].unique())
        variant_names = [f"every case of {enumeration(variants)}"] if is_whole.any() else []
        parts.append(f"{escape(reason)}: {'; '.join([*variant_names, *case_names(rows[~is_whole])])}")
    return ". ".join(parts)


def reason_of(sentence):
    """The reason in a sentence, without the number of cores that a case needs, so that different cases share it."""
    reason = parse(sentence)
    if reason.kind == "cores":
        return f"more threads or ranks than the {reason.available} cores available"
    return str(reason)


def case_names(rows):
    """The names of some rows' cases, in as few texts as `combine` finds."""
    names = rows.drop_duplicates(CASE)
    columns = naming_columns(names)
    cases = [tuple(row) for row in names[columns].astype(object).where(names[columns].notna(), None).to_numpy()]
    return combine(tuple(columns), tuple(cases)) if cases else []


def naming_columns(rows):
    """The columns that name the rows' cases, sorted by `sort_key`: variant, threads, and others if needed."""
    columns = []
    names = (name for name in rows if name not in OTHER_COLUMNS)
    for column in sorted(names, key=lambda name: sort_key(name, rows[name])):
        is_enough = columns and not rows.duplicated(columns).any()
        if column in ("variant", "threads") or (rows[column].nunique(dropna=False) > 1 and not is_enough):
            columns.append(column)
    return columns


def sort_key(name, values):
    """The sort key of a column in the name of a case: the variant, words, counts, other numbers."""
    is_words = values.dropna().map(lambda value: isinstance(value, str)).all()
    if name in COUNT_COLUMNS:
        return 2, COUNT_COLUMNS.index(name)
    return (0 if name == "variant" else 1 if is_words else 3), 0


@functools.cache  # splits in different orders lead to the same cases
def combine(columns, cases):
    """Names for cases, tuples of values; all combinations of some values share one: `openmp, blas threads 4, 6`."""
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
    """The names of the cases with each value of the column at `index`, combined separately."""
    values = dict.fromkeys(case[index] for case in cases)
    groups = (tuple(case for case in cases if case[index] == value) for value in values)
    return [name for group in groups for name in combine(columns, group)]


def value_list(column, values):
    """One column's values, after the column's name if some value is a number or AMBIGUOUS_VALUES."""
    values = [value for value in values if value is not None]
    text = ", ".join(map(code, values))
    are_clear = all(isinstance(value, str) and value not in AMBIGUOUS_VALUES for value in values)
    return text if are_clear else f"{escape(column)} {text}"
