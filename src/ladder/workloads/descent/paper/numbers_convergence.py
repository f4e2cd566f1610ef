"""The numbers of convergence: the rate beside the theory's, the steps, and what recomputing the residual buys."""

import math

from ladder.report import study
from ladder.report.latex import digits, number
from ladder.report.phrases import with_prefix
from ladder.workloads.descent.paper import query, theory
from ladder.workloads.descent.paper.convergence import STARTS, chosen

KAPPAS = (10, 100, 1000)
FORMS = {"carried": "", "recomputed": " recomputed"}


def convergence(found):
    """Of every condition, and of both algorithms where rounding ends the solve: at the least condition."""
    curves = chosen(found.rows("curves", query.CONVERGENCE))
    checks = found.rows("checks", query.CONVERGENCE, check="true residual")
    values = {"every": every(curves)}
    for kappa in KAPPAS:
        values |= with_prefix(str(kappa), of_condition(study.where(curves, kappa=kappa)))
    for algorithm in STARTS:
        own = {name: study.where(curves, kappa=KAPPAS[0], method=algorithm + form) for name, form in FORMS.items()}
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
    """At the end of two forms' curves: the reported residual, and its distance from the true one, over |b|."""
    values, gaps = {}, {}
    for name, curve in curves.items():
        last = curve.sort_values("step").iloc[-1] if len(curve) else None
        values[f"{name}/reported"] = None if last is None else number(last["relative"], 2)
        gaps[name] = None if last is None else gap(curve, checks)
        values[f"{name}/gap"] = None if gaps[name] is None else number(gaps[name], 2)
    carried, recomputed = gaps.values()
    values["bought"] = number(carried / recomputed, 2) if carried and recomputed else None
    return values


def gap(curve, checks):
    """How far the reported residual of a curve's case is from the true one, over |b|; the worst of its checks."""
    first = curve.sort_values("step").iloc[0]
    own = study.where(checks, variant=first["variant"], case=first["case"])
    return own["error"].max() / math.sqrt(first["residual"]) if len(own) else None
