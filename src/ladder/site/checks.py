"""The comparisons of each case with its reference: for every check the one nearest to its bound."""

from ladder.site.compact import number
from ladder.store.study import CASE

COLUMNS = ("case", "check", "error", "bound", "count")


def rows(study, index):
    """[{COLUMNS}]: `case` is its position in the page's list, by `index`, the result of `cases.index_of`.

    `count` is the number of comparisons.
    """
    frame = study.all_rows("checks", "machine", *CASE, "process", "check", "error", "bound")
    if frame.empty:
        return []
    names = ["machine", *CASE, "check"]
    frame = frame.drop_duplicates([*names, "process"]).reset_index(drop=True)
    frame = frame.assign(share=(frame["error"] / frame["bound"].where(frame["bound"] > 0)).fillna(0.0))
    counts = frame.groupby(names).size()
    worst = frame.sort_values("share", ascending=False, kind="stable").drop_duplicates(names)
    return [
        {
            "case": index[tuple(row[name] for name in ("machine", *CASE))],
            "check": row["check"],
            "error": number(row["error"]),
            "bound": number(row["bound"]),
            "count": int(counts[tuple(row[name] for name in names)]),
        }
        for row in worst.sort_index().to_dict("records")
        if tuple(row[name] for name in ("machine", *CASE)) in index
    ]


def largest_share(checks):
    """The largest error over its bound among checks; None without any."""
    return max((row["error"] / row["bound"] for row in checks if row["bound"]), default=None)
