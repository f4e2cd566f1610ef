"""The table of the resources that the compiled kernels use on a multiprocessor."""

from ladder.records import documents
from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code


def kernels(reports):
    """Registers, shared memory, occupancy and spills of every built binary, as LaTeX."""
    order = ("architecture", "workload", "variant", "constants")
    contents = [documents.read(path, "kernels") for path in reports]
    rows = [
        binary_cells(content) for content in sorted(contents, key=lambda content: [content[name] for name in order])
    ]
    head = ["Built for", "Variant", "Constants", "Registers", "Shared", "Occupancy", "Spills", "Warnings"]
    empty_text = "No kernel was built: a run that measures builds them."
    return latex.long_table(r"ll>{\raggedright}p{0.27\linewidth}rrrrr", head, rows, empty_text)


def binary_cells(report):
    """The row of a binary: ranges over its kernels."""
    kernels = report["kernels"].values()
    shares = [int(100 * kernel["occupancy"]["share"] + 0.5) for kernel in kernels if kernel["occupancy"]]
    return [
        code(report["architecture"]),
        code(f"{report['workload']}/{report['variant']}"),
        latex.escape(report["constants"].removeprefix("dtype=").replace(",", ", ")),
        count_range(kernel["registers"] for kernel in kernels),
        count_range(kernel["shared"] + (kernel["dynamic"] or 0) for kernel in kernels),
        rf"{count_range(shares)}\,\%" if shares else NONE,
        count_range(kernel["spills"] for kernel in kernels),
        str(len(report["warnings"])),
    ]


def count_range(counts):
    """The range of some counts: 8, or 8--16."""
    distinct = sorted(set(counts))
    return str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]}--{distinct[-1]}"
