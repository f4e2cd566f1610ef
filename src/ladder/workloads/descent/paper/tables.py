"""The tables of the chapter: the ladder, the elementary kernels beside the earlier study's, and the verdicts."""

from ladder.report import ladder_table, latex, roofs, study, verdict_table
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.workloads.descent import RUNGS
from ladder.workloads.descent.paper import earlier, query, rungs, verdicts

MICRO = 1e-6


def tables(found):
    """Every table's LaTeX by its name."""
    found = query.chosen(found)
    return {
        "ladder": ladder(found),
        "kernels": kernels(found),
        "verdicts": verdict_table.table(*verdicts.verdicts(found).values()),
    }


def ladder(found):
    """Every rung with its idea, and an iteration at the ladder's size."""
    frame, small = query.ladder(found), query.iterations(found, query.VERSION1)
    lines = [rungs.line(name) for name in RUNGS]
    cases = [(one, one.rows(small if one.variant == rungs.SMALL else frame)) for one in lines]
    shown = [rung(found, one, rows) for one, rows in cases if one.variant in rungs.RELIEVES or len(rows)]
    return ladder_table.table(shown, "Iteration")


def rung(found, line, rows):
    """A line of the ladder's table; that of another size says so."""
    name = code(line.variant)
    if len(rows) and rows["n"].iloc[0] != query.N:
        name += f", $n = {rows['n'].iloc[0]}$"
    reading = roofs.card_bandwidth(found)
    if len(rows) and rows["device"].iloc[0] == "host":
        reading = roofs.bandwidth(found, int(rows["threads"].iloc[0]))
    predicted = rungs.predicted(line, rows.iloc[0], reading) if len(rows) else None
    idea = RUNGS[line.variant].removeprefix("peer: ")
    return ladder_table.Rung(name, idea, rungs.RELIEVES.get(line.variant, ""), predicted, rows)


def kernels(found):
    """Microseconds of each kernel then and now, by block and N; below, an iteration's sum."""
    now = {
        name: [study.middle(query.kernel(found, name, *column)) for column in earlier.LOADS] for name in earlier.KERNELS
    }
    if not any(seconds for row in now.values() for seconds in row):
        return latex.table("", (), ())
    count = len(earlier.LOADS)
    head = " & ".join(rf"\multicolumn{{2}}{{c}}{{{block}, {n}}}" for block, n in earlier.LOADS)
    rules = "".join(rf"\cmidrule(lr){{{2 * at + 2}-{2 * at + 3}}}" for at in range(count))
    rows = [[code(name), *cells(name, now[name])] for name in earlier.KERNELS]
    titles = [f"Block, $N$ & {head} \\\\\n{rules}\nKernel", *["then", "now"] * count]
    return latex.table("l" + "rr" * count, titles, rows)


def cells(name, now):
    """A kernel's times in pairs."""
    then = [earlier.seconds(name, *column) for column in earlier.LOADS]
    pairs = zip(then, now, strict=True)
    return [digits(one / MICRO) if one else NONE for pair in pairs for one in pair]
