"""What the earlier study reported of its program on one thread; times are in seconds."""

from ladder.report.telling.lines import EarlierTime, select

YEARS, CPU, GPU, VERSIONS = "2016/17", "Intel i7-7700K", "Quadro FX 3800", 34  # of its program
UNTUNED_TIME, CHANGE_TIME = 250.0, 220.0  # the untuned program ("more than"), and its weight change ("about")
SAVED_TIME = 150.0  # by the order of the weight change's loops alone ("almost")
TUNED_TIME = 10.0  # after all steps, flags included ("just over")
# Speed-ups: of the program by all steps; of the program and of its weight change by the order of that block's loops.
WHOLE_GAIN, ORDER_GAIN = UNTUNED_TIME / TUNED_TIME, UNTUNED_TIME / (UNTUNED_TIME - SAVED_TIME)
BLOCK_GAIN = CHANGE_TIME / (CHANGE_TIME - SAVED_TIME)
# The study doesn't say how many images and epochs its seconds are for, so the table has only the gain of code.
EARLIER_TIMES = [EarlierTime("an epoch on one thread", None, "last", select("tuned", threads=1))]
