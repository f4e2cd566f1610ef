"""After how many products it has paid to send the matrix once: the point with its interval, by `crossings`."""

import math
from typing import NamedTuple

import numpy as np

from ladder.report import study
from ladder.report.latex import digits
from ladder.statistics import claims, crossings
from ladder.workloads.gemv.paper import query, rungs

COUNTS = np.geomspace(1, 1e4, 41)  # of products, at which the two costs are compared


class Found(NamedTuple):
    """The number of products with the ends of its interval: `low` is 0, `high` infinite where none was found.

    `value` is 0 where the first product pays, infinite where none does, None where the samples don't tell.
    """

    value: float | None
    low: float = 0.0
    high: float = math.inf


def after(rows, phases, other):
    """The number of products from which a matrix sent once is cheaper than another case's; None if not measured."""
    kept, others = by_process(rows, phases), study.processes(other)
    if not (kept and others):
        return None
    points = [(count, claims.quotient(costs(kept, count), others)) for count in COUNTS]
    if any(ratio.high < 1 for _, ratio in points) and (found := crossings.crossing(points)):
        return Found(*found)
    if points[0][1].high < 1:
        return Found(0.0, 0.0, 0.0)
    return Found(math.inf, math.inf) if points[-1][1].low > 1 else Found(None)


def by_process(rows, phases):
    """The seconds of the sending and those of every product of a process, [(seconds, list)], where both are known."""
    rows = study.one_case(rows)
    sent = query.sending(rows, phases) if len(rows) else study.NO_ROWS
    if sent.empty:
        return []
    once = sent.groupby("process")["seconds"].median()
    products = rows.groupby("process")["seconds"]
    return [(once[process], list(seconds)) for process, seconds in products if process in once.index]


def costs(kept, count):
    """The seconds of a product with its part of the sending before so many of them, by process."""
    return [[one + once / count for one in seconds] for once, seconds in kept]


def text(found):
    """A number of products with its interval, or in a word why there is none; None stays None."""
    if found is None:
        return None
    if found.value is None:
        return "not told"
    if found.value in (0.0, math.inf):
        return "never" if found.value else "at once"
    low, high = (digits(end, 2) if 0 < end < math.inf else None for end in found[1:])
    if high is None:
        return f"\\num{{{digits(found.value, 2)}}} [{low or 1}, --]"
    return f"\\num{{{digits(found.value, 2)}}} [\\num{{{low or 1}}}, \\num{{{high}}}]"


def prose(found, name):
    """The same as what a sentence says of the sending; None stays None."""
    if found is None:
        return None
    if found.value is None:
        return f"isn't shown to pay against {name}"
    if found.value == math.inf:
        return f"never pays against {name}"
    return f"pays against {name} " + ("with the first product" if not found.value else f"after {text(found)} products")


def contests(machines, sizes):
    """Who keeps a matrix of these sizes, the phases, whose time it is held against, and its name, {key: all four}."""
    host, cards = machines.host, machines.cards
    ranks, on_cards = host.calls(query.RANKS, **sizes), cards.calls(query.CARDS, **sizes)
    resident, graph = rungs.changed("resident", ranks), rungs.changed("graph", on_cards)
    threads = rungs.changed("openmp", ranks)
    return {
        "ranks/one": (resident, host.phases, rungs.changed("resident", ranks, ranks=1), "one rank"),
        "ranks/threads": (resident, host.phases, threads, "all threads"),
        "cards/threads": (graph, cards.phases, threads, "all threads"),
    }
