"""The numbers of convergence: the rate beside the theory's, the steps, and what recomputing the residual buys."""

import math

from ladder.report import study
from ladder.report.latex import digits, number
from ladder.report.phrases import Missing, with_prefix
from ladder.workloads.descent.paper import query, theory
from ladder.workloads.descent.paper.convergence import STARTS, chosen

KAPPAS = (10, 100, 1000)
FORMS = {"carried": "", "recomputed": " recomputed"}
# The conditions at which rounding ends both well within the iterations, and one at which it ends CG with them.
EARLY = {"steepest": ("steepest", 10), "cg": ("cg", 100)}
ENDS = EARLY | {"cg-late": ("cg", 1000)}
FAR = 2.0  # times as large, of residuals that differ


def convergence(found):
    """Of every condition, and of both algorithms where rounding ends the solve."""
    curves = chosen(found.rows("curves", query.CONVERGENCE))
    checks = found.rows("checks", query.CONVERGENCE, check="true residual")
    values, tolerance = {"every": every(curves)}, query.condition(found, "tolerance")
    for kappa in KAPPAS:
        values |= with_prefix(str(kappa), of_condition(study.where(curves, kappa=kappa), tolerance))
    for key, (algorithm, kappa) in ENDS.items():
        own = {name: study.where(curves, kappa=kappa, method=algorithm + form) for name, form in FORMS.items()}
        values |= with_prefix(f"end/{key}", ends(own, checks))
        if key in EARLY:
            values[f"end/{key}/recomputed/least"] = least(own["recomputed"])
    return values


def every(curves):
    """After how many steps the residual was recomputed, where it was."""
    steps = [step for step in study.values(curves, "recompute") if step]
    return f"\\num{{{steps[0]}}}" if steps else None


def rates():
    """The theory's rate of steepest descent, by condition."""
    return {str(kappa): f"\\num{{{digits(theory.factor(kappa), 4)}}}" for kappa in KAPPAS}


def of_condition(curves, tolerance):
    """What the curves of a condition show, and their steps to a tolerance."""
    steepest, conjugate = (study.where(curves, method=name) for name in STARTS)
    found = theory.rate(steepest)
    values = {"rate": f"\\num{{{digits(found, 4)}}}" if found else None}
    for name, curve in (("steepest", steepest), ("cg", conjugate)):
        values[f"{name}/steps"] = steps_of(curve, tolerance)
    return values


def steps_of(curve, tolerance):
    """The steps that a curve takes to a tolerance."""
    if curve.empty or tolerance is None:
        return None
    steps = theory.steps_to(curve, tolerance)
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


def least(curve):
    """The least residual that is reported after one that is FAR above an earlier one; None where none is."""
    if curve.empty:
        return None
    values = curve.sort_values("step")["relative"]
    jumped = values[(values > FAR * values.cummin()).cummax()]
    return number(jumped.min(), 2) if len(jumped) else None


def effect(carried, recomputed):
    """What recomputing does to the true residual, as the predicate of a sentence."""
    if carried is None or recomputed is None:
        return Missing("has no measurement")
    if recomputed > FAR * carried:
        return "raises the true one"
    return "lowers the true one" if carried > FAR * recomputed else "leaves the true one within a factor of two"


def gap(curve, checks):
    """How far the reported residual of a curve's case is from the true one, over |b|; the worst of its checks."""
    first = curve.sort_values("step").iloc[0]
    own = study.where(checks, variant=first["variant"], case=first["case"])
    return own["error"].max() / math.sqrt(first["residual"]) if len(own) else None
