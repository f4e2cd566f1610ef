"""The tables of the supplement: break-even points, and every case."""

from dataclasses import replace

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE, median
from ladder.report.latex import code, digits, percent
from ladder.report.study import middle, where
from ladder.report.telling import amortisation
from ladder.report.telling.chapter_study import whole
from ladder.report.telling.lines import place, select
from ladder.workloads.gemv.paper import claims, lines, model
from ladder.workloads.gemv.paper.lines import PHASES


def tables(study):
    """Every table's LaTeX by its name, but for those of the ladder and the verdicts."""
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
    for n, m in matrices(study.frame("ranks, all sizes")):
        kept, threads = (select(key, "ranks, all sizes", n=n, m=m) for key in ("resident", "openmp"))
        one, graph = replace(kept, tuning=kept.tuning | {"ranks": 1}), select("graph", "cards, all sizes", n=n, m=m)
        points = (amortisation.of_selections(study, *pair) for pair in ((kept, one), (kept, threads), (graph, threads)))
        rows.append([f"${n} \\times {m}$", *(amortisation.text(point) or NONE for point in points)])
    return latex.table("rrrr", ["Matrix", "ranks, one rank", "ranks, all threads", "cards, all threads"], rows)


def threads(study):
    """Every case on threads: its time and rate."""
    rows = [
        [name_of(one), f"{one['threads'].iloc[0]:.0f}", median(one), *rated(study.machine("host"), one)]
        for one in cases(study.frame("threads"))
    ]
    return latex.table("lrrrr", ["Variant", "Threads", "Time", "GB/s", "of the bandwidth"], rows)


def rated(machine, rows):
    """GB/s of a case, and its share of the bandwidth."""
    if rows.empty:
        return [NONE, NONE]
    reached, most = rows["bytes"].iloc[0] / middle(rows), model.bandwidth(machine, rows.iloc[0])
    return [digits(reached / 1e9), percent(reached / most) if most else NONE]


def cases(rows):
    """The rows of every case, in the order of their threads and ranks."""
    by = [name for name in ("variant", "mode", "ranks", "threads", "case") if name in rows]
    return [one for _, one in rows.groupby(by, sort=True, dropna=False)] if len(rows) else []


def name_of(rows):
    """A case's variant with the tunings that tell it apart."""
    first = rows.iloc[0]
    words = [first[name] for name in ("binding", "schedule") if isinstance(first.get(name), str)]
    return ", ".join(map(code, (first["variant"], *words)))


def matrices(rows):
    """The matrices of some rows, the smallest first: (n, m)."""
    sizes = set(zip(rows["n"], rows["m"], strict=True)) if len(rows) else ()
    return sorted(sizes, key=lambda size: size[0] * size[1])


def ranks(study):
    """Every case on ranks of the host, by matrix: its time, its phases, and how uneven the computation is."""
    rows, frame = [], study.frame("ranks, all sizes")
    for n, m in matrices(frame):
        rows += [None] if rows else []
        for one in cases(where(frame, n=n, m=m, device="mpi")):
            name = [str(n), code(one["mode"].iloc[0]), code(one["variant"].iloc[0])]
            rows.append([*name, *phased(study, "host", one)])
    head = ["$n$", "Mode", "Variant", "Where", "Time", *PHASES, "sum", "imbalance"]
    return latex.long_table("rllrrrrrrrr", head, rows)


def phased(study, role, rows):
    """Where a case runs, its time and phases, their sum over the time, and the imbalance of its computation."""
    phases = study.phases_of(study.machine(role), rows)
    every = pd.concat([phases, study.phases_of(study.machine(role), rows, before=True)])
    by_name = [where(every, phase=name) for name in PHASES]
    computing = by_name[PHASES.index(claims.COMPUTE)]
    uneven = digits(computing["imbalance"].median()) if "imbalance" in computing and len(computing) else NONE
    share = whole(rows, phases)
    where_it_is = place(rows.iloc[0]).replace("×", r"$\times$")
    return [where_it_is, median(rows), *map(median, by_name), digits(share, 2) if share else NONE, uneven]


def card(study):
    """Every case on one card, by matrix and type."""
    machine, rows = study.machine("card"), []
    every = machine.samples(lines.EXPERIMENTS["card"])
    for n, m in reversed(matrices(where(every, dtype=lines.DTYPE))):
        rows += [None] if rows else []
        double, single = (where(every, n=n, m=m, dtype=dtype) for dtype in (lines.DTYPE, "float32"))
        for one in cases(double):
            both = (one, in_the_same_form(one, single))
            block = one["block"].iloc[0] if "block" in one else None
            name = code(one["variant"].iloc[0]) + ("" if pd.isna(block) else f", {block:.0f}")
            cells = [cell for each in both for cell in (median(each), *rated(machine, each))]
            rows.append([f"${n} \\times {m}$", name, *cells])
    heads = r"&& \multicolumn{3}{c}{float64} & \multicolumn{3}{c}{float32} \\"
    heads += r"\cmidrule(lr){3-5}\cmidrule(l){6-8}" + "\nMatrix"
    return latex.table("rlrrrrrr", [heads, "Variant, block", *["time", "GB/s", "share"] * 2], rows)


def in_the_same_form(rows, others):
    """Those of other rows with the variant and the tiles of a case."""
    first = rows.iloc[0]
    tiles = {name: first[name] for name in ("block", "tile") if pd.notna(first.get(name))}
    return where(others, variant=first["variant"], **tiles)


def cards(study):
    """Every case on cards, below their machine's name: the chapter's machine and the one with most of them."""
    head = ["$n$", "Mode", "Variant", "Pieces", "Cards", "Time", *PHASES, "sum"]
    rows = []
    for role in ("cards", "widest"):
        machine = study.machine(role)
        if machine.subject and (role == "cards" or machine.subject != study.machine("cards").subject):
            rows += [None] if rows else []
            rows += [[rf"\multicolumn{{{len(head)}}}{{l}}{{{code(machine.subject)}}}"], *on_cards(study, role)]
    return latex.long_table("rllrrrrrrrr", head, rows)


def on_cards(study, role):
    """A row for every case on the cards of a machine, with rules between matrices."""
    names = [lines.EXPERIMENTS[name] for name in lines.ON_CARDS]
    frames = [study.machine(role).samples(name, dtype=lines.DTYPE) for name in names]
    for n, m in sorted({size for frame in frames for size in matrices(frame)}, key=lambda size: size[0] * size[1]):
        yield None
        for one in (case for frame in frames for case in cases(where(frame, n=n, m=m))):
            first = one.iloc[0]
            pieces = f"{first['chunks']:.0f}" + (", graph" if first.get("graph") == "on" else "")
            name = [str(n), code(first["mode"]), code(first["variant"]), pieces, f"{first['ranks']:.0f}"]
            yield [*name, *phased(study, role, one)[1:-1]]
