"""The tables of the supplement: break-even points, and every case."""

from dataclasses import replace

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.report.study import where
from ladder.report.telling import amortisation
from ladder.report.telling.case_tables import by_size, cases, phased, rated, ruled
from ladder.report.telling.lines import select
from ladder.workloads.gemv.paper.claims import COMPUTE
from ladder.workloads.gemv.paper.lines import DTYPE, EXPERIMENTS, ON_CARDS, PHASES


def tables(study):
    """Every table's LaTeX by its name, except the ladder's and the verdicts'."""
    return {
        "break_even": break_even(study),
        "threads": threads(study),
        "ranks": ranks(study),
        "card": card(study),
        "cards": cards(study),
    }


def break_even(study):
    """After how many products the sending has paid, by matrix."""
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
    rows = [
        [name_of(one), f"{one['threads'].iloc[0]:.0f}", *rated(study, study.machine("host"), one)]
        for one in cases(study.frame("threads"))
    ]
    return latex.table("lrrrr", ["Variant", "Threads", "Time", "GB/s", "of the bandwidth"], rows)


def name_of(rows):
    """A case's variant with the tunings that tell it apart."""
    first = rows.iloc[0]
    words = [first[name] for name in ("binding", "schedule") if isinstance(first.get(name), str)]
    return ", ".join(map(code, (first["variant"], *words)))


def ranks(study):
    """Every case on ranks of the host, by matrix: its time, its phases, and how uneven the computation is."""
    machine, groups = study.machine("host"), []
    for (n, _), every in by_size(where(study.frame("ranks, all sizes"), device="mpi"), "n", "m"):
        groups.append(
            [[str(n), *modes(one), *phased(study, machine, one, PHASES), uneven(study, machine, one)] for one in every]
        )
    head = ["$n$", "Mode", "Variant", "Where", "Time", *PHASES, "sum", "imbalance"]
    return latex.long_table("rllrrrrrrrr", head, ruled(groups))


def modes(rows):
    """A case's mode and variant."""
    return [code(rows[name].iloc[0]) for name in ("mode", "variant")]


def uneven(study, machine, rows):
    """The imbalance of a case's computation."""
    computing = where(study.phases_of(machine, rows), phase=COMPUTE)
    return digits(computing["imbalance"].median()) if "imbalance" in computing and len(computing) else NONE


def card(study):
    """Every case on one GPU, by matrix and type."""
    machine, groups = study.machine("card"), []
    every = machine.samples(EXPERIMENTS["card"])
    for (n, m), double in reversed(by_size(where(every, dtype=DTYPE), "n", "m")):
        single = where(every, n=n, m=m, dtype="float32")
        pairs = [(one, in_the_same_form(one, single)) for one in double]
        groups.append(
            [
                [matrix(n, m), with_block(one), *rated(study, machine, one), *rated(study, machine, other)]
                for one, other in pairs
            ]
        )
    heads = r"&& \multicolumn{3}{c}{float64} & \multicolumn{3}{c}{float32} \\"
    heads += r"\cmidrule(lr){3-5}\cmidrule(l){6-8}" + "\nMatrix"
    return latex.table("rlrrrrrr", [heads, "Variant, block", *["time", "GB/s", "share"] * 2], ruled(groups))


def with_block(rows):
    """A case's variant, with its block if it has one."""
    block = rows.iloc[0].get("block")
    return code(rows["variant"].iloc[0]) + ("" if pd.isna(block) else f", {block:.0f}")


def in_the_same_form(rows, others):
    """Those of other rows with the variant and the tiles of a case."""
    first = rows.iloc[0]
    tiles = {name: first[name] for name in ("block", "tile") if pd.notna(first.get(name))}
    return where(others, variant=first["variant"], **tiles)


def cards(study):
    """Every case on GPUs, below their machine's name: the chapter's machine and the one with most of them."""
    head = ["$n$", "Mode", "Variant", "Pieces", "GPUs", "Time", *PHASES, "sum"]
    machines = {study.machine(role).subject: study.machine(role) for role in ("cards", "widest")}
    groups = []
    for machine in (one for name, one in machines.items() if name):
        name = [rf"\multicolumn{{{len(head)}}}{{l}}{{{code(machine.subject)}}}"]
        groups.append([name, *(line for group in on_cards(study, machine) for line in (None, *group))])
    return latex.long_table("rllrrrrrrrr", head, ruled(groups))


def on_cards(study, machine):
    """For every matrix a row for each case on the GPUs of a machine."""
    every = [by_size(machine.samples(EXPERIMENTS[name], dtype=DTYPE), "n", "m") for name in ON_CARDS]
    for (n, _), found in sorted((one for some in every for one in some), key=lambda one: one[0][0] * one[0][1]):
        yield [[str(n), *modes(one), pieces(one), *counted_cards(study, machine, one)] for one in found]


def pieces(rows):
    """In how many pieces a rank's rows travel, and whether a product is a graph."""
    first = rows.iloc[0]
    return f"{first['chunks']:.0f}" + (", graph" if first.get("graph") == "on" else "")


def counted_cards(study, machine, rows):
    """The number of a case's GPUs, its time and its phases."""
    return [f"{rows['ranks'].iloc[0]:.0f}", *phased(study, machine, rows, PHASES)[1:]]
