"""The error after a number of steps in theory, by the condition kappa, and its rate in a measured curve.

Y. Saad, Iterative Methods for Sparse Linear Systems (2003), sections 5.3 and 6.11.
"""

import numpy as np


def factor(kappa):
    """The bound of the error's factor in a step of steepest descent, in A's norm; exact from the worst start."""
    return (kappa - 1) / (kappa + 1)


def steepest(kappa, steps):
    """The error of steepest descent after `steps`, over that at the start."""
    return factor(kappa) ** np.asarray(steps)


def conjugate(kappa, steps):
    """The bound of the error of conjugate gradients after `steps`, over that at the start."""
    return np.minimum(2 * factor(kappa**0.5) ** np.asarray(steps), 1.0)


def relative(curves):
    """The reported residual over that at the start, a curve's point each: curves are told apart by their cases."""
    names = ["machine", "variant", "case", "process"]
    curves = curves.reset_index(drop=True)
    first = curves.sort_values("step").groupby(names)["residual"].transform("first")
    return np.sqrt(curves["residual"] / first).to_numpy()


def rate(curve, until=1e-3):
    """The factor per step by which a curve falls until it is this small, or until its end; None without points."""
    if len(curve) < 2:
        return None
    curve = curve.sort_values("step")
    reached = curve[curve["relative"] <= until]
    end = reached.iloc[0] if len(reached) else curve.iloc[-1]
    return float(end["relative"] ** (1 / end["step"]))
