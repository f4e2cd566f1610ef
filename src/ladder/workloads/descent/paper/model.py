"""How long an iteration should take: launches, round trips and barriers that wait for each other, and A read.

The costs are assumed, of the size that is usual for a card and its host: the table of the ladder shows how far they
predict what was measured. Where A stays on the chip it is read faster than memory allows, and the model says so of
`cuda_persistent` and `cuda_cluster` alone.
"""

from ladder.workloads.descent_kernel.passes import lengths

LAUNCH, NODE = 3.9e-6, 0.9e-6  # seconds from one kernel to the next: launched by itself, and as a graph's node
ROUND_TRIP = 10e-6  # to the host and back
BARRIER, EXCHANGE = 0.9e-6, 0.3e-6  # of the whole card, and between the blocks of one cluster
LOAD = 4  # elements that a thread of version 2 sums up
# Seconds of an iteration that aren't spent on launches and on A.
WAITS = {"cuda_version2": 2 * ROUND_TRIP, "cuda_persistent": BARRIER, "cuda_cluster": EXCHANGE}
WAITS["cuda_symmetric"] = 4 * BARRIER
# How many times A goes through memory: version 2 has two products, each read, written and read again.
TRAFFIC = {"openmp": 1, "blas": 1, "cuda_version2": 6, "cublas": 1, "cuda_fused": 1, "cuda_symmetric": 0.5}


def kernels(variant, n):
    """The launches of an iteration."""
    return {"cuda_version2": 8 + 4 * len(lengths(n, LOAD)), "cublas": 8, "cuda_fused": 1}.get(variant, 0)


def seconds(variant, graph, n, size, reading):
    """Seconds of an iteration with A of `size` bytes, read at so many bytes a second; None where there is no model."""
    if variant not in TRAFFIC:
        return WAITS.get(variant)
    if reading is None:
        return None
    launching = kernels(variant, n) * (NODE if graph == "on" else LAUNCH)
    return launching + WAITS.get(variant, 0.0) + TRAFFIC[variant] * size / reading
