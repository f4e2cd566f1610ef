"""Lines over threads: one per method or, where that has several cases on as many threads, one per tuning."""

import itertools

from ladder.records.case import Case
from ladder.report.figures import looks, methods

COUNTED = "threads"
# Tunings of a method share its colour no more than strangers do: these are told apart by their dashes as well.
DASHES = ("", (4, 1.5), (1, 1), (5, 1, 1, 1))


def told_apart(cases):
    """Summaries of cases in which no two of a method have as many threads: `mine` becomes `mine, tile 8`."""
    crowded = set(cases.loc[cases.duplicated(["method", COUNTED]), "method"])
    names = dict(zip(cases.index, cases["method"], strict=True))
    for method in crowded:
        names |= names_of(method, cases[cases["method"] == method])
    return cases.assign(method=names.values(), base=cases["method"])


def names_of(method, cases):
    """The names of a method's cases, {index: name}, by what differs among them; by the whole case if nothing does."""
    facts = {row.Index: facts_of(row) for row in cases.itertuples()}
    differing = [
        name
        for name in dict.fromkeys(itertools.chain(*facts.values()))
        if len({facts_of_case.get(name) for facts_of_case in facts.values()}) > 1
    ]
    told = {
        index: ", ".join([method, *(f"{name} {facts_of_case[name]}" for name in differing if name in facts_of_case)])
        for index, facts_of_case in facts.items()
    }
    if cases.assign(method=told.values()).duplicated(["method", COUNTED]).any():
        return {row.Index: f"{method}, {row.case}" for row in cases.itertuples()}
    return told


def facts_of(row):
    """What may tell a case from another of its method: its variant, its tuning, its variables, but not its threads."""
    case = Case.parse(row.workload, row.variant, row.case)
    facts = {"variant": row.variant} | case.tuning | case.variables
    return {name: value for name, value in facts.items() if name != COUNTED}


def looks_of(cases):
    """The look of every line, {name: Look}, in the order of the methods and, within one, of the plan."""
    bases = dict(zip(cases["method"], cases["base"], strict=True))
    order = methods.ordered(bases.values())
    others = itertools.product(DASHES, looks.OTHERS)
    kinds = {}
    for name in sorted(bases, key=lambda name: order.index(bases[name])):
        if name == bases[name]:
            kinds[name] = looks.look(name)
        else:
            dashes, (colour, marker) = next(others)
            kinds[name] = looks.Look(name.replace("_", " "), colour, marker, dashes)
    return kinds
