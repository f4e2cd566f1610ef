"""FLOP/s of each rung on a square product on a GPU, each with its fastest tuning."""

import pandas as pd

from ladder.report.figures import rungs

TITLE = "FLOP/s of the rungs on a GPU"
CATEGORY = "GEMM"
EXPERIMENTS = ("gemm_gpu_float64", "gemm_gpu_float32")
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and dtype."""
    samples = [table["samples"] for table in tables.values()]
    both = {"samples": pd.concat([frame for frame in samples if len(frame)]) if any(map(len, samples)) else samples[0]}
    return rungs.figure(both, ceilings, "products on a GPU", device="cuda")
