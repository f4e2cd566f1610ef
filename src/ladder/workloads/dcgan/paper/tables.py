"""The tables of the chapter: the ladder, the ways home, and the verdicts."""

from ladder.report import ladder_table, latex, study, verdict_table
from ladder.report.cells import NONE
from ladder.report.latex import code
from ladder.workloads.dcgan.paper import model, query, rungs, verdicts


def tables(found):
    """Every table's LaTeX by its name."""
    host, card = query.chosen(found)
    groups = verdicts.of_the_earlier_study(host, card), verdicts.of_the_rungs(host, card)
    return {"ladder": ladder(host, card), "home": home(card), "verdicts": verdict_table.table(*groups)}


def ladder(host, card):
    """Every rung with its idea, and a picture."""
    shown = []
    for key, (line, idea) in rungs.LINES.items():
        found = host if line.variant in ("host", "pytorch") else card
        rows = one_case(line.rows(found.ladder))
        if key in rungs.RELIEVES or len(rows):
            predicted = None
            if len(rows):
                first = rows.iloc[0]
                predicted = model.seconds(first, model.rate_of_study(found.found, first))
            name = code(line.variant) + (f", {line.words}" if line.words else "")
            shown.append(ladder_table.Rung(name, idea, rungs.RELIEVES.get(key, ""), predicted, rows))
    return ladder_table.table(shown, "Picture")


def one_case(rows):
    """The rows of one case, where a default may be stated or not."""
    return study.where(rows, case=min(rows["case"])) if len(rows) else rows


def home(card):
    """Milliseconds of a call with pictures home, by where they go and whether copies are hidden."""
    columns = [(copies, math) for math in ("float32", "float16") for copies in rungs.COPIES]
    cases = {memory: [rungs.home(memory, *column).rows(card.ladder) for column in columns] for memory in rungs.MEMORIES}
    if all(rows.empty for every in cases.values() for rows in every):
        return latex.table("", (), ())
    rows = [[code(memory), *map(called, every)] for memory, every in cases.items()]
    head = ["Memory", "float32, hidden", "after", "float16, hidden", "after"]
    return latex.table("lrrrr", head, rows)


def called(rows):
    """The median time of a call."""
    return latex.seconds(query.middle(rows) * int(rows["images"].iloc[0])) if len(rows) else NONE
