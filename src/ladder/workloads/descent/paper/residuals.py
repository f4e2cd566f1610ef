"""The residuals of solves by iteration: in theory, and as measured, with and without recomputation.

The theory is in Y. Saad, Iterative Methods for Sparse Linear Systems (2003), sections 5.3 and 6.11.
"""

import math

import numpy as np

from ladder.report.telling.chapter_study import require_measured
from ladder.store import collect
from ladder.store.study import first_case, where
from ladder.workloads.descent.paper.lines import CONVERGENCE

STARTS = {"steepest": "worst", "cg": "random"}
RECOMPUTED_SUFFIX = " recomputed"  # a suffix of an algorithm's name
JUMP = 2.0  # the minimum factor by which a residual exceeds an earlier one after a jump
RATE_END = 1e-3  # the relative residual down to which the rate is measured


def steepest_error(kappa, steps):
    """The bound of the error of steepest descent after `steps`, over that at the start; exact from the worst start."""
    return ((kappa - 1) / (kappa + 1)) ** np.asarray(steps)


def conjugate_bound(kappa, steps):
    """The same of conjugate gradients; both in A's norm."""
    return np.minimum(2 * steepest_error(kappa**0.5, steps), 1.0)


def curves_of(study):
    """The curves of a variant, on the GPU if available, with `method`, and `relative`, the residual over the first."""
    rows = study.machine("convergence").rows("curves", CONVERGENCE).reset_index(drop=True)
    rows = where(rows, variant="cuda_fused") if len(where(rows, variant="cuda_fused")) else rows
    if rows.empty:
        return rows
    rows = rows[rows["start"] == rows["algorithm"].map(STARTS)]
    recomputed = rows["recompute"].fillna(0).astype(int) > 0 if "recompute" in rows else False
    rows = rows.assign(method=rows["algorithm"].where(~recomputed, rows["algorithm"] + RECOMPUTED_SUFFIX))
    first = rows.sort_values("step").groupby(["machine", "variant", "case", "process"])["residual"].transform("first")
    rows = rows.assign(relative=np.sqrt(rows["residual"] / first))
    lines = [first_case(line) for _, line in rows.groupby(["kappa", "method"], sort=False)]
    return collect.concatenate(lines).drop_duplicates(["kappa", "method", "step"]).sort_values("step", kind="stable")


def curve_of(study, method, kappa):
    """The curve of a method, an algorithm with RECOMPUTED_SUFFIX if r is recomputed, at a condition number."""
    return require_measured(where(curves_of(study), method=method, kappa=kappa))


def rate(study, method, kappa):
    """The factor per step by which a curve falls down to RATE_END, or until its end; None without points."""
    curve = curve_of(study, method, kappa)
    if len(curve) < 2:
        return None
    rows_below = curve[curve["relative"] <= RATE_END]
    end = rows_below.iloc[0] if len(rows_below) else curve.iloc[-1]
    return float(end["relative"] ** (1 / end["step"]))


def reported_residual(study, method, kappa):
    """The residual over |b| that is reported at the end of a curve."""
    return curve_of(study, method, kappa)["relative"].iloc[-1]


def true_residual(study, method, kappa):
    """An upper bound of the true residual over |b|: the reported one plus the largest distance of the checks."""
    curve = curve_of(study, method, kappa)
    checks = require_measured(study.machine("convergence").of_case("checks", curve, check="true residual"))
    return curve["relative"].iloc[-1] + checks["error"].max() / math.sqrt(curve["residual"].iloc[0])


def min_after_jump(study, method, kappa):
    """The minimum reported residual after a jump above JUMP times an earlier one; None without a jump."""
    values = curve_of(study, method, kappa)["relative"]
    after_jump = values[(values > JUMP * values.cummin()).cummax()]
    return after_jump.min() if len(after_jump) else None
