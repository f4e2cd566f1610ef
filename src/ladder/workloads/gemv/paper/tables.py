"""The tables of the chapter: the ladder and the verdicts; behind it break-even points, and every case."""

import pandas as pd

from ladder.report import ladder_table, latex, study, verdict_table
from ladder.report.cells import NONE
from ladder.report.latex import code, digits, percent, seconds
from ladder.workloads.gemv.paper import break_even, model, query, rungs, verdicts


def tables(found):
    """Every table's LaTeX by its name."""
    machines = query.chosen(found)
    return {
        "ladder": ladder(machines),
        "verdicts": verdict_table.table(*verdicts.verdicts(found).values()),
        "break_even": points(machines),
        "threads": threads(machines.host),
        "ranks": ranks(machines.host),
        "card": card(machines.card),
        "cards": cards(machines),
    }


def ladder(machines):
    """Every line with its idea, and the time of a gigabyte."""
    shown = []
    for key, (line, idea, relieves) in rungs.LINES.items():
        rows, found = rungs.rows(key, machines), rungs.of(key, machines).found
        predicted = model.seconds(rows.iloc[0], model.of_study(found), query.GIGABYTE) if len(rows) else None
        name = ", ".join([code(line.variant), *map(code, line.told), *words_of_place(rows)])
        shown.append(ladder_table.Rung(name, idea, relieves, predicted, rows))
    return ladder_table.table(shown, "Gigabyte")


def words_of_place(rows):
    """Where a case runs, as text of a table; none of none."""
    return [rungs.place(rows.iloc[0]).replace("×", r"$\times$")] if len(rows) else []


def timed(rows):
    """The time of a case."""
    return seconds(study.middle(rows)) if len(rows) else NONE


def rated(rows, rates):
    """GB/s of a case, and its share of the bandwidth."""
    if rows.empty:
        return [NONE, NONE]
    reached, first = rows["bytes"].iloc[0] / study.middle(rows), rows.iloc[0]
    most = model.bandwidth(first, rates)
    return [digits(reached / 1e9), percent(reached / most) if most else NONE]


def cases(rows):
    """The rows of every case, in the order of their threads and ranks."""
    by = [name for name in ("variant", "mode", "ranks", "threads", "case") if name in rows]
    return [some for _, some in rows.groupby(by, sort=True, dropna=False)] if len(rows) else []


def name_of(rows):
    """A case's variant with the tunings that tell it apart."""
    first = rows.iloc[0]
    words = [first[name] for name in rungs.TOLD[:2] if isinstance(first.get(name), str)]
    return ", ".join([code(first["variant"]), *map(code, words)])


def threads(host):
    """Every case on threads: its time and rate."""
    rates = model.of_study(host.found)
    rows = [
        [name_of(one), f"{one['threads'].iloc[0]:.0f}", timed(one), *rated(one, rates)] for one in cases(host.threads)
    ]
    return latex.table("lrrrr", ["Variant", "Threads", "Time", "GB/s", "of the bandwidth"], rows)


def matrices(machine, *experiments):
    """The matrices of some experiments on a machine, the smallest first: (n, m)."""
    frames = [machine.found.samples(one, dtype=query.DTYPE) for one in experiments]
    found = {pair for rows in frames if len(rows) for pair in zip(rows["n"], rows["m"], strict=True)}
    return sorted(found, key=lambda pair: pair[0] * pair[1])


def ranks(host):
    """Every case on ranks of the host, by matrix: its time, its phases, and how uneven the computation is."""
    rows = []
    for n, m in matrices(host, query.RANKS):
        rows += [None] if rows else []
        for one in cases(study.where(host.calls(query.RANKS, n=n, m=m), device="mpi")):
            rows.append([str(n), code(one["mode"].iloc[0]), code(one["variant"].iloc[0]), *phased(one, host)])
    head = ["$n$", "Mode", "Variant", "Where", "Time", *query.PHASES, "sum", "imbalance"]
    return latex.long_table("rllrrrrrrrr", head, rows)


def phased(rows, machine):
    """Where a case runs, its time and phases, their sum over the time, and the imbalance of its computation."""
    own = study.own_phases(rows, machine.phases)
    parts = [study.where(own, phase=name) for name in query.PHASES]
    uneven = parts[query.PHASES.index(query.COMPUTE)]
    imbalance = digits(uneven["imbalance"].median()) if "imbalance" in uneven and len(uneven) else NONE
    together = query.together(rows, machine.phases)
    return [
        *words_of_place(rows),
        timed(rows),
        *map(timed, parts),
        digits(together, 2) if together else NONE,
        imbalance,
    ]


def card(machine):
    """Every case on one card, by matrix and type."""
    rates, rows = model.of_study(machine.found), []
    for n, m in reversed(matrices(machine, query.CARD)):
        rows += [None] if rows else []
        typed = [machine.found.samples(query.CARD, n=n, m=m, dtype=dtype) for dtype in (query.DTYPE, "float32")]
        for one in cases(typed[0]):
            same = study.where(typed[1], variant=one["variant"].iloc[0])
            for tuning in ("block", "tile"):
                if tuning in one and one[tuning].notna().all():
                    same = study.where(same, **{tuning: one[tuning].iloc[0]})
            block = one["block"].iloc[0] if "block" in one else None
            name = code(one["variant"].iloc[0]) + ("" if pd.isna(block) else f", {block:.0f}")
            rows.append(
                [
                    f"${n} \\times {m}$",
                    name,
                    *(cell for each in (one, same) for cell in (timed(each), *rated(each, rates))),
                ]
            )
    heads = r"&& \multicolumn{3}{c}{float64} & \multicolumn{3}{c}{float32} \\"
    heads += r"\cmidrule(lr){3-5}\cmidrule(l){6-8}" + "\nMatrix"
    return latex.table("rlrrrrrr", [heads, "Variant, block", *["time", "GB/s", "share"] * 2], rows)


def cards(machines):
    """Every case on cards, below their machine's name: the chapter's machine and the one with most of them."""
    head = ["$n$", "Mode", "Variant", "Pieces", "Cards", "Time", *query.PHASES, "sum"]
    rows = []
    for machine in {one.found.subject: one for one in (machines.cards, machines.widest)}.values():
        parts = [part for n, m in matrices(machine, *query.ON_CARDS) for part in (None, *on_cards(machine, n, m))]
        rows += [None] if rows else []
        rows += [[rf"\multicolumn{{{len(head)}}}{{l}}{{{code(machine.found.subject)}}}"], *parts] if parts else []
    return latex.long_table("rllrrrrrrrr", head, rows)


def on_cards(machine, n, m):
    """A row for every case with a matrix on cards."""
    frames = [machine.calls(name, n=n, m=m) for name in query.ON_CARDS]
    for one in (case for frame in frames for case in cases(frame)):
        first = one.iloc[0]
        pieces = f"{first['chunks']:.0f}" + (", graph" if first.get("graph") == "on" else "")
        name = [str(n), code(first["mode"]), code(first["variant"]), pieces, f"{first['ranks']:.0f}"]
        yield [*name, *phased(one, machine)[1:-1]]


def points(machines):
    """After how many products the sending has paid, by matrix."""
    rows = []
    for n, m in matrices(machines.host, query.RANKS):
        found = break_even.contests(machines, {"n": n, "m": m}).values()
        cells = [
            break_even.text(break_even.after(rows_of, phases, other)) or NONE for rows_of, phases, other, _ in found
        ]
        rows.append([f"${n} \\times {m}$", *cells])
    head = ["Matrix", "ranks, one rank", "ranks, all threads", "cards, all threads"]
    return latex.table("rrrr", head, rows)
