"""The tables of the supplement: break-even points, and every case."""

from dataclasses import replace

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.report.telling import amortisation
from ladder.report.telling.case_tables import (
    by_size,
    cases,
    codes,
    phase_cells,
    rate_cells,
    rows_by_size,
    ruled,
)
from ladder.report.telling.lines import LATEX_TIMES, place, select
from ladder.store import collect
from ladder.store.study import where
from ladder.workloads.gemv.paper.claims import COMPUTE
from ladder.workloads.gemv.paper.lines import DTYPE, ON_CARDS, PHASES


def break_even(study):
    """The number of products after which sending a matrix once pays, by matrix."""
    rows = []
    for (n, m), _ in by_size(study.frame("ranks, all sizes"), "n", "m"):
        kept, threads = (select(key, "ranks, all sizes", n=n, m=m) for key in ("resident", "openmp"))
        single, graph = replace(kept, tuning=kept.tuning | {"ranks": 1}), select("graph", "GPUs, all sizes", n=n, m=m)
        pairs = (kept, single), (kept, threads), (graph, threads)
        points = (amortisation.of_selections(study, *pair) for pair in pairs)
        rows.append([f"${n} \\times {m}$", *(amortisation.text(point) or NONE for point in points)])
    return latex.table("rrrr", ["Matrix", "ranks, one rank", "ranks, all threads", "GPUs, all threads"], rows)


def threads(study):
    """Every case on threads: its time and rate."""
    host = study.machine("host")
    rows = [
        [
            ", ".join(codes(case, "variant", "binding", "schedule")),
            f"{case['threads'].iloc[0]:.0f}",
            *rate_cells(study, host, case),
        ]
        for case in cases(study.frame("threads"))
    ]
    return latex.table("lrrrr", ["Variant", "Threads", "Time", "GB/s", "of the bandwidth"], rows)


def ranks(study):
    """Every case on ranks of the host, by matrix: its time, its phases, and the imbalance of the computation."""
    machine = study.machine("host")

    def row(case):
        computing = where(study.phases_of(machine, case), phase=COMPUTE)
        has_imbalance = "imbalance" in computing and len(computing)
        imbalance = digits(computing["imbalance"].median()) if has_imbalance else NONE
        return [*named(case), place(case.iloc[0], LATEX_TIMES), *phase_cells(study, machine, case, PHASES), imbalance]

    head = ["$n$", "Mode", "Variant", "Where", "Time", *PHASES, "sum", "imbalance"]
    frame = where(study.frame("ranks, all sizes"), device="mpi")
    return latex.long_table("rllrrrrrrrr", head, rows_by_size(frame, row, "n", "m"))


def named(case):
    """The cells of a case's number of rows, mode and variant."""
    return [str(case["n"].iloc[0]), *codes(case, "mode", "variant")]


def card(study):
    """Every case on one GPU, by matrix and type, with its block if it has one."""
    machine, groups = study.machine("card"), []
    every = machine.samples("gemv_gpu")
    for (n, m), double in reversed(by_size(where(every, dtype=DTYPE), "n", "m")):
        groups.append([])
        for case in double:
            first = case.iloc[0]
            tiles = {name: first[name] for name in ("block", "tile") if pd.notna(first.get(name))}
            single = where(every, n=n, m=m, dtype="float32", variant=first["variant"], **tiles)
            words = code(first["variant"]) + (f", {tiles['block']:.0f}" if "block" in tiles else "")
            cells = [cell for rows in (case, single) for cell in rate_cells(study, machine, rows)]
            groups[-1].append([f"${n} \\times {m}$", words, *cells])
    cells = ["time", "GB/s", "share"]
    head = latex.grouped(["Matrix", "Variant, block"], {"float64": cells, "float32": cells})
    return latex.table("rlrrrrrr", head, ruled(groups))


def cards(study):
    """Every case on GPUs, below the name of the machine: that of the chapter and that with most GPUs."""
    head, groups = ["$n$", "Mode", "Variant", "Pieces", "GPUs", "Time", *PHASES, "sum"], []
    machines = {study.machine(role).subject: study.machine(role) for role in ("cards", "widest")}
    for machine in (machine for name, machine in machines.items() if name):

        def row(case, machine=machine):
            first = case.iloc[0]
            pieces = f"{first['chunks']:.0f}" + (", graph" if first.get("graph") == "on" else "")
            return [*named(case), pieces, f"{first['ranks']:.0f}", *phase_cells(study, machine, case, PHASES)]

        frame = collect.concatenated([machine.samples(name, dtype=DTYPE) for name in ON_CARDS])
        name = [rf"\multicolumn{{{len(head)}}}{{l}}{{{code(machine.subject)}}}"]
        groups.append([name, None, *rows_by_size(frame, row, "n", "m")])
    return latex.long_table("rllrrrrrrrr", head, ruled(groups))
