"""The time of an epoch, from the untuned program to the GPU, with the shares of macro blocks."""

from ladder.report.figures import looks, theme
from ladder.report.telling.ladder import waterfall_of
from ladder.workloads.backprop.paper.lines import BLOCKS, OTHER

TITLE = "What each rung of back-propagation gains"
CAPTION = """\
Time of an epoch, rung by rung, with peers below; the first six rungs are compiled with `O2`. A dot is the median of a
process, a tick the model's time. The wide line is the time of the products at the best rate of any precision, plus
that of reading the images twice. On the right: the median of the dots, the speed-up over the rung above with its 99 %
interval, and the shares of the macro blocks where these were timed.
"""
EXPERIMENTS = ("backprop_steps", "backprop_openmp", "backprop_kernels", "backprop_gpu")
USES_CEILINGS = True
COLOUR_NAMES = ("brown", "rose", "blue", "orange", "yellow", "pink", "sky", "green", "red")
COLOURS = {block: looks.COLOURS[name] for block, name in zip(BLOCKS.values(), COLOUR_NAMES, strict=True)}
COLOURS |= {OTHER: theme.GREY}
PROBLEM = "{layers}, {images:,.0f} images, {dtype}"
draw = waterfall_of(PROBLEM, "time of an epoch", "products and images alone", colours=COLOURS)
