"""The lines of the ladder's figure and table: variants at tunings that are fixed beforehand, so that none is picked."""

from functools import partial

from ladder.report import rungs
from ladder.report.rungs import MOST
from ladder.workloads.descent.paper import model, query

SMALL = "cuda_version1"  # which solves small systems alone
RELIEVES = {
    "openmp": "cores",
    "blas": "instructions",
    "cuda_version1": "cores, in one block",
    "cuda_version2": "cores",
    "cublas": "traffic, trips to the host",
    "cuda_fused": "launches, traffic",
    "cuda_persistent": "launches, memory",
    "cuda_cluster": "barriers",
    "cuda_symmetric": "memory",
}


Line = partial(rungs.Line, "descent")
LINES = (
    Line("openmp", {"threads": 1, "recompute": 1}, "two products"),
    Line("openmp", {"threads": 1, "recompute": 0}, "1 thread"),
    Line("openmp", {"threads": MOST, "recompute": 0}),
    Line("blas", {"threads": MOST}),
    Line("cuda_version2", {"block": 128}, "blocks of 128"),
    Line("cublas", {"graph": "off"}, "one by one"),
    Line("cublas", {"graph": "on"}, "as a graph"),
    Line("cuda_fused", {"graph": "off"}, "one by one"),
    Line("cuda_fused", {"graph": "on"}, "as a graph"),
    Line("cuda_persistent", {}),
    Line("cuda_cluster", {}),
    Line("cuda_symmetric", {}),
    Line("numpy_loop", {"threads": 1}, "1 thread"),
    Line("cupy_loop", {}),
)


def line(variant, **tuning):
    """The line of a variant: its last one, or that of a tuning."""
    return next((one for one in reversed(LINES) if one.holds(variant, tuning)), Line(variant, tuning))


def predicted(line, row, reading):
    """The model's seconds of an iteration of a line's case, where A is read at so many B/s; or None."""
    size = query.size_of(row) * (1 + line.tuning.get("recompute", 0))
    return model.seconds(line.variant, line.tuning.get("graph"), int(row["n"]), size, reading)
