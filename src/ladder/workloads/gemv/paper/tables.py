"""The tables of the supplement: break-even points, and every case."""

from dataclasses import replace

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.report.study import where
from ladder.report.telling import amortisation
from ladder.report.telling.case_tables import by_size, cases, phase_cells, place_in_latex, rate_cells, ruled
from ladder.report.telling.lines import select
from ladder.workloads.gemv.paper.claims import COMPUTE
from ladder.workloads.gemv.paper.lines import DTYPE, EXPERIMENTS, ON_CARDS, PHASES


def break_even(study):
    """The number of products after which sending a matrix once pays, by matrix."""
    rows = []
    for (n, m), _ in by_size(study.frame("ranks, all sizes"), "n", "m"):
        kept, threads = (select(key, "ranks, all sizes", n=n, m=m) for key in ("resident", "openmp"))
        one, graph = replace(kept, tuning=kept.tuning | {"ranks": 1}), select("graph", "GPUs, all sizes", n=n, m=m)
        points = (amortisation.of_selections(study, *pair) for pair in ((kept, one), (kept, threads), (graph, threads)))
        rows.append([matrix(n, m), *(amortisation.text(point) or NONE for point in points)])
    return latex.table("rrrr", ["Matrix", "ranks, one rank", "ranks, all threads", "GPUs, all threads"], rows)


def matrix(n, m):
    """The size of a matrix."""
    return f"${n} \\times {m}$"


def threads(study):
    """Every case on threads: its time and rate."""
    host = study.machine("host")
    rows = [
        [
            codes(case, "variant", "binding", "schedule"),
            f"{case['threads'].iloc[0]:.0f}",
            *rate_cells(study, host, case),
        ]
        for case in cases(study.frame("threads"))
    ]
    return latex.table("lrrrr", ["Variant", "Threads", "Time", "GB/s", "of the bandwidth"], rows)


def codes(rows, *columns):
    """The values of columns, as far as a case states them."""
    return ", ".join(code(rows[name].iloc[0]) for name in columns if isinstance(rows.iloc[0].get(name), str))


def ranks(study):
    """Every case on ranks of the host, by matrix: its time, its phases, and the imbalance of the computation."""
    machine, groups = study.machine("host"), []
    for (n, _), every in by_size(where(study.frame("ranks, all sizes"), device="mpi"), "n", "m"):
        first = [[str(n), *modes(case), place_in_latex(case.iloc[0])] for case in every]
        times = [[*phase_cells(study, machine, case, PHASES), imbalance(study, machine, case)] for case in every]
        groups.append([cells + more for cells, more in zip(first, times, strict=True)])
    head = ["$n$", "Mode", "Variant", "Where", "Time", *PHASES, "sum", "imbalance"]
    return latex.long_table("rllrrrrrrrr", head, ruled(groups))


def modes(rows):
    """A case's mode and variant."""
    return [code(rows[name].iloc[0]) for name in ("mode", "variant")]


def imbalance(study, machine, rows):
    """The imbalance of a case's computation."""
    computing = where(study.phases_of(machine, rows), phase=COMPUTE)
    return digits(computing["imbalance"].median()) if "imbalance" in computing and len(computing) else NONE


def card(study):
    """Every case on one GPU, by matrix and type."""
    machine, groups = study.machine("card"), []
    every = machine.samples(EXPERIMENTS["card"])
    for (n, m), double in reversed(by_size(where(every, dtype=DTYPE), "n", "m")):
        single = where(every, n=n, m=m, dtype="float32")
        first = [[matrix(n, m), with_block(case)] for case in double]
        pairs = [[rate_cells(study, machine, form) for form in (case, same_form(case, single))] for case in double]
        groups.append([cells + left + right for cells, (left, right) in zip(first, pairs, strict=True)])
    cells = ["time", "GB/s", "share"]
    head = latex.grouped(["Matrix", "Variant, block"], {"float64": cells, "float32": cells})
    return latex.table("rlrrrrrr", head, ruled(groups))


def with_block(rows):
    """A case's variant, with its block if it has one."""
    block = rows.iloc[0].get("block")
    return code(rows["variant"].iloc[0]) + ("" if pd.isna(block) else f", {block:.0f}")


def same_form(rows, others):
    """Those of other rows with the variant and the tiles of a case."""
    first = rows.iloc[0]
    tiles = {name: first[name] for name in ("block", "tile") if pd.notna(first.get(name))}
    return where(others, variant=first["variant"], **tiles)


def cards(study):
    """Every case on GPUs, below the name of the machine: that of the chapter and that with most GPUs."""
    head = ["$n$", "Mode", "Variant", "Pieces", "GPUs", "Time", *PHASES, "sum"]
    machines = {study.machine(role).subject: study.machine(role) for role in ("cards", "widest")}
    groups = []
    for machine in (machine for name, machine in machines.items() if name):
        name = [rf"\multicolumn{{{len(head)}}}{{l}}{{{code(machine.subject)}}}"]
        groups.append([name, *(line for group in on_gpus(study, machine) for line in (None, *group))])
    return latex.long_table("rllrrrrrrrr", head, ruled(groups))


def on_gpus(study, machine):
    """For every matrix a row for each case on the GPUs of a machine."""
    sizes = [size for name in ON_CARDS for size in by_size(machine.samples(EXPERIMENTS[name], dtype=DTYPE), "n", "m")]
    for (n, _), every in sorted(sizes, key=lambda size: size[0][0] * size[0][1]):
        first = [[str(n), *modes(case), pieces(case.iloc[0]), f"{case['ranks'].iloc[0]:.0f}"] for case in every]
        yield [[*cells, *phase_cells(study, machine, case, PHASES)] for cells, case in zip(first, every, strict=True)]


def pieces(row):
    """In how many pieces a rank's rows are sent, and whether a product is a graph."""
    return f"{row['chunks']:.0f}" + (", graph" if row.get("graph") == "on" else "")
