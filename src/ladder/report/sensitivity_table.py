"""The tables of sensitivity: the smallest injected errors that the checks refuse.

Rows come from the CSV file of the verb `sensitivity`: `error` is the smallest error in an `array` that a `check`, or
ANY of them, refuses, in one ELEMENT or a whole ROW, at `seen` of the `places` tried; `share` is the share of its bound
that the correct result uses.
"""

import pandas as pd

from ladder.harness.sensitivity import ANY, ELEMENT, ROW
from ladder.records.case import Case
from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape
from ladder.store import table_files

DTYPES = ("float64", "float32")
NOT_SEEN = "not seen"


def latex_table(path):
    """All rows of the file by case, check and array, as LaTeX; a sentence without a file."""
    frame, rows = table_files.read(path, "sensitivity") if path else pd.DataFrame(), []
    titles = frame.apply(title, axis=1) if len(frame) else ()
    for case, part in frame.groupby(titles, sort=False) if len(frame) else ():
        rows += [None] if rows else []
        rows += [[rf"\multicolumn{{8}}{{@{{}}p{{0.7\linewidth}}}}{{\raggedright {code(case)}}}"], *rows_of(part)]
    dtype_heads = " & ".join(rf"\multicolumn{{3}}{{c}}{{{dtype}}}" for dtype in DTYPES)
    head = [rf"&& {dtype_heads} \\" + "\nCheck", "Array", *["Correct", "Element", "Row"] * len(DTYPES)]
    return latex.long_table(r"@{}>{\raggedright}p{0.1\linewidth}l" + "rrr" * len(DTYPES) + "@{}", head, rows)


def faults(path):
    """By workload and array the smallest error of one element that any check refuses, and that check, as LaTeX."""
    frame, rows = table_files.read(path, "sensitivity") if path else pd.DataFrame(), []
    frame = frame[frame["fault"] == ELEMENT] if len(frame) else frame
    for workload, part in frame.groupby("workload", sort=False) if len(frame) else ():
        rows += [None] if rows else []
        rows += [
            [code(workload), code(array), most_sensitive_check(group), *by_dtype(group)]
            for array, group in part.groupby("array", sort=False)
        ]
    dtype_heads = " & ".join(rf"\multicolumn{{2}}{{c}}{{{code(dtype)}}}" for dtype in DTYPES)
    head = [rf"&&& {dtype_heads} \\" + "\nProblem", "Array", "Refused by", *["Correct", "Element"] * len(DTYPES)]
    return latex.table("lll" + "rr" * len(DTYPES), head, rows)


def most_sensitive_check(part):
    """The check that refuses the smallest error of some rows."""
    seen = part[(part["check"] != ANY) & (part["seen"] > 0)]
    return escape(seen.loc[seen["error"].idxmin(), "check"]) if len(seen) else NONE


def by_dtype(part):
    """For each dtype the largest share of a bound that the correct result uses, and the smallest error refused."""
    for dtype in DTYPES:
        rows = part[(part["dtype"] == dtype) & (part["check"] == ANY)]
        yield NONE if rows["share"].isna().all() else latex.number(rows["share"].max(), 1)
        if rows["seen"].any():
            yield latex.number(rows["error"].max(), 2)
        else:
            yield NONE if rows.empty else NOT_SEEN


def title(row):
    """The case of a row without its dtype, seed, cache protocol and tuning."""
    sizes = Case.parse(row["workload"], row["variant"], row["case"]).sizes
    words = ", ".join(f"{name}={value}" for name, value in sizes.items() if name not in ("dtype", "seed"))
    return f"{row['workload']}/{row['variant']}: {words}"


def rows_of(part):
    """The cells of a case: for each check the arrays in which it refuses an error, and arrays in which none does."""
    for check, group in part[part["check"] != ANY].groupby("check", sort=False):
        arrays = group[group["seen"] > 0]["array"].unique()
        for array in arrays:
            yield [escape(check), code(array), *cells(group[group["array"] == array])]
        if not len(arrays):
            yield [escape(check), NONE, *cells(group)]
    for array, group in part[part["check"] == ANY].groupby("array", sort=False):
        if not group["seen"].any():
            yield [NONE, code(array), *cells(group)]


def cells(part):
    """For each dtype the share of the bound that the correct result uses, and the smallest errors refused."""
    for dtype in DTYPES:
        rows = part[part["dtype"] == dtype]
        share = rows["share"].max()
        yield NONE if rows.empty or pd.isna(share) else latex.number(share, 1)
        for fault in (ELEMENT, ROW):
            yield refused_error(rows[rows["fault"] == fault])


def refused_error(part):
    """The smallest error refused, with the number of places where it is, as in (3/4), unless it is refused in all."""
    if part.empty:
        return NONE
    row = part.loc[part["seen"].idxmax()]
    if not row["seen"]:
        return NOT_SEEN
    count = "" if row["seen"] == row["places"] else f" ({row['seen']}/{row['places']})"
    return latex.number(row["error"], 2) + count
