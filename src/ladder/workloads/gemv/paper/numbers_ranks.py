"""The numbers of the product on ranks of MPI: what they gain and cost, and from how many products on they pay."""

import math

from ladder.report import study
from ladder.report.findings import FAR, untested
from ladder.report.latex import code, number, seconds
from ladder.report.phrases import Missing, caches, comparison, counted, with_prefix
from ladder.statistics import verdicts
from ladder.workloads.gemv.paper import distributed
from ladder.workloads.gemv.paper.distributed import COMMUNICATION, COMPUTATION
from ladder.workloads.gemv.paper.query import MODES, machine, matrix, most_ranks, nodes, phases, setting, sizes


def ranks(found):
    """What ranks gain and cost on the largest matrix, and from how many products on they pay on it and the smallest."""
    several = sizes(found, "gemv_mpi")
    largest = study.where(several[-1], device="mpi") if several else study.NO_ROWS
    together = distributed.without_twins(largest[largest["ranks"] > 1]) if len(largest) else largest
    values = {"machine": machine(found), "matrix": matrix(largest), "cache": caches(largest), "nodes": nodes(together)}
    for mode in MODES:
        pure = most_ranks(together, variant="mpi", mode=mode)
        one = study.where(largest, variant="mpi", mode=mode, ranks=1)
        values |= with_prefix(mode, parts(found, pure, mode))
        values[f"{mode}/against/one"] = comparison(pure, one, "one rank")
        best = {name: study.fastest(study.where(together, variant=name, mode=mode)) for name in ("mpi", "mpi_openmp")}
        values[f"{mode}/hybrid"] = setting(best["mpi_openmp"])
        values[f"{mode}/pure"] = setting(best["mpi"])
        values[f"{mode}/hybrid/against/pure"] = comparison(best["mpi_openmp"], best["mpi"], code("mpi"))
    known = {"largest": several[-1:], "smallest": several[:-1][:1]}
    threads_too = sizes(found, "gemv_mpi", "gemv_threads")
    for role, some in known.items():
        values |= with_prefix(role, pays(found, some[0] if some else study.NO_ROWS, threads_too))
    return values


def parts(found, rows, mode):
    """A case on ranks: its time, what of it is computation and communication, and how evenly the former is spread."""
    names = ("ranks", "time", "computation", "communication", "sending", "imbalance")
    if rows.empty:
        return dict.fromkeys(names) | {"verdict": Missing("has no measurement")}
    own = phases(found, rows)
    kinds, once = distributed.by_kind(own, mode), distributed.spent(own, mode)[1]
    uneven = study.where(own, phase="compute")
    values = {"ranks": counted(rows["ranks"].iloc[0], "rank"), "time": seconds(rows["seconds"].median())}
    values |= {kind: seconds(kinds[kind]) if kind in kinds else None for kind in (COMPUTATION, COMMUNICATION)}
    values["sending"] = seconds(sum(once.values())) if once else None
    values["imbalance"] = number(uneven["imbalance"].median()) if "imbalance" in uneven and len(uneven) else None
    spent = (distributed.passes(own, mode, kind) for kind in (COMMUNICATION, COMPUTATION))
    return values | {"verdict": comparison(*spent, "the computation")}


def pays(found, rows, every):
    """From how many products of one matrix on it pays to have sent it to ranks, over one rank and over threads."""
    keys = ("matrix", "place", "sending", "one", "shared")
    if rows.empty:
        return dict.fromkeys(keys) | {name: after(None, False) for name in ("one", "shared")}
    same = next(one for one in every if matrix(one) == matrix(rows))
    cases = distributed.contenders(same)
    resident = cases.get("resident", study.NO_ROWS)
    own = phases(found, resident)
    once = distributed.spent(own, "resident")[1] if len(own) else {}
    values = {
        "matrix": matrix(rows),
        "place": setting(resident),
        "sending": seconds(sum(once.values())) if once else None,
    }
    for name in ("one", "shared"):
        other = cases.get(name, study.NO_ROWS)
        values[name] = after(distributed.break_even(resident, own, other), bool(len(other) and once))
    return values


def after(count, is_measured):
    """When something pays, in words."""
    if not is_measured:
        return Missing("at a number of products that was not measured")
    if count is None:
        return "at a number of products that can't be told, since the two can't be told apart"
    return "never" if math.isinf(count) else f"after {counted(count, 'product')}"


def findings(found):
    """Whether communication is far longer than computation, and whether a matrix that stays makes up for it."""
    several = sizes(found, "gemv_mpi")
    largest = several[-1] if several else study.NO_ROWS
    return {
        "communication": longer(found, most_ranks(largest, variant="mpi", mode="ship")),
        "resident": makes_up(found, largest),
    }


def longer(found, rows):
    """Whether the communication of a case on several ranks takes more than twice the time of its computation."""
    if rows.empty or rows["ranks"].iloc[0] < 2:
        return untested("no product ran on several ranks")
    own = phases(found, rows)
    spent = [distributed.passes(own, "ship", kind) for kind in (COMMUNICATION, COMPUTATION)]
    if any(frame.empty for frame in spent):
        return untested("a measurement is missing")
    compared = verdicts.compare(*map(study.processes, spent))
    verdict = {"slower": "holds in part", "faster": "does not hold"}.get(compared.outcome, "can't be told")
    evidence = f"on {setting(rows)} the communication {comparison(*spent, 'the computation')}"
    return "holds" if compared.low > FAR else verdict, evidence


def makes_up(found, rows):
    """Whether ranks that have the matrix are faster than one rank, and ranks to which it is sent every time are not."""
    cases = distributed.contenders(rows) if len(rows) else {}
    if not {"one", "ship", "resident"} <= set(cases):
        return untested("no product ran on several ranks")
    one = cases["one"]
    words = [verdicts.compare(*map(study.processes, (cases[mode], one))).outcome for mode in MODES]
    count = distributed.break_even(cases["resident"], phases(found, cases["resident"]), one)
    evidence = (
        f"sending the matrix every time, the product on ranks {comparison(cases['ship'], one, 'on one')}; "
        f"if it stays it {comparison(cases['resident'], one, 'that')}; the sending is repaid {after(count, True)}"
    )
    if "can't tell" in words:
        return "can't be told", evidence
    return {("slower", "faster"): "holds", ("faster", "faster"): "holds in part"}.get(
        (*words,), "does not hold"
    ), evidence
