"""The time of an iteration of a small system, rung by rung, with speed-ups: from loops to one launch per solve."""

from ladder.report.telling.ladder import waterfall_of

TITLE = "What each rung of steepest descent gains"
CAPTION = """\
The time of an iteration of steepest descent, rung by rung, peers below. On the GPU, the latency of round trips,
launches or barriers limits a rung. A rung with two products per iteration recomputes r. A dot is the median of a
process, a tick the model's time, the wide line that of reading A once from the GPU's memory. On the right: the median
of the dots, and the speed-up over the rung above with its 99 % interval.
"""
EXPERIMENTS = ("descent_ladder",)
USES_CEILINGS = True

draw = waterfall_of("n = {n:,}, {dtype}", "time of an iteration", "A read once")
