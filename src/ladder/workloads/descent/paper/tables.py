"""The tables of the elementary kernels: their rates in the earlier study's count and by their traffic, then and now."""

from functools import partial

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.store.study import median_time
from ladder.workloads.descent.paper.earlier import KERNELS, seconds
from ladder.workloads.descent.paper.lines import select_kernel
from ladder.workloads.descent_kernel.earlier import COLUMNS as VERSION2_COLUMNS
from ladder.workloads.descent_kernel.earlier import VERSION1_N, elements_written, traffic

COLUMNS = ((None, VERSION1_N), *VERSION2_COLUMNS)  # of all four tables of the study; version 1 has no number of blocks


def rate_table(study, amount):
    """The table of what `amount(kernel, n, version)` counts, in giga per second, in the earlier study and in ours."""
    rows, is_measured = [], False
    for name in KERNELS:
        cells = [code(name)]
        for block, n in COLUMNS:
            work = amount(name, n, 2 if block else 1)
            times = seconds(name, block, n), median_time(study.find(select_kernel(name, block, n)))
            cells += [digits(work / time / 1e9, 2) if time else NONE for time in times]
            is_measured |= times[1] is not None
        rows.append(cells)
    heads = {f"{block or 'v1'}, {n}": ["then", "now"] for block, n in COLUMNS}
    first, *heads = latex.group_head(["Kernel"], heads)
    return latex.table("l" + "rr" * len(COLUMNS), [f"Blocks, $n${first}", *heads], rows if is_measured else ())


# Giga-elements written per second, and gigabytes loaded and stored.
elements, bandwidth = (partial(rate_table, amount=amount) for amount in (elements_written, traffic))
