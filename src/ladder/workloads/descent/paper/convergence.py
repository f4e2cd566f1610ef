"""Residual by iteration against the theory, for steepest descent and conjugate gradients, by condition number."""

import numpy as np

from ladder.report.figures import formats, layout, looks, marks, scales, theme
from ladder.report.figures.theme import Line2D
from ladder.store.study import values, where
from ladder.workloads.descent.paper import residuals

TITLE = "Residual by iteration against the theory"
CAPTION = """\
The residual that a solve reports, relative to that at its start, by iteration and condition number. The wide line is
that of steepest descent in theory, the dashed black line the bound on the error of CG, which the residual may exceed by
a factor of up to the square root of the condition number. An updated residual keeps falling after rounding has stopped
the true one. When a step then recomputes the residual, the reported value jumps up to the true one; afterwards, the
updated residual falls again in steepest descent, but not in CG.
"""
EXPERIMENTS = ("descent_ladder", "descent_convergence")
HEIGHT = 1.6  # inches of a panel
MIN_RESIDUAL = 1e-9  # the relative residual at which the axis begins
LOOKS_BY_METHOD = {
    "steepest": looks.Look("steepest descent", looks.COLOURS["red"], ""),
    "steepest recomputed": looks.Look("steepest descent, residual recomputed", looks.COLOURS["orange"], "", (2, 1.5)),
    "cg": looks.Look("CG", looks.COLOURS["blue"], ""),
    "cg recomputed": looks.Look("CG, residual recomputed", looks.COLOURS["sky"], "", (2, 1.5)),
}
RATE_STYLE = {"color": theme.LIGHT, "linewidth": 4, "zorder": 1}
BOUND_STYLE = {"color": theme.DARK, "linewidth": 0.9, "linestyle": (0, (4, 2))}


def draw(study):
    """A panel for each condition number."""
    curves = residuals.curves_of(study)
    if curves.empty:
        return layout.empty("convergence")
    panels = [(kappa, where(curves, kappa=kappa)) for kappa in values(curves, "kappa")]
    figure, bands = layout.panels({study.machine("convergence").machine_name: panels}, fill, HEIGHT, 0.5)
    ((axes, *_),) = bands.values()
    axes.set_ylabel("relative residual")
    entries = [layout.look_handle(look) for method, look in LOOKS_BY_METHOD.items() if method in set(curves["method"])]
    entries.append(Line2D([], [], **RATE_STYLE, label="steepest descent in theory"))
    layout.legend(figure, [*entries, Line2D([], [], **BOUND_STYLE, label="bound of CG's error")])
    return figure


def fill(axes, kappa, rows):
    """The residuals at a condition number, over the lines of the theory."""
    steps = np.arange(rows["step"].max() + 1)
    axes.plot(steps, residuals.steepest_error(kappa, steps), **RATE_STYLE)
    axes.plot(steps, residuals.conjugate_bound(kappa, steps), **BOUND_STYLE)
    marks.lines(axes, rows[rows["relative"] > 0], "step", "relative", LOOKS_BY_METHOD)
    scales.log_axis(axes.yaxis, (MIN_RESIDUAL, 5), formats.power_of_ten, max_ticks=6)
    axes.set(xlim=(0, steps[-1]), title=f"κ = {kappa:g}", xlabel="iteration")
    axes.grid(axis="y")
