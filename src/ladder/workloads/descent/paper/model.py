"""The predicted time of an iteration: dependent launches, round trips and barriers, and reading A.

For an elementary kernel (`descent_kernel`), it is its bytes divided by the GPU's bandwidth. The costs are assumptions;
the table of the ladder compares predictions and measurements. The model assumes that A stays on the chip, and takes no
time to read, only in `cuda_persistent` and `cuda_cluster`.
"""

import numpy as np
import pandas as pd

from ladder.report.assumptions import BARRIER, EXCHANGE, GRAPH_NODE, LAUNCH, ROUND_TRIP
from ladder.store import rates
from ladder.workloads.descent_kernel.passes import pass_lengths, study_load

# Seconds of an iteration in addition to launches and reading A.
LATENCIES = {"cuda_version2": 2 * ROUND_TRIP, "cuda_persistent": BARRIER, "cuda_cluster": EXCHANGE}
LATENCIES["cuda_symmetric"] = 4 * BARRIER
# How many times A goes through memory: each of version 2's two products reads A, then writes n^2 terms and reads them.
TRAFFIC = {"openmp": 1, "blas": 1, "cuda_version2": 6, "cublas": 1, "cuda_fused": 1, "cuda_symmetric": 0.5}


def launch_count(variant, n):
    """The number of launches in an iteration; for `cuda_fused`, in one that updates r."""
    return {"cuda_version2": 8 + 4 * len(pass_lengths(n, study_load(n))), "cublas": 8, "cuda_fused": 1}.get(variant, 0)


def matrix_bytes(row):
    """The bytes of A."""
    return float(row["n"]) ** 2 * np.dtype(row["dtype"]).itemsize


def predict(machine, row):
    """Seconds of a case's iteration; None without a model, or if the bandwidth is unknown."""
    variant, recompute = row["variant"], row.get("recompute")
    if row.get("workload") == "descent_kernel":
        return rates.seconds(machine, row, {"memory": row["bytes"]})
    if variant not in TRAFFIC:
        return LATENCIES.get(variant)
    products = 2 if pd.notna(recompute) and recompute == 1 else 1  # with 1, r = b - A x in every iteration
    launch_seconds = launch_count(variant, int(row["n"])) * (GRAPH_NODE if row.get("graph") == "on" else LAUNCH)
    latency_seconds = launch_seconds + LATENCIES.get(variant, 0.0)
    bytes_moved = TRAFFIC[variant] * products * matrix_bytes(row)
    return rates.seconds(machine, row, {"seconds": latency_seconds, "memory": bytes_moved}, row.get("threads"))


def floor(machine, row):
    """Seconds in which a machine's GPU, or else its host, reads A once; None if the bandwidth is unknown."""
    rate = rates.gpu_bandwidth(machine) or max(rates.bandwidths(machine).values(), default=None)
    return rate and matrix_bytes(row) / rate
