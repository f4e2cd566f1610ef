"""What models of several chapters assume of hosts and GPUs, of the size that is usual today."""

SECOND_CACHE = 100e9  # B/s of a core's L2 cache
LOADS = 8  # times the time of multiply-adds in registers: each needs two loads, issued at a quarter of their rate
LAUNCH, NODE = 3.9e-6, 0.9e-6  # seconds from one kernel to the next: launched by itself, and as a graph's node
ROUND_TRIP = 10e-6  # seconds to the host and back
BARRIER, EXCHANGE = 0.9e-6, 0.3e-6  # seconds of the whole GPU, and between the blocks of one cluster
