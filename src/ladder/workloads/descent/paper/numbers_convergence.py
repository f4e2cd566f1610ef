"""The numbers of convergence: the rate beside the theory's, the steps, and what recomputing the residual buys."""

import math

from ladder.report import study
from ladder.report.latex import digits, number
from ladder.report.phrases import Missing, with_prefix
from ladder.workloads.descent.paper import query, theory
from ladder.workloads.descent.paper.convergence import STARTS, chosen

KAPPAS = (10, 100, 1000)
FORMS = {"carried": "", "recomputed": " recomputed"}
# The conditions at which rounding ends both well within the iterations.
ENDS = {"steepest": 10, "cg": 100}
FAR = 2.0  # times as large, of residuals that differ


def convergence(found):
    """Of every condition, and of both algorithms where rounding ends the solve."""
    curves = chosen(found.rows("curves", query.CONVERGENCE))
    checks = found.rows("checks", query.CONVERGENCE, check="true residual")
    values = {"every": every(curves)}
    for kappa in KAPPAS:
        values |= with_prefix(str(kappa), of_condition(study.where(curves, kappa=kappa)))
    for algorithm, kappa in ENDS.items():
        own = {name: study.where(curves, kappa=kappa, method=algorithm + form) for name, form in FORMS.items()}
        values |= with_prefix(f"end/{algorithm}", ends(own, checks))
    return values


def every(curves):
    """After how many steps the residual was recomputed, where it was."""
    steps = [step for step in study.values(curves, "recompute") if step]
    return f"\\num{{{steps[0]}}}" if steps else None


def rates():
    """The theory's rate of steepest descent, by condition."""
    return {str(kappa): f"\\num{{{digits(theory.factor(kappa), 4)}}}" for kappa in KAPPAS}


def of_condition(curves):
    """What the curves of a condition show."""
    steepest, conjugate = (study.where(curves, method=name) for name in STARTS)
    found = theory.rate(steepest)
    values = {"rate": f"\\num{{{digits(found, 4)}}}" if found else None}
    for name, curve in (("steepest", steepest), ("cg", conjugate)):
        values[f"{name}/steps"] = steps_of(curve)
    return values


def steps_of(curve):
    """The steps that a curve takes to a small residual."""
    if curve.empty:
        return None
    steps = theory.steps_to(curve)
    return f"\\num{{{steps}}}" if steps else f"more than \\num{{{curve['step'].max()}}}"


def ends(curves, checks):
    """At the end of two forms' curves, over |b|: the reported residual, and what the true one is at most."""
    values, true = {}, {}
    for name, curve in curves.items():
        reported = curve.sort_values("step")["relative"].iloc[-1] if len(curve) else None
        distance = gap(curve, checks) if len(curve) else None
        true[name] = None if distance is None else reported + distance
        values[f"{name}/reported"] = None if reported is None else number(reported, 2)
        values[f"{name}/true"] = None if distance is None else number(true[name], 2)
    return values | {"effect": effect(*true.values())}


def effect(carried, recomputed):
    """What recomputing does to the true residual, as the predicate of a sentence."""
    if carried is None or recomputed is None:
        return Missing("has no measurement")
    if recomputed > FAR * carried:
        return "does harm"
    return "helps" if carried > FAR * recomputed else "makes little difference"


def gap(curve, checks):
    """How far the reported residual of a curve's case is from the true one, over |b|; the worst of its checks."""
    first = curve.sort_values("step").iloc[0]
    own = study.where(checks, variant=first["variant"], case=first["case"])
    return own["error"].max() / math.sqrt(first["residual"]) if len(own) else None
