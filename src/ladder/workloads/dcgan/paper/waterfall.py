"""The time of a picture, rung by rung, with speed-ups: from loops on the CPU to tensor cores with hidden copies."""

from ladder.report.figures import looks, methods, theme
from ladder.report.telling.ladder import waterfall_of
from ladder.workloads.dcgan.paper.lines import PHASES

TITLE = "What each rung of the generator gains"
CAPTION = """\
The time of a picture, rung by rung, peers below; `home` and `pytorch_home` also copy it to the host. Dots are medians
of processes, ticks the model's times. The wide line is the time of the work without zeros at the best rate measured in
any precision; a precision without a measured rate may beat it. On the right: the median of the dots, the speed-up over
the rung above in the same group of the table, with its 99 % interval, and the shares of the layers where timed alone.
"""
EXPERIMENTS = ("dcgan_host", "dcgan_rungs", "dcgan_gpu", "dcgan_home", "dcgan_peers")
USES_CEILINGS = True
COLOURS = {part: looks.COLOURS[name] for part, name in zip(PHASES, methods.PALETTE, strict=False)}
COLOURS |= {"epilogues": theme.GREY}

draw = waterfall_of("{channels} channels", "time of a picture", "work without zeros", colours=COLOURS)
