"""What the earlier study reported of its single thread, in seconds."""

BEFORE, AFTER = 250.0, 10.0  # the program before it was tuned, and in the end
WEIGHT_CHANGE = 220.0  # of one macro block before
LOOP_ORDER_SAVED = 150.0
