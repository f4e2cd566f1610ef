"""The curves of the first process of each case, such as the loss of a training by epoch."""

from ladder.catalogue import workloads
from ladder.site.compact import number
from ladder.store.study import CASE

COLUMNS = ("case", "names", "points")


def rows(study, index):
    """[{COLUMNS}], a row for each case with a curve: `case` is its position in the page's list, by `index`.

    `index` is the result of `cases.index_of`. `names` are the workload's CURVE; `points` are lists of numbers in their
    order, of which the first is the axis.
    """
    by_case = {}
    for tables in study.tables.values():
        frame = tables["curves"]
        for key, part in frame.groupby(["machine", *CASE], sort=False) if len(frame) else ():
            names = list(workloads.load(key[1]).CURVE)
            if key in index and set(names) <= {*part} and key not in by_case:
                first = part[part["process"] == part["process"].min()]
                points = [[*map(number, point)] for point in first[names].to_numpy(dtype=float)]
                by_case[key] = {"case": index[key], "names": names, "points": points}
    return list(by_case.values())
