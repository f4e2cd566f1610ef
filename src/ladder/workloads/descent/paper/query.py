"""What the chapter asks of a study: whose measurements, which cases, and the time of one iteration."""

import pandas as pd

from ladder.report import collect, study
from ladder.report.latex import seconds
from ladder.workloads.descent.paper import earlier

LADDER, VERSION1, LARGE, LARGEST = "descent_ladder", "descent_version1", "descent_large", "descent_largest"
CONVERGENCE = "descent_convergence"
# The elementary kernels, as the earlier study timed them, and as it may have launched them.
KERNELS = (
    "descent_kernels",
    "descent_kernels_128",
    "descent_kernels_512",
    "descent_kernels_swapped",
    "descent_kernels_square",
    "descent_kernels_large",
)
DEFAULTS = {"load": 4, "launch": "right"}  # of version 2, where a case says nothing of them
# Solves to a tolerance, and by Cholesky.
SOLUTIONS = ("descent_solution", "descent_threads", "descent_direct")
N, DTYPE = 512, "float32"  # of the ladder, where the earlier study ended


def chosen(found):
    """The study about the one machine of the chapter: the first with a ladder of the full size, if possible on a card.

    Toy sizes decide nothing: without the full size it is about none.
    """
    there = [found.of(name) for name in found.machines()]
    for wanted in ({"device": "cuda"}, {}):
        for one in there:
            if len(one.samples(LADDER, n=N, dtype=DTYPE, **wanted)):
                return one
    return found.of(None)


def of_iterations(rows):
    """Timed solves with the seconds of one of their iterations."""
    return rows.assign(seconds=rows["seconds"] / rows["steps"]) if len(rows) else rows


def iterations(found, experiment, **conditions):
    """The subject's timed solves of an experiment, with the seconds of an iteration."""
    return of_iterations(found.samples(experiment, **conditions))


def ladder(found):
    """The ladder at its size, by iteration."""
    return iterations(found, LADDER, n=N, dtype=DTYPE)


def solves(found):
    """The timed solves to a tolerance, and those by Cholesky beside them."""
    return collect.concatenated([found.samples(one) for one in SOLUTIONS])


def condition(found, column):
    """What kappa or tolerance all solves to a tolerance have; None where they differ, or without any."""
    rows = solves(found)
    known = study.values(rows[rows["algorithm"] != "direct"], column) if len(rows) else []
    return known[0] if len(known) == 1 else None


def timed(rows):
    """The seconds of a case, or None."""
    found = study.middle(rows)
    return None if found is None else seconds(found, 2)


def steps(rows):
    """The iterations of a case, or None."""
    return f"\\num{{{int(study.one_case(rows)['steps'].median())}}}" if len(rows) else None


def rate(rows):
    """Bytes of A a second at that median, of rows whose seconds are an iteration's; None without any."""
    return size_of(rows.iloc[0]) / study.middle(rows) if len(rows) else None


def size_of(row):
    """The bytes of A."""
    return float(row["n"]) ** 2 * itemsize(row["dtype"])


def itemsize(dtype):
    """The bytes of an element."""
    return {"float32": 4, "float64": 8}[dtype]


def of_kernel(found, name, block, **conditions):
    """The timed calls of an elementary kernel by version 2, of every experiment, each case once."""
    parts = [found.samples(one, variant="cuda_version2", kernel=name, block=block, **conditions) for one in KERNELS]
    rows = collect.concatenated(parts)
    if rows.empty:
        return rows
    rows = rows.drop_duplicates(["case", "process", "sample"])
    stated = {column: rows[column] if column in rows else pd.Series(None, rows.index, object) for column in DEFAULTS}
    return rows.assign(**{column: stated[column].fillna(value) for column, value in DEFAULTS.items()})


def kernel(found, name, block, n, launch="right"):
    """The timed calls of one case of an elementary kernel by version 2.

    A thread has as many elements as in the earlier study or, where that wasn't measured, as few as were.
    """
    rows = study.where(of_kernel(found, name, block, n=n), launch=launch)
    if rows.empty:
        return rows
    wanted, loads = earlier.LOADS.get((block, n)), study.values(rows, "load")
    rows = study.where(rows, load=wanted if wanted in loads else loads[0])
    return study.where(rows, case=min(rows["case"]))  # a default may be stated or not
