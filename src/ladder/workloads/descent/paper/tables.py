"""The table of the elementary kernels, beside those of the earlier study."""

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.store.study import middle
from ladder.workloads.descent.paper.earlier import KERNELS, LOADS, seconds
from ladder.workloads.descent.paper.lines import kernel


def kernels(study):
    """Microseconds of each elementary kernel in the earlier study and in ours, by block and N."""
    rows, is_measured = [], False
    for name in KERNELS:
        pairs = [(seconds(name, *column), middle(study.find(kernel(name, *column)))) for column in LOADS]
        rows.append([code(name), *(digits(time / 1e-6) if time else NONE for pair in pairs for time in pair)])
        is_measured |= any(now for _, now in pairs)
    first, *heads = latex.group_head(["Kernel"], {f"{block}, {n}": ["then", "now"] for block, n in LOADS})
    return latex.table("l" + "rr" * len(LOADS), [f"Block, $N${first}", *heads], rows if is_measured else ())
