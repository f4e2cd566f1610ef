"""The residuals of solves by iteration, and the effect of rounding and recomputation on them."""

import math

from ladder.report.telling.chapter_study import required
from ladder.store import collect
from ladder.store.study import one_case, where
from ladder.workloads.descent.paper import theory
from ladder.workloads.descent.paper.lines import CONVERGENCE

STARTS = {"steepest": "worst", "cg": "random"}
RECOMPUTED = " recomputed"  # behind an algorithm
FAR = 2.0  # times as large, of residuals that differ


def curves_of(study):
    """The curves of one variant, of the GPU if available, with the column `method`."""
    rows = study.machine("host").rows("curves", CONVERGENCE)
    rows = where(rows, variant="cuda_fused") if len(where(rows, variant="cuda_fused")) else rows
    if rows.empty:
        return rows
    rows = rows[rows["start"] == rows["algorithm"].map(STARTS)]
    recomputed = rows["recompute"].fillna(0).astype(int) > 0 if "recompute" in rows else False
    rows = rows.assign(method=rows["algorithm"].where(~recomputed, rows["algorithm"] + RECOMPUTED))
    rows = rows.assign(relative=theory.relative(rows))
    lines = [one_case(line) for _, line in rows.groupby(["kappa", "method"], sort=False)]
    return collect.concatenated(lines).drop_duplicates(["kappa", "method", "step"]).sort_values("step", kind="stable")


def curve_of(study, method, kappa):
    """The curve of an algorithm, whose residual is carried along or RECOMPUTED, at a condition."""
    return required(where(curves_of(study), method=method, kappa=kappa))


def reported(study, curve):
    """The residual that is reported at the end of a curve."""
    return curve["relative"].iloc[-1]


def true(study, curve):
    """An upper bound of the true residual over |b|: the reported one plus the largest distance of the checks."""
    first = curve.iloc[0]
    case = first[["variant", "case"]]
    checks = required(study.machine("host").rows("checks", CONVERGENCE, check="true residual", **case))
    return reported(study, curve) + checks["error"].max() / math.sqrt(first["residual"])


def least_after_jump(study, curve):
    """The minimum residual that is reported after one that is FAR above an earlier one; None without such a jump."""
    values = curve["relative"]
    jumped = values[(values > FAR * values.cummin()).cummax()]
    return jumped.min() if len(jumped) else None


def effect(carried, recomputed):
    """The effect of recomputation on the true residual, as the predicate of a sentence."""
    if recomputed > FAR * carried:
        return "raises the true residual"
    if carried > FAR * recomputed:
        return "lowers the true residual"
    return "changes the true residual by less than a factor of two"
