"""The tables of how wrong would still pass: the smallest errors refused by case, check and array, and by problem."""

import pandas as pd

from ladder.harness.sensitivity import ANY, ELEMENT, ROW
from ladder.records.case import Case
from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape
from ladder.store import stored

DTYPES = ("float64", "float32")
UNSEEN = "not seen"


def latex_table(path):
    """The table of the file that the verb `sensitivity` writes; a sentence without one."""
    frame, rows = stored.read(path, "sensitivity") if path else pd.DataFrame(), []
    titles = frame.apply(title, axis=1) if len(frame) else ()
    for case, part in frame.groupby(titles, sort=False) if len(frame) else ():
        rows += [None] if rows else []
        rows += [[rf"\multicolumn{{8}}{{@{{}}p{{0.7\linewidth}}}}{{\raggedright {code(case)}}}"], *rows_of(part)]
    kinds = " & ".join(rf"\multicolumn{{3}}{{c}}{{{dtype}}}" for dtype in DTYPES)
    head = [rf"&& {kinds} \\" + "\nCheck", "Array", *["Correct", "Element", "Row"] * len(DTYPES)]
    return latex.long_table(r"@{}>{\raggedright}p{0.1\linewidth}l" + "rrr" * len(DTYPES) + "@{}", head, rows)


def faults(path):
    """By problem and array the smallest error in one element that some check refuses, and which sees it first."""
    frame, rows = stored.read(path, "sensitivity") if path else pd.DataFrame(), []
    frame = frame[frame["fault"] == ELEMENT] if len(frame) else frame
    for workload, part in frame.groupby("workload", sort=False) if len(frame) else ():
        rows += [None] if rows else []
        rows += [
            [code(workload), code(array), first_to_see(group), *by_dtype(group)]
            for array, group in part.groupby("array", sort=False)
        ]
    kinds = " & ".join(rf"\multicolumn{{2}}{{c}}{{{code(dtype)}}}" for dtype in DTYPES)
    head = [rf"&&& {kinds} \\" + "\nProblem", "Array", "Refused by", *["Correct", "Element"] * len(DTYPES)]
    return latex.table("lll" + "rr" * len(DTYPES), head, rows)


def first_to_see(part):
    """The check that refuses the smallest error."""
    seen = part[(part["check"] != ANY) & (part["seen"] > 0)]
    return escape(seen.loc[seen["error"].idxmin(), "check"]) if len(seen) else NONE


def by_dtype(part):
    """For each dtype the share of its bound that the right result uses at most, and the smallest error refused."""
    for dtype in DTYPES:
        here = part[(part["dtype"] == dtype) & (part["check"] == ANY)]
        yield NONE if here["share"].isna().all() else latex.number(here["share"].max(), 1)
        if here["seen"].any():
            yield latex.number(here["error"].max(), 2)
        else:
            yield NONE if here.empty else UNSEEN


def title(row):
    """The case of a row without its dtype, seed, caches and tuning."""
    sizes = Case.parse(row["workload"], row["variant"], row["case"]).sizes
    words = ", ".join(f"{name}={value}" for name, value in sizes.items() if name not in ("dtype", "seed"))
    return f"{row['workload']}/{row['variant']}: {words}"


def rows_of(part):
    """Of one case, a row for each check and array in which it sees an error, for what sees none, and what none sees."""
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
    """For each dtype the share of the bound that the right result uses, and the smallest errors that are refused."""
    for dtype in DTYPES:
        here = part[part["dtype"] == dtype]
        share = here["share"].max()
        yield NONE if here.empty or pd.isna(share) else latex.number(share, 1)
        for fault in (ELEMENT, ROW):
            yield refused(here[here["fault"] == fault])


def refused(part):
    """The smallest error refused in the worst place that is seen, and how many of the places tried are, if not all."""
    if part.empty:
        return NONE
    worst = part.loc[part["seen"].idxmax()]
    if not worst["seen"]:
        return UNSEEN
    part = "" if worst["seen"] == worst["places"] else f" ({worst['seen']}/{worst['places']})"
    return latex.number(worst["error"], 2) + part
