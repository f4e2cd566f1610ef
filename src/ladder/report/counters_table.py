"""The table of the published counters of kernels: how near their units are to peak rates, and what warps wait for."""

import re

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, percent, seconds
from ladder.store import counters

MIN_SHARE = 0.1  # of the time of all kernels of a case; the table has no others
MAX_CHARACTERS = 30  # of a kernel's name
HEAD = ["Machine", "Case", "Kernel", "Time", "Issue", "Busiest unit", "DRAM", "L2", "Most frequent stall"]
WIDTHS = (0.24, 0.17, 0.12)  # of the columns that break lines, in widths of a line


def table(paths):
    """The kernels in published tables of counters that take MIN_SHARE or more of their case's time, as LaTeX."""
    case, kernel, stall = (rf">{{\raggedright\arraybackslash}}p{{{width}\linewidth}}" for width in WIDTHS)
    return latex.long_table(f"l{case}{kernel}rrrrr{stall}", HEAD, list(rows(paths)), "No counters are published.")


def rows(paths):
    """Yield the cells of a kernel, the longest of a case first; names of machines and cases only in their first row."""
    frame = counters.read(paths)
    if frame.empty:
        return
    previous = None
    for (machine, _), experiment in frame.groupby(["machine", "experiment"], sort=False):
        slugs = experiment["case"].unique()
        for (workload, variant, slug), kernels in experiment.groupby(["workload", "variant", "case"], sort=False):
            name = " ".join([code(f"{workload}/{variant}"), latex.escape(distinction(slug, slugs))]).strip()
            shares = kernels["kernel_seconds"] / kernels["kernel_seconds"].sum()
            for kernel in kernels[shares >= MIN_SHARE].to_dict("records"):
                yield ["" if machine == previous else code(machine), name, *kernel_cells(kernel)]
                previous, name = machine, ""


def distinction(slug, slugs):
    """The sizes and tunings of a case that not all cases of its experiment have, or have with another value."""
    common = set.intersection(*(set(other.split(",")) for other in slugs))
    return ", ".join(part for part in slug.split(",") if part not in common)


def kernel_cells(kernel):
    """The cells of a kernel, a row of the table as a dictionary."""
    unit = f"{kernel['pipe']} {percent(kernel['pipe_share'], 2)}"
    shares = [percent(kernel[name], 2) for name in ("issue", "dram_share", "l2_share")]
    stall = NONE
    if pd.notna(kernel["stall_share"]):  # ncu may have counted none
        stall = f"{kernel['stall'].replace('_', ' ')} {percent(kernel['stall_share'], 2)}"
    return [code(short_name(kernel["kernel"])), seconds(kernel["kernel_seconds"]), shares[0], unit, *shares[1:], stall]


def short_name(kernel):
    """A kernel's name without its type, the arguments of templates and functions, and what exceeds MAX_CHARACTERS."""
    kernel = re.sub(r"(\(anonymous namespace\)|<unnamed>)::", "", kernel)
    while kernel != (kernel := re.sub(r"<[^<>]*>", "", kernel)):
        pass
    name = (kernel.partition("(")[0].split() or [kernel])[-1]
    return name if len(name) <= MAX_CHARACTERS else f"{name[: MAX_CHARACTERS - 3]}..."
