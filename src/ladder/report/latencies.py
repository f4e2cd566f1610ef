"""Seconds that kernels wait for each other, of the size that is usual for a GPU and its host: models assume them."""

LAUNCH = 3.9e-6  # from one kernel to the next, launched one by one
NODE = 0.9e-6  # and as nodes of a CUDA graph
ROUND_TRIP = 10e-6  # to the host and back
BARRIER = 0.9e-6  # of all blocks of a GPU
EXCHANGE = 0.3e-6  # between the blocks of one cluster
