"""The table of the elementary kernels, beside those of the earlier study."""

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.report.study import middle
from ladder.workloads.descent.paper import kernels

MICRO = 1e-6


def tables(study):
    """Every table's LaTeX by its name, but for those of the ladder and the verdicts."""
    return {"kernels": elementary(study)}


def elementary(study):
    """Microseconds of each kernel then and now, by block and N."""
    now = {name: [middle(kernels.now(study, name, *column)) for column in kernels.LOADS] for name in kernels.VERSION2}
    if not any(seconds for row in now.values() for seconds in row):
        return latex.table("", (), ())
    count = len(kernels.LOADS)
    head = " & ".join(rf"\multicolumn{{2}}{{c}}{{{block}, {n}}}" for block, n in kernels.LOADS)
    rules = "".join(rf"\cmidrule(lr){{{2 * at + 2}-{2 * at + 3}}}" for at in range(count))
    rows = [[code(name), *cells(name, now[name])] for name in now]
    titles = [f"Block, $N$ & {head} \\\\\n{rules}\nKernel", *["then", "now"] * count]
    return latex.table("l" + "rr" * count, titles, rows)


def cells(name, now):
    """A kernel's times in pairs."""
    pairs = zip((kernels.then(name, *column) for column in kernels.LOADS), now, strict=True)
    return [digits(one / MICRO) if one else NONE for pair in pairs for one in pair]
