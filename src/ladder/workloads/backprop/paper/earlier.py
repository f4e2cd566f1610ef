"""What the earlier study reported of its program on one thread; times are in seconds."""

from ladder.report.telling.lines import EarlierTime, select

YEARS, CPU, GPU, VERSIONS = "2016/17", "Intel i7-7700K", "Quadro FX3800", 34  # of its program
BEFORE, WEIGHT_CHANGE = 250.0, 220.0  # the untuned program ("more than"), and its weight change ("about")
SAVED = 150.0  # by the order of the weight change's loops alone ("almost")
LAST = 10.0  # after all steps, flags included ("just over")
# The speed-ups of the whole, and those of the whole and of the block by the order of the block's loops.
WHOLE_GAIN, ORDER_GAIN, BLOCK_GAIN = BEFORE / LAST, BEFORE / (BEFORE - SAVED), WEIGHT_CHANGE / (WEIGHT_CHANGE - SAVED)
# The study doesn't say how many images and epochs its seconds are for, so the table has only the gain of code.
EARLIER_TIMES = [EarlierTime("an epoch on one thread", None, "last", select("tuned", threads=1))]
