"""What the earlier study claims of products and of the training, on a machine of twelve cores."""

LEVEL, BEST, WORSE = 4, 12, 24  # threads from which on time levels off, those of the shortest time, and too many
HALVED = 2  # times as fast, at least, shared memory made the naive kernel
SHARE = 0.99  # of a training, at least, are products
FAR = 2  # times as fast, at least, is "far ahead"
NEAR = 1.5  # times as long, at most, is "close to each other"
