"""The table of the elementary kernels, beside those of the earlier study."""

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.report.study import middle
from ladder.workloads.descent.paper.earlier import KERNELS, LOADS, seconds
from ladder.workloads.descent.paper.lines import kernel

MICRO = 1e-6


def tables(study):
    """Every table's LaTeX by its name, except the ladder's and the verdicts'."""
    return {"kernels": elementary(study)}


def elementary(study):
    """Microseconds of each kernel then and now, by block and N."""
    now = {name: [middle(study.find(kernel(name, *column))) for column in LOADS] for name in KERNELS}
    if not any(time for row in now.values() for time in row):
        return latex.table("", (), ())
    first, *heads = latex.grouped("Kernel", {f"{block}, {n}": ["then", "now"] for block, n in LOADS})
    rows = [[code(name), *cells(name, now[name])] for name in now]
    return latex.table("l" + "rr" * len(LOADS), [f"Block, $N${first}", *heads], rows)


def cells(name, now):
    """A kernel's times in pairs."""
    pairs = zip((seconds(name, *column) for column in LOADS), now, strict=True)
    return [digits(one / MICRO) if one else NONE for pair in pairs for one in pair]
