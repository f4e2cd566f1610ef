"""What each rung gains: the time of a sum."""

from ladder.report.telling.ladder import waterfall_of

TITLE = "What each rung of the scaled sum gains"
CATEGORY = "AXPY"
CAPTION = "Time of a sum of `axpy`, rung by rung, a dot for each process, with the speed-up over the rung above."
EXPERIMENTS = ("axpy_threads",)

draw = waterfall_of("float64", "time of a sum", "")
