"""The table of what the compiled kernels take of a multiprocessor."""

from ladder.records import documents
from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code


def kernels(reports):
    """Registers, shared memory, occupancy and spills of every kernel that was built."""
    order = ("architecture", "workload", "variant", "constants")
    contents = [documents.read(path, "kernels") for path in reports]
    rows = [binary(content) for content in sorted(contents, key=lambda content: [content[name] for name in order])]
    head = ["Built for", "Variant", "Constants", "Registers", "Shared", "Occupancy", "Spills", "Warnings"]
    nothing = "No kernel was built: a run that measures builds them."
    return latex.long_table(r"ll>{\raggedright}p{0.27\linewidth}rrrrr", head, rows, nothing)


def binary(report):
    """The row of one binary, over its kernels."""
    each = report["kernels"].values()
    shares = [int(100 * kernel["occupancy"]["share"] + 0.5) for kernel in each if kernel["occupancy"]]
    return [
        code(report["architecture"]),
        code(f"{report['workload']}/{report['variant']}"),
        latex.escape(report["constants"].removeprefix("dtype=").replace(",", ", ")),
        span(kernel["registers"] for kernel in each),
        span(kernel["shared"] + (kernel["dynamic"] or 0) for kernel in each),
        rf"{span(shares)}\,\%" if shares else NONE,
        span(kernel["spills"] for kernel in each),
        str(len(report["warnings"])),
    ]


def span(counts):
    """The lowest and the highest of some counts."""
    distinct = sorted(set(counts))
    return str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]}--{distinct[-1]}"
