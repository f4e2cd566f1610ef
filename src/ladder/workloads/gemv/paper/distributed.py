"""Products on ranks: their time by phase, and after how many products it has paid to send the matrix to the ranks.

A product whose matrix travels every time (mode `ship`) scatters it, broadcasts x, computes and gathers y. Where it
stays (`resident`), scattering is done once before the first product and belongs to none of them. Phases that a card
works in while others communicate are one, named `scatter and compute`.
"""

import math

from ladder.report import study
from ladder.statistics import verdicts

ONCE = {"resident": ("scatter",)}
COMPUTATION, COMMUNICATION, BOTH = KINDS = ("computation", "communication", "both at once")


def kind(phase):
    """What a phase is spent on, one of KINDS."""
    if " and " in phase:
        return BOTH
    return COMPUTATION if phase == "compute" else COMMUNICATION


def spent(phases, mode):
    """Median seconds of one case's phases, {phase: seconds} twice: of every product, and once before the first."""
    middle = phases.groupby("phase", sort=False)["seconds"].median()
    before = middle.index.isin(ONCE.get(mode, ()))
    return middle[~before].to_dict(), middle[before].to_dict()


def by_kind(phases, mode):
    """Median seconds of every product by kind of phase, {kind: seconds}; no entry where there is no such phase."""
    found = {}
    for phase, seconds in spent(phases, mode)[0].items():
        found[kind(phase)] = found.get(kind(phase), 0.0) + seconds
    return found


def passes(phases, mode, wanted):
    """Seconds of one kind of phase in every pass over a case's phases: rows of process and seconds."""
    chosen = (phases["phase"].map(kind) == wanted) & ~phases["phase"].isin(ONCE.get(mode, ()))
    return phases[chosen].groupby(["process", "sample"], as_index=False)["seconds"].sum()


def contenders(rows):
    """Of one machine's timed calls on one matrix the fastest case of each kind: {name: rows}, none empty.

    `one`: one rank of one thread; `shared`: threads on shared memory; `ship` and `resident`: several ranks, the matrix
    sent every time and once. A case that belongs to two experiments counts once.
    """
    rows = without_twins(rows.drop_duplicates(["variant", "case", "process", "sample"]))
    on_ranks = rows["ranks"].fillna(1) if "ranks" in rows else 1
    mode = rows.get("mode")
    kinds = {
        "one": (rows["variant"] == "mpi") & (on_ranks == 1) & (mode == "resident"),
        "shared": rows["device"] == "host",
        "ship": (rows["device"] == "mpi") & (on_ranks > 1) & (mode == "ship"),
        "resident": (rows["device"] == "mpi") & (on_ranks > 1) & (mode == "resident"),
    }
    return {name: study.fastest(rows[chosen]) for name, chosen in kinds.items() if chosen.any()}


def without_twins(rows):
    """The rows without hybrids of one thread, the program without threads: of equals the luckier would be chosen."""
    return rows[~((rows["variant"] == "mpi_openmp") & (rows.get("threads") == 1))] if len(rows) else rows


def break_even(resident, phases, other):
    """The fewest products after which a matrix sent to ranks once costs no more than as many products of another case.

    `resident` and `other` are the timed calls of two cases, `phases` those of the first. Where its products are
    faster: a number of at least 1; where they are slower: infinity; None where the samples don't decide that, or the
    sending wasn't measured.
    """
    once = spent(phases, "resident")[1] if len(phases) else {}
    if resident.empty or other.empty or not once:
        return None
    word = verdicts.compare(study.processes(resident), study.processes(other)).outcome
    if word != "faster":
        return math.inf if word == "slower" else None
    saved = other["seconds"].median() - resident["seconds"].median()
    return max(1, math.ceil(sum(once.values()) / saved))
