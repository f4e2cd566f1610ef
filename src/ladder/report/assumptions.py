"""Constants that the models of several chapters assume for hosts and GPUs, typical of today's hardware."""

L2_BANDWIDTH = 100e9  # B/s of a core's L2 cache
LOAD_SLOWDOWN = 8  # of multiply-adds with operands in memory: two loads each, issued at a quarter of their rate
LAUNCH = 3.9e-6  # seconds from one kernel to the next, launched separately
GRAPH_NODE = 0.9e-6  # and as nodes of a CUDA graph
ROUND_TRIP = 10e-6  # seconds from the GPU to the host and back
BARRIER, EXCHANGE = 0.9e-6, 0.3e-6  # seconds: a barrier of the whole GPU; an exchange between blocks of a cluster
